use crate::driver::Asked;
use bytes::Bytes;
use std::collections::VecDeque;
use std::task::Waker;

/// Requests kept before anybody has asked for one: room for the moment between binding and serving.
const BACKLOG: usize = 1024;

/// A request that has arrived.
pub(crate) type Arrival = (Asked, Bytes);

/// Requests that have arrived and wait to be taken, and those who wait for requests.
#[derive(Default)]
pub(crate) struct Inbox {
    queue: VecDeque<Arrival>,
    waiting: VecDeque<(u64, Waker)>,
    tickets: u64,
    receivers: usize,
    /// Whether there has ever been a receiver.
    opened: bool,
    /// Whether new requests are refused for good.
    ended: bool,
}

impl Inbox {
    /// One more receiver.
    pub(crate) fn join(&mut self) {
        self.receivers += 1;
        self.opened = true;
    }

    /// The one receiver that stays for as long as the endpoint is open.
    pub(crate) fn open(&mut self) {
        if self.receivers == 0 {
            self.join();
        }
    }

    /// One receiver less. Returns what nobody will take any more.
    pub(crate) fn part(&mut self) -> VecDeque<Arrival> {
        self.receivers -= 1;
        self.abandoned()
    }

    /// Adds a request and returns whom to wake, or the request if nobody will ever take it.
    pub(crate) fn offer(&mut self, rpc: Asked, message: Bytes) -> Result<Option<Waker>, Asked> {
        let nobody = self.receivers == 0 && (self.opened || self.queue.len() >= BACKLOG);
        if self.ended || nobody {
            return Err(rpc);
        }
        self.queue.push_back((rpc, message));
        Ok(self.waiting.pop_front().map(|(_, waker)| waker))
    }

    /// The next request, if one is there.
    pub(crate) fn next(&mut self) -> Option<Arrival> {
        self.queue.pop_front()
    }

    /// The next request, `Some(None)` if there will be none any more, `None` if there is none yet: then `waker` is
    /// woken by the next one. `ticket` remembers the place in the queue of those who wait.
    pub(crate) fn take(&mut self, ticket: &mut Option<u64>, waker: Option<&Waker>) -> Option<Option<Arrival>> {
        let next = self.queue.pop_front();
        if next.is_some() || self.ended {
            self.forget(ticket);
            return Some(next);
        }
        if let Some(waker) = waker {
            self.wait(ticket, waker);
        }
        None
    }

    fn wait(&mut self, ticket: &mut Option<u64>, waker: &Waker) {
        if let Some(own) = *ticket
            && let Some((_, kept)) = self.waiting.iter_mut().find(|(other, _)| *other == own)
        {
            kept.clone_from(waker);
            return;
        }
        self.tickets += 1;
        *ticket = Some(self.tickets);
        self.waiting.push_back((self.tickets, waker.clone()));
    }

    fn forget(&mut self, ticket: &mut Option<u64>) -> bool {
        let Some(own) = ticket.take() else {
            return false;
        };
        let before = self.waiting.len();
        self.waiting.retain(|(other, _)| *other != own);
        self.waiting.len() < before
    }

    /// Gives up waiting. Whoever had been woken already, and leaves the request untouched, passes the wake on to
    /// the one returned.
    pub(crate) fn give_up(&mut self, ticket: &mut Option<u64>) -> Option<Waker> {
        if ticket.is_none() || self.forget(ticket) || self.queue.is_empty() {
            return None;
        }
        self.waiting.pop_front().map(|(_, waker)| waker)
    }

    /// Refuses requests from now on. Those queued can still be taken; what nobody will take is returned.
    pub(crate) fn end(&mut self, wakes: &mut Vec<Waker>) -> VecDeque<Arrival> {
        self.ended = true;
        wakes.extend(self.waiting.drain(..).map(|(_, waker)| waker));
        self.abandoned()
    }

    /// Drops what is queued.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }

    fn abandoned(&mut self) -> VecDeque<Arrival> {
        if self.receivers == 0 { std::mem::take(&mut self.queue) } else { VecDeque::new() }
    }
}
