mod calls;
mod errors;
mod outbox;

use super::LINUX_MAX_MESSAGE;
use super::rpc::{Asked, CallId, Event, Failure, KernelRpc};
use crate::{Error, peers};
use bytes::Bytes;
use calls::{Call, Calls};
use homarus_io::KernelIo;
use homarus_io::kernel::Arrival;
use homarus_proto::{CallOptions, Config, Framing, Instant, RpcError, SendError, Stats, View};
use outbox::{Outbox, Outgoing, What};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Messages taken in one batch.
const BATCH: usize = 32;
/// How long a response that the kernel has taken may be on its way, on a network that loses a packet now and then. The
/// kernel does not say when it has arrived, and gives up what is on its way when its socket closes.
const DELIVERY: Duration = Duration::from_millis(100);

/// The Linux Homa module, which does the protocol, and what it leaves to its users: deadlines, and bounds.
pub(crate) struct Kernel {
    /// Gone when the endpoint is closed.
    io: Option<KernelIo>,
    local: SocketAddr,
    config: Config,
    calls: Calls,
    /// What the kernel has not taken yet.
    unsent: Outbox,
    /// Whether it had no room when it was last asked.
    full: bool,
    /// Requests that wait for their response from the application, or with it for the kernel to take it.
    held: usize,
    events: VecDeque<Event>,
    stats: Stats,
    delivered_by: Instant,
}

impl Kernel {
    pub(crate) fn new(config: Config, io: KernelIo) -> Kernel {
        let limit = config.max_message_len.min(LINUX_MAX_MESSAGE);
        Kernel {
            local: io.local_addr(),
            io: Some(io),
            config: Config { max_message_len: limit, ..config },
            calls: Calls::default(),
            unsent: Outbox::default(),
            full: false,
            held: 0,
            events: VecDeque::new(),
            stats: Stats::default(),
            delivered_by: Instant::ZERO,
        }
    }

    pub(super) fn local_addr(&self) -> SocketAddr {
        self.local
    }

    pub(super) fn stats(&self) -> &Stats {
        &self.stats
    }

    pub(super) fn view(&self) -> View {
        View {
            client_rpcs: self.calls.len(),
            server_rpcs: self.held,
            send_buffer: self.unsent.bytes(),
            timers: self.calls.deadlines(),
            ..View::default()
        }
    }

    pub(super) fn request(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        message: Bytes,
        options: CallOptions,
    ) -> Result<u64, Error> {
        // The module's IPv6 sockets reach IPv4 hosts too, as UDP's do.
        let peer = peers::check(Framing::Udp, self.local, peer)?;
        self.check_sendable(&message)?;
        if self.calls.len() >= self.config.max_client_rpcs {
            return Err(SendError::TooManyRpcs { limit: self.config.max_client_rpcs }.into());
        }
        let cookie = self.calls.begin(now, options.deadline.or(self.config.default_deadline));
        self.stats.requests_sent += 1;
        self.unsent.push(Outgoing { what: What::Request { cookie }, peer, message });
        Ok(cookie)
    }

    pub(super) fn respond(&mut self, rpc: &KernelRpc, message: Bytes) -> Result<(), Error> {
        if let Err(error) = self.check_sendable(&message) {
            self.reject();
            return Err(error);
        }
        self.stats.responses_sent += 1;
        self.unsent.push(Outgoing { what: What::Response { id: rpc.id }, peer: rpc.client, message });
        Ok(())
    }

    fn check_sendable(&self, message: &Bytes) -> Result<(), Error> {
        let (length, limit) = (message.len(), self.config.max_message_len);
        if self.io.is_none() {
            Err(SendError::Closed.into())
        } else if length == 0 {
            Err(Error::EmptyForLinux)
        } else if length <= limit as usize {
            let limit = self.config.max_send_buffer;
            let fits = self.unsent.bytes() + length <= limit;
            if fits { Ok(()) } else { Err(SendError::BufferFull { limit }.into()) }
        } else if limit == LINUX_MAX_MESSAGE {
            Err(Error::TooLongForLinux { length })
        } else {
            Err(SendError::TooLong { length, limit }.into())
        }
    }

    /// The module knows no way to refuse a request: its client waits until it gives up.
    pub(super) fn reject(&mut self) {
        self.held = self.held.saturating_sub(1);
    }

    pub(super) fn cancel(&mut self, cookie: u64) {
        if let Some(call) = self.calls.remove(cookie) {
            self.stats.requests_cancelled += 1;
            self.give_up(&call);
        }
    }

    /// Has the kernel forget a call, if it knows it.
    fn give_up(&mut self, call: &Call) {
        match (&mut self.io, call.id) {
            (Some(io), Some(id)) => io.abort(id),
            _ => self.unsent.note_stale(|cookie| self.calls.contains(cookie)),
        }
    }

    fn end(&mut self, cookie: u64, result: Result<Bytes, Failure>) {
        match &result {
            Ok(_) => self.stats.requests_answered += 1,
            Err(_) => self.stats.requests_failed += 1,
        }
        self.events.push_back(Event::Response { call: CallId::Kernel(cookie), result });
    }

