use super::{Phase, State};
use crate::driver::Event;
use homarus_proto::Instant;
use std::io;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// What was sent or received so recently makes a ring of the timer fall amid traffic.
const TRAFFIC: Duration = Duration::from_micros(200);
/// How soon to try a full socket again, should nobody be told that it has become writable.
const FULL_RETRY: Duration = Duration::from_millis(1);

/// What a round of driving brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    /// Datagrams and reports received.
    pub(crate) received: usize,
    /// Requests that arrived and calls that ended.
    pub(crate) events: usize,
}

impl State {
    /// One round of driving: receives a batch if the socket may be `readable`, does what is due, tells who waits,
    /// sends.
    pub(crate) fn turn(&mut self, readable: bool, wakes: &mut Vec<Waker>) -> Turn {
        if self.is_closed() {
            return Turn::default();
        }
        let now = self.driver.now();
        let rang = self.timer.settle(now) && self.deferred.is_none();
        let sent = self.driver.sent();
        let result = self.try_turn(now, readable, wakes);
        if let Ok(turn) = &result {
            let needed = turn.received == 0 && (turn.events > 0 || self.driver.sent() > sent);
            let amid_traffic = turn.received > 0 || now.saturating_since(self.last_active) < TRAFFIC;
            match rang {
                // Nothing but the time can have led to it.
                true if needed => self.timer.be_precise(),
                true if amid_traffic => self.timer.lag_more(),
                _ => {}
            }
            if turn.received > 0 {
                self.last_active = now;
            }
        }
        if let Some(error) = self.failure.clone().or(result.as_ref().err().cloned()) {
            tracing::error!(%error, "the socket failed");
            self.failure = Some(error);
            self.close(wakes);
        }
        result.unwrap_or_default()
    }

    fn try_turn(&mut self, now: Instant, readable: bool, wakes: &mut Vec<Waker>) -> Result<Turn, Arc<io::Error>> {
        let received = if readable { self.driver.receive(now)? } else { 0 };
        let expired = self.driver.expire(now);
        let deferred = self.deferred.take().is_some();
        let idle = received == 0 && !expired && !deferred && !self.driver.is_full() && !self.driver.has_news();
        if idle && self.phase == Phase::Open {
            self.arm(now)?;
            return Ok(Turn::default());
        }
        let mut events = self.dispatch(now, wakes);
        self.driver.flush(now)?;
        if self.driver.has_news() {
            events += self.dispatch(now, wakes);
        }
        if self.is_drained(now) {
            wakes.append(&mut self.ending);
        }
        self.arm(now)?;
        Ok(Turn { received, events })
    }

    pub(super) fn dispatch(&mut self, now: Instant, wakes: &mut Vec<Waker>) -> usize {
        let mut events = 0;
        while let Some(event) = self.driver.next_event() {
            match event {
                Event::Response { call, result } => wakes.extend(self.calls.end(call, result)),
                Event::Request { rpc, message } => match self.inbox.offer(rpc, message) {
                    Ok(waker) => wakes.extend(waker),
                    Err(rpc) => self.driver.reject(now, rpc),
                },
            }
            events += 1;
        }
        events
    }

    /// Whoever drives the endpoint is about to sleep, until the socket or the timer wakes it.
    pub(crate) fn fall_asleep(&mut self) -> io::Result<()> {
        self.asleep = true;
        self.timer.silence();
        self.arm(self.driver.now())
    }

    /// Whoever drives the endpoint is awake; `rang` if it was the timer that woke it.
    pub(crate) fn wake_up(&mut self, rang: bool) {
        self.asleep = false;
        if rang {
            self.timer.note_readable();
        }
    }

    pub(super) fn arm(&mut self, now: Instant) -> io::Result<()> {
        if !self.asleep {
            return Ok(());
        }
        let drained = match self.phase {
            Phase::Draining(until) if now < until => Some(self.end_of_draining(now, until)),
            _ => None,
        };
        let due = match self.driver.is_full() {
            true => Some(now + FULL_RETRY),
            false => self.driver.next_timeout(),
        };
        match due.into_iter().chain(drained).min() {
            Some(at) => self.timer.arm(now, at, self.driver.is_time_critical()),
            None => Ok(()),
        }
    }
}
