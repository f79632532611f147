//! Who does the protocol, and how messages leave and arrive: what happens, not when or on whose thread.
//!
//! | file | who does the protocol |
//! |---|---|
//! | `packets` | the core, over a socket for packets |
//! | `kernel` | the Linux Homa module, over a socket of its own |
//!
//! `rpc` has what both speak of. An endpoint has one of the two for good, and the ids and requests that it hands out
//! come back to the same one.

mod kernel;
mod packets;
mod rpc;

pub(crate) use kernel::Kernel;
pub(crate) use packets::Packets;
pub(crate) use rpc::{Asked, CallId, Event, Failure};

use crate::Error;
use crate::clock::Clock;
use bytes::Bytes;
use homarus_proto::{CallOptions, Instant, PeerView, Stats, View};
use std::io;
use std::net::SocketAddr;

/// Longest message that the Linux module accepts, bytes.
pub(crate) const LINUX_MAX_MESSAGE: u32 = homarus_io::kernel::MAX_MESSAGE as u32;

/// What an endpoint drives, and the clock.
pub(crate) struct Driver {
    clock: Clock,
    by: By,
}

/// Who does the protocol. There is one for each endpoint, so the larger does no harm to the smaller.
#[allow(clippy::large_enum_variant)]
pub(crate) enum By {
    Packets(Packets),
    Kernel(Kernel),
}

impl Driver {
    pub(crate) fn new(by: By) -> Driver {
        Driver { clock: Clock::start(), by }
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        match &self.by {
            By::Packets(packets) => packets.local_addr(),
            By::Kernel(kernel) => kernel.local_addr(),
        }
    }

    /// Counters, since the endpoint began.
    pub(crate) fn stats(&self) -> &Stats {
        match &self.by {
            By::Packets(packets) => packets.core().stats(),
            By::Kernel(kernel) => kernel.stats(),
        }
    }

    /// What is held now.
    pub(crate) fn view(&self) -> View {
        match &self.by {
            By::Packets(packets) => packets.core().view(),
            By::Kernel(kernel) => kernel.view(),
        }
    }

    /// What is known of a peer; the kernel does not tell.
    pub(crate) fn peer_view(&self, peer: SocketAddr) -> Option<PeerView> {
        match &self.by {
            By::Packets(packets) => packets.core().peer_view(peer),
            By::Kernel(_) => None,
        }
    }

    /// Starts a call. Nothing leaves before [`flush`](Self::flush).
    pub(crate) fn request(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        message: Bytes,
        options: CallOptions,
    ) -> Result<CallId, Error> {
        match &mut self.by {
            By::Packets(packets) => packets.request(now, peer, message, options).map(CallId::Packets),
            By::Kernel(kernel) => kernel.request(now, peer, message, options).map(CallId::Kernel),
        }
    }

    /// Answers a request. Nothing leaves before [`flush`](Self::flush).
    pub(crate) fn respond(&mut self, now: Instant, rpc: Asked, message: Bytes) -> Result<(), Error> {
        match (&mut self.by, rpc) {
            (By::Packets(packets), Asked::Packets(rpc)) => packets.respond(now, rpc, message),
            (By::Kernel(kernel), Asked::Kernel(rpc)) => kernel.respond(&rpc, message),
            _ => Err(Error::Closed),
        }
    }

    /// Ends a request without a response.
    pub(crate) fn reject(&mut self, now: Instant, rpc: Asked) {
        match (&mut self.by, rpc) {
            (By::Packets(packets), Asked::Packets(rpc)) => packets.reject(now, rpc),
            (By::Kernel(kernel), Asked::Kernel(_)) => kernel.reject(),
            _ => {}
        }
    }

    /// Gives up a call.
    pub(crate) fn cancel(&mut self, now: Instant, call: CallId) {
        match (&mut self.by, call) {
            (By::Packets(packets), CallId::Packets(rpc)) => packets.cancel(now, rpc),
            (By::Kernel(kernel), CallId::Kernel(cookie)) => kernel.cancel(cookie),
            _ => {}
        }
    }

    /// Takes one batch of what has arrived and returns how many items it had; 0 if nothing waits.
    pub(crate) fn receive(&mut self, now: Instant) -> io::Result<usize> {
        match &mut self.by {
            By::Packets(packets) => packets.receive(now),
            By::Kernel(kernel) => kernel.receive(now),
        }
    }

    pub(crate) fn next_event(&mut self) -> Option<Event> {
        match &mut self.by {
            By::Packets(packets) => packets.next_event().map(Event::from),
            By::Kernel(kernel) => kernel.next_event(),
        }
    }

    /// Whether sending has led to events: a kernel may refuse what it is given.
    pub(crate) fn has_news(&self) -> bool {
        match &self.by {
            By::Packets(_) => false,
            By::Kernel(kernel) => kernel.has_events(),
        }
    }

    /// Does what has become due, if anything.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        match &mut self.by {
            By::Packets(packets) => packets.expire(now),
            By::Kernel(kernel) => kernel.expire(now),
        }
    }

    /// Whether time counts in microseconds.
    pub(crate) fn is_time_critical(&self) -> bool {
        match &self.by {
            By::Packets(packets) => packets.is_time_critical(),
            By::Kernel(_) => false,
        }
    }

    /// When [`expire`](Self::expire) and [`flush`](Self::flush) are due, if nothing happens before.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        match &self.by {
            By::Packets(packets) => packets.next_timeout(),
            By::Kernel(kernel) => kernel.next_timeout(),
        }
    }

    /// Sends all that may leave now. What a full socket did not take is kept: see [`is_full`](Self::is_full).
    pub(crate) fn flush(&mut self, now: Instant) -> io::Result<()> {
        match &mut self.by {
            By::Packets(packets) => packets.flush(now),
            By::Kernel(kernel) => kernel.flush(now),
        }
    }

    /// Packets sent since the endpoint began, or about to be; messages where the kernel makes the packets.
    pub(crate) fn sent(&self) -> u64 {
        match &self.by {
            By::Packets(packets) => packets.sent(),
            By::Kernel(kernel) => kernel.sent(),
        }
    }

    /// Whether something waits for the socket to become writable.
    pub(crate) fn is_full(&self) -> bool {
        match &self.by {
            By::Packets(packets) => packets.is_full(),
            By::Kernel(kernel) => kernel.is_full(),
        }
    }

    /// Until when the responses given so far may still be on their way without being among what is held: the past, unless
    /// it is the kernel that delivers them.
    pub(crate) fn delivered_by(&self) -> Instant {
        match &self.by {
            By::Packets(_) => Instant::ZERO,
            By::Kernel(kernel) => kernel.delivered_by(),
        }
    }

    /// Ends every call, tells the peers as far as that is possible, and lets go of the socket.
    pub(crate) fn close(&mut self, now: Instant) -> io::Result<()> {
        match &mut self.by {
            By::Packets(packets) => packets.close(now),
            By::Kernel(kernel) => kernel.close(now),
        }
    }
}
