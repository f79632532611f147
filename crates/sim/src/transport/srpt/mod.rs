//! The floor: shortest remaining processing time, with full knowledge of all messages.
//!
//! Nothing passes the network's queues. An oracle that knows every message at once decides at every instant which
//! are sent: at the full rate of the hosts' links, one a sender and one a receiver, those with the least left first,
//! interrupted in the middle of a packet without cost. A message then arrives as late as its last frame needs through
//! an idle network. No real transport can do this; the rows "SRPT-Oracle" of the Homa paper's (SIGCOMM'18) simulation data
//! stand for the like, with slowdowns of exactly 1 for short messages.

mod matching;

use super::{Frames, Message, Outcome, Transport};
use crate::Time;
use crate::net::{Ecn, Packet, Topology};
use matching::Matching;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A host that follows the oracle.
#[derive(Debug)]
pub struct Srpt {
    host: u32,
    oracle: Rc<RefCell<Oracle>>,
}

/// What arrives when all of a message has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// Whether it is the response.
    pub answer: bool,
}

/// Knows all messages.
#[derive(Debug)]
struct Oracle {
    topology: Topology,
    frames: Frames,
    matching: Matching,
    /// By message: where it goes now, and how long its last frame is stored and forwarded on the way.
    ways: Vec<Way>,
    /// Messages whose last frame is in switches and leaves the last of them at a time.
    leaving: BTreeSet<(Time, u32)>,
    /// The host that will be called next for the whole cluster, and when.
    watch: (u32, Time),
}

#[derive(Clone, Copy, Debug, Default)]
struct Way {
    from: u32,
    to: u32,
    forwarding: Time,
    answer: bool,
}

impl Srpt {
    /// The hosts of a cluster, all under one oracle.
    pub fn hosts(topology: &Topology, frames: Frames) -> Vec<Srpt> {
        let oracle = Oracle {
            topology: topology.clone(),
            frames,
            matching: Matching::new(topology.hosts()),
            ways: Vec::new(),
            leaving: BTreeSet::new(),
            watch: (0, Time::NEVER),
        };
        let oracle = Rc::new(RefCell::new(oracle));
        (0..topology.hosts()).map(|host| Srpt { host, oracle: Rc::clone(&oracle) }).collect()
    }
}

impl Oracle {
    fn begin(&mut self, now: Time, id: u32, from: u32, to: u32, length: u32, answer: bool) {
        self.advance(now);
        let rate = self.topology.ports()[from as usize].rate;
        // Frames before the last two pass without a trace: each finds its way free.
        let count = self.frames.count(length);
        let last = count.saturating_sub(2)..count;
        let bytes: u32 = last.clone().map(|frame| self.frames.wire_of(length, frame)).sum();
        let frames = last.map(|frame| self.frames.wire_of(length, frame));
        let alone = self.topology.ideal(from, to, frames);
        let forwarding = alone - rate.time_for(bytes) - self.topology.ideal(from, to, [0]);
        if self.ways.len() <= id as usize {
            self.ways.resize(id as usize + 1, Way::default());
        }
        self.ways[id as usize] = Way { from, to, forwarding, answer };
        self.matching.begin(now, id, from, to, rate.time_for_many(self.frames.total(length)));
    }

    fn advance(&mut self, now: Time) {
        while let Some((at, id)) = self.matching.ended(now) {
            self.leaving.insert((at + self.ways[id as usize].forwarding, id));
        }
    }
}

impl Transport for Srpt {
    type Segment = Whole;

    fn send(&mut self, now: Time, message: &Message) {
        let Message { id, from, to, length, .. } = *message;
        self.oracle.borrow_mut().begin(now, id, from, to, length, false);
    }

    fn receive(&mut self, _now: Time, packet: Packet<Whole>, outcomes: &mut Vec<Outcome>) {
        debug_assert_eq!(packet.to, self.host);
        let outcome = if packet.segment.answer { Outcome::Answered } else { Outcome::Arrived };
        outcomes.push(outcome(packet.message));
    }

    fn respond(&mut self, now: Time, message: &Message) {
        let length = message.reply.unwrap_or(0);
        self.oracle.borrow_mut().begin(now, message.id, message.to, message.from, length, true);
    }

    /// Messages that have passed the last switch, whoever sent them: the host that is asked speaks for all.
    fn next_packet(&mut self, now: Time) -> Option<Packet<Whole>> {
        let oracle = &mut *self.oracle.borrow_mut();
        oracle.advance(now);
        let (_, id) = *oracle.leaving.first().filter(|(at, _)| *at <= now)?;
        oracle.leaving.pop_first();
        let Way { from, to, answer, .. } = oracle.ways[id as usize];
        let segment = Whole { answer };
        Some(Packet { from, to, wire: 0, priority: 0, ecn: Ecn::Incapable, flow: id, rank: 0, message: id, segment })
    }

    /// One host watches for the whole cluster: that at which something changed for which the others would wake too late.
    fn next_timeout(&self) -> Time {
        let oracle = &mut *self.oracle.borrow_mut();
        let leaving = oracle.leaving.first().map_or(Time::NEVER, |(at, _)| *at);
        let due = oracle.matching.next_end().unwrap_or(Time::NEVER).min(leaving);
        let (watcher, at) = oracle.watch;
        if watcher != self.host && at <= due {
            return Time::NEVER;
        }
        oracle.watch = (self.host, due);
        due
    }

    fn handle_timeout(&mut self, now: Time) {
        self.oracle.borrow_mut().advance(now);
    }
}
