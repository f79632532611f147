//! TCP as data centres run it: byte streams in order, on long-lived connections that are open already; selective
//! acknowledgements, RACK and probes find losses (RFC 2018, 8985, 6298), proportional rate reduction brings the window down
//! (RFC 6937), Reno, CUBIC or DCTCP grow it (RFC 5681, 9438, 8257). Not modelled: handshakes, undoing of spurious
//! retransmissions, pacing, segmentation offload.

mod connection;
mod cubic;
mod egress;
mod gaps;
mod hystart;
mod messages;
mod receiver;
mod recovery;
mod routes;
mod rto;
mod scoreboard;
mod segment;
mod sender;
mod setup;
mod timers;
mod view;
mod window;

pub use segment::TcpSegment;
pub use setup::{Congestion, Connections, Qdisc, TcpSetup};
pub use view::{ConnectionView, TcpCounts};

use super::{Message, Outcome, Transport};
use crate::Time;
use crate::net::{Ecn, Packet};
use connection::{Connection, Place};
use egress::Egress;
use receiver::Incoming;
use routes::{Route, Routes};
use segment::{Body, ECHO, End, OPENER, REDUCED, UNKNOWN};
use sender::Expired;
use std::collections::BTreeMap;
use timers::Timers;

/// A host that runs TCP.
#[derive(Debug)]
pub struct Tcp {
    host: u32,
    setup: TcpSetup,
    connections: Vec<Connection>,
    routes: Routes,
    egress: Egress,
    timers: Timers,
    /// On which connections the requests came that wait for their responses.
    executing: BTreeMap<u32, u32>,
    counts: TcpCounts,
    /// Kept for its memory.
    done: Vec<End>,
}

impl Tcp {
    /// The TCP of host number `host`.
    pub fn new(host: u32, setup: &TcpSetup) -> Tcp {
        Tcp {
            host,
            setup: *setup,
            connections: Vec::new(),
            routes: Routes::new(setup.connections),
            egress: Egress::default(),
            timers: Timers::default(),
            executing: BTreeMap::new(),
            counts: TcpCounts::default(),
            done: Vec::new(),
        }
    }

    /// What has been done.
    pub fn counts(&self) -> TcpCounts {
        self.counts
    }

    /// The connections, in the order in which they were first used here.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionView> + '_ {
        self.connections.iter().map(ConnectionView::of)
    }

    fn open(&mut self, peer: u32, number: u32, opener: bool) -> u32 {
        let here = self.connections.len() as u32;
        let place = Place { host: self.host, peer, here, there: UNKNOWN, number, opener };
        self.connections.push(Connection::new(place, &self.setup));
        match opener {
            true => self.routes.note_opened(peer, here),
            false => self.routes.note_accepted(peer, number, here),
        }
        here
    }

    fn write(&mut self, now: Time, slot: u32, id: u32, length: u32, interactive: bool) {
        let connection = &mut self.connections[slot as usize];
        connection.sender.write(now, &self.setup, id, length, interactive);
        self.settle(now, slot);
    }

    /// A connection of a pool has carried its message to the end.
    fn release(&mut self, now: Time, slot: u32) {
        let peer = self.connections[slot as usize].place.peer;
        if let Some(next) = self.routes.release(peer, slot) {
            self.write(now, slot, next.id, next.length, next.reply.is_some());
        }
    }

    /// After a change: lets the connection send if it can, and sets its timer.
    #[inline]
    fn settle(&mut self, now: Time, slot: u32) {
        if self.setup.qdisc == Qdisc::Fifo {
            return self.fill(now, slot);
        }
        let connection = &mut self.connections[slot as usize];
        if !connection.queued && connection.sender.may_send(&self.setup) {
            connection.queued = true;
            self.egress.enter(slot);
        }
        arm(&mut self.timers, connection);
    }

    /// Moves what a connection may send to the host's queue, but not too much.
    fn fill(&mut self, now: Time, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        let most = connection.most_waiting(&self.setup);
        while connection.waiting < most
            && let Some((packet, chunk)) = connection.next_packet(now, &self.setup)
        {
            connection.waiting += packet.wire;
            self.counts.note_sent(&chunk);
            self.egress.push(packet);
        }
        arm(&mut self.timers, connection);
    }

    /// The place of the connection that a segment belongs to.
    #[inline]
    fn find(&mut self, from: u32, segment: &TcpSegment) -> u32 {
        if segment.there != UNKNOWN {
            return segment.there;
        }
        // Only an opener can be first to send.
        debug_assert!(segment.flags & OPENER != 0, "the other end of host {from}'s connection has not answered yet");
        match self.routes.accepted(from, segment.number) {
            Some(slot) => slot,
            None => self.open(from, segment.number, false),
        }
    }

    /// Tells of messages that are complete.
    fn finish(&mut self, now: Time, slot: u32, done: &mut Vec<End>, outcomes: &mut Vec<Outcome>) {
        let opener = self.connections[slot as usize].place.opener;
        for end in done.drain(..) {
            if opener {
                outcomes.push(Outcome::Answered(end.id));
                self.release(now, slot);
            } else {
                outcomes.push(Outcome::Arrived(end.id));
                if end.interactive {
                    self.executing.insert(end.id, slot);
                }
            }
        }
    }
}

