use super::receiver::Receiver;
use super::segment::{Body, ECHO, OPENER, REDUCED, TcpSegment, UNKNOWN, frame, option_bytes};
use super::sender::{Chunk, Sender};
use super::setup::TcpSetup;
use crate::Time;
use crate::net::{Ecn, Packet};

/// One end of a connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) place: Place,
    /// Whether it stands in the queue of those that send.
    pub(super) queued: bool,
    /// Bytes on the wire of its segments in the host's queue, where there is one.
    pub(super) waiting: u32,
    /// The earliest timer that is set for it.
    pub(super) armed: Time,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
}

/// Bytes of one connection that wait in a host's queue at most: 1 MiB.
const MOST_WAITING: u32 = 1 << 20;

/// Which connection it is, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) host: u32,
    pub(super) peer: u32,
    /// The connection's place at this host and at the other.
    pub(super) here: u32,
    pub(super) there: u32,
    /// Which of those from the opener to the other it is.
    pub(super) number: u32,
    /// Whether this end opened it.
    pub(super) opener: bool,
}

impl Place {
    /// Tells paths apart: each direction of a connection has its own.
    fn flow(&self) -> u32 {
        let side = u64::from(self.opener) << 63 | u64::from(self.number) << 40;
        let key = side ^ u64::from(self.host) << 20 ^ u64::from(self.peer);
        let key = key.wrapping_mul(0xd6e8_feb8_6659_fd93);
        ((key ^ key >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32
    }
}

impl Connection {
    pub(super) fn new(place: Place, setup: &TcpSetup) -> Connection {
        Connection {
            place,
            queued: false,
            waiting: 0,
            armed: Time::NEVER,
            sender: Sender::new(setup),
            receiver: Receiver::new(setup),
        }
    }

    /// An acknowledgement of what has come so far.
    #[inline]
    pub(super) fn acknowledgement(&mut self, setup: &TcpSetup) -> Packet<TcpSegment> {
        let blocks = self.receiver.blocks();
        let wire = frame(setup.headers + option_bytes(&blocks), 0);
        self.packet(wire, Ecn::Incapable, Packet::<TcpSegment>::NO_MESSAGE, 0, 0, Body::Blocks(blocks))
    }

    /// The next segment, as a packet and as a piece of the stream.
    #[inline]
    pub(super) fn next_packet(&mut self, now: Time, setup: &TcpSetup) -> Option<(Packet<TcpSegment>, Chunk)> {
        let chunk = self.sender.next_chunk(now, setup)?;
        let (ends, message) = self.sender.messages.within(&chunk);
        let flags = if chunk.tell_reduced { REDUCED } else { 0 };
        let ecn = if setup.ecn { Ecn::Capable } else { Ecn::Incapable };
        let wire = frame(setup.headers, u32::from(chunk.length));
        let body = Body::Data { seq: chunk.seq, ends };
        Some((self.packet(wire, ecn, message, flags, chunk.length, body), chunk))
    }

    #[inline]
    fn packet(&mut self, wire: u32, ecn: Ecn, message: u32, flags: u8, length: u16, body: Body) -> Packet<TcpSegment> {
        let Place { host, peer, here, there, number, opener } = self.place;
        let echo = if self.receiver.tells_of_marks() { ECHO } else { 0 };
        let flags = flags | echo | if opener { OPENER } else { 0 };
        self.receiver.note_acknowledged();
        Packet {
            from: host,
            to: peer,
            wire,
            priority: 0,
            ecn,
            flow: self.place.flow(),
            rank: 0,
            message,
            segment: TcpSegment { ack: self.receiver.next(), here, there, number, flags, length, body },
        }
    }

    /// How much of it may wait in the host's queue before more is added: what it sends in a millisecond (Linux, TCP small
    /// queues: `sk_pacing_shift` and `tcp_limit_output_bytes`).
    pub(super) fn most_waiting(&self, setup: &TcpSetup) -> u32 {
        let rtt = self.sender.rto.smoothed().as_secs();
        let full = frame(setup.headers, setup.mss);
        if rtt == 0.0 {
            return MOST_WAITING;
        }
        let window = f64::from(self.sender.window.segments()) * f64::from(full);
        let gain = if self.sender.window.in_slow_start() { 2.0 } else { 1.2 };
        ((gain * window / rtt * 0.001) as u32).clamp(2 * full, MOST_WAITING)
    }

    /// The other end has told where it keeps the connection.
    #[inline]
    pub(super) fn note_there(&mut self, there: u32) {
        if self.place.there == UNKNOWN {
            self.place.there = there;
        }
    }

    /// When it wants to be called.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        self.sender.deadline().min(self.receiver.ack_by)
    }
}