    fn fail(&mut self, now: Instant, cookie: u64, error: io::Error) {
        // Of a call that was given up something may still be heard.
        if let Some(call) = self.calls.remove(cookie) {
            self.end(cookie, Err(errors::explain(error, now.saturating_since(call.since))));
        }
    }

    pub(super) fn receive(&mut self, now: Instant) -> io::Result<usize> {
        for count in 0..BATCH {
            let Some(io) = &mut self.io else { return Ok(count) };
            match io.recv()? {
                Some(arrival) => self.take(now, arrival),
                None => return Ok(count),
            }
        }
        Ok(BATCH)
    }

    fn take(&mut self, now: Instant, arrival: Arrival) {
        let limit = self.config.max_message_len;
        match arrival {
            Arrival::Failed { cookie, error } => self.fail(now, cookie, error),
            Arrival::Response { cookie, message } => {
                if self.calls.remove(cookie).is_some() {
                    let length = message.len() as u32;
                    let fits = length <= limit;
                    self.stats.bytes_received += if fits { u64::from(length) } else { 0 };
                    let too_long = Failure::Rpc(RpcError::ResponseTooLong { length, limit });
                    self.end(cookie, if fits { Ok(message.into()) } else { Err(too_long) });
                }
            }
            Arrival::Request { from, message, .. }
                if message.len() > limit as usize || self.held >= self.config.max_server_rpcs =>
            {
                self.stats.server_rpcs_abandoned += 1;
                tracing::debug!(client = %from, length = message.len(), "a request is not taken: it exceeds a bound");
            }
            Arrival::Request { from, id, message } => {
                self.held += 1;
                self.stats.requests_received += 1;
                self.stats.bytes_received += message.len() as u64;
                let rpc = Asked::Kernel(Box::new(KernelRpc { client: from, id }));
                self.events.push_back(Event::Request { rpc, message: message.into() });
            }
        }
    }

    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(super) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Ends the calls whose deadline has passed. Whether there was one.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let mut expired = false;
        while let Some((cookie, call)) = self.calls.remove_due(now) {
            self.give_up(&call);
            self.end(cookie, Err(Failure::Rpc(RpcError::Deadline { after: call.patience })));
            expired = true;
        }
        expired
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.calls.next_due()
    }

    /// Gives the kernel messages as long as it takes them.
    pub(super) fn flush(&mut self, now: Instant) -> io::Result<()> {
        self.full = false;
        while let Some(next) = self.unsent.pop() {
            match self.send(&next) {
                Err(error) if errors::has_no_room(&error) => {
                    self.full = true;
                    self.unsent.put_back(next);
                    return Ok(());
                }
                Err(error) if errors::is_broken(&error) => return Err(error),
                sent => self.note_sent(now, &next, sent),
            }
        }
        Ok(())
    }

    /// Gives the kernel a message, and returns the id that a request has from it. `None` for what need not be sent any
    /// more.
    fn send(&mut self, next: &Outgoing) -> io::Result<Option<u64>> {
        let Some(io) = &mut self.io else { return Ok(None) };
        match next.what {
            What::Request { cookie } if !self.calls.contains(cookie) => Ok(None),
            What::Request { cookie } => io.send_request(next.peer, cookie, &next.message).map(Some),
            What::Response { id } => io.send_response(next.peer, id, &next.message).map(|()| Some(id)),
        }
    }

    fn note_sent(&mut self, now: Instant, outgoing: &Outgoing, sent: io::Result<Option<u64>>) {
        let length = outgoing.message.len();
        self.stats.bytes_sent += if matches!(sent, Ok(Some(_))) { length as u64 } else { 0 };
        match outgoing.what {
            What::Request { cookie } => match (sent, self.calls.get_mut(cookie)) {
                // A module that does not write ids back leaves 0, which is nobody's.
                (Ok(id), Some(call)) => call.id = id.filter(|id| *id != 0),
                (Ok(_), None) => {}
                (Err(error), _) => self.fail(now, cookie, error),
            },
            What::Response { .. } => {
                self.held = self.held.saturating_sub(1);
                self.delivered_by = now + DELIVERY;
                if let Err(error) = sent {
                    self.stats.server_rpcs_abandoned += 1;
                    tracing::debug!(client = %outgoing.peer, %error, "the kernel did not take a response");
                }
            }
        }
    }

    /// Messages given to the kernel, or about to be.
    pub(super) fn sent(&self) -> u64 {
        self.stats.requests_sent + self.stats.responses_sent
    }

    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn delivered_by(&self) -> Instant {
        self.delivered_by
    }

    /// The kernel does not tell the peers.
    pub(super) fn close(&mut self, now: Instant) -> io::Result<()> {
        let flushed = self.flush(now);
        self.events.retain(|event| matches!(event, Event::Response { .. }));
        for cookie in self.calls.drain() {
            self.end(cookie, Err(Failure::Rpc(RpcError::Closed)));
        }
        self.unsent.clear();
        self.full = false;
        self.held = 0;
        self.io = None;
        flushed
    }
}