/// Sets a timer for a connection unless one goes off before it is needed.
#[inline]
fn arm(timers: &mut Timers, connection: &mut Connection) {
    let deadline = connection.deadline();
    if deadline < connection.armed {
        connection.armed = deadline;
        timers.push(deadline, connection.place.here);
    }
}

impl Transport for Tcp {
    type Segment = TcpSegment;

    fn send(&mut self, now: Time, message: &Message) {
        let slot = match self.routes.choose(message) {
            Route::Take(slot) => slot,
            Route::Open { number } => self.open(message.to, number, true),
            Route::Wait => return,
        };
        self.write(now, slot, message.id, message.length, message.reply.is_some());
    }

    fn receive(&mut self, now: Time, packet: Packet<TcpSegment>, outcomes: &mut Vec<Outcome>) {
        let marked = packet.ecn == Ecn::Marked;
        let segment = packet.segment;
        let slot = self.find(packet.from, &segment);
        let setup = &self.setup;
        let connection = &mut self.connections[slot as usize];
        connection.note_there(segment.here);
        let blocks = match &segment.body {
            Body::Data { .. } => None,
            Body::Blocks(blocks) => Some(blocks),
        };
        let mut released = false;
        let una = connection.sender.board.una();
        if segment.ack > una || (segment.ack == una && blocks.is_some()) {
            let echo = segment.flags & ECHO != 0;
            released = connection.sender.acknowledge(now, setup, segment.ack, blocks, echo);
        }
        if let Body::Data { seq, ends } = &segment.body {
            let reduced = segment.flags & REDUCED != 0;
            let incoming = Incoming { seq: *seq, length: segment.length, ends, marked, reduced };
            if connection.receiver.must_acknowledge_before(&incoming) {
                self.counts.acks += 1;
                self.egress.push(connection.acknowledgement(setup));
            }
            let before = connection.receiver.next();
            if connection.receiver.take(now, setup, &incoming, &mut self.done) {
                self.counts.acks += 1;
                self.egress.push(connection.acknowledgement(setup));
            }
            self.counts.bytes_received += connection.receiver.next() - before;
        }
        released &= connection.place.opener;
        self.settle(now, slot);
        if released {
            self.release(now, slot);
        }
        if !self.done.is_empty() {
            let mut done = std::mem::take(&mut self.done);
            self.finish(now, slot, &mut done, outcomes);
            self.done = done;
        }
    }

    fn respond(&mut self, now: Time, message: &Message) {
        if let Some(slot) = self.executing.remove(&message.id) {
            self.write(now, slot, message.id, message.reply.unwrap_or(0), true);
        }
    }

    fn next_packet(&mut self, now: Time) -> Option<Packet<TcpSegment>> {
        if let Some(packet) = self.egress.pop() {
            if self.setup.qdisc == Qdisc::Fifo && packet.segment.length > 0 {
                let slot = packet.segment.here;
                self.connections[slot as usize].waiting -= packet.wire;
                self.fill(now, slot);
            }
            return Some(packet);
        }
        loop {
            let slot = self.egress.turn()?;
            let connection = &mut self.connections[slot as usize];
            let next = connection.next_packet(now, &self.setup);
            connection.queued = next.is_some() && connection.sender.may_send(&self.setup);
            self.egress.end_turn(connection.queued);
            if let Some((packet, chunk)) = next {
                arm(&mut self.timers, connection);
                self.counts.note_sent(&chunk);
                return Some(packet);
            }
        }
    }

    #[inline]
    fn next_timeout(&self) -> Time {
        self.timers.next()
    }

    fn handle_timeout(&mut self, now: Time) {
        while let Some((at, slot)) = self.timers.pop(now) {
            let connection = &mut self.connections[slot as usize];
            if at != connection.armed {
                continue;
            }
            connection.armed = Time::NEVER;
            match connection.sender.expire(now, &self.setup) {
                Expired::Nothing => {}
                Expired::Probe => self.counts.probes += 1,
                Expired::Timeout => self.counts.timeouts += 1,
            }
            if connection.receiver.ack_by <= now {
                self.counts.acks += 1;
                self.egress.push(connection.acknowledgement(&self.setup));
            }
            self.settle(now, slot);
        }
    }
}
