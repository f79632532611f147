//! What RDMA's reliable connections have in common, in RoCE and in InfiniBand: a NIC with a queue pair for each other host,
//! packets in order, and everything from a gap on sent again (go-back-N).

mod queue;
mod receiver;
mod setup;

pub use setup::{NicCounters, NicSetup};

use super::{Message, Outcome, Transport};
use crate::net::{Ecn, Packet};
use crate::{Rate, Time};
use queue::{Place, Queue};
use receiver::Receiver;
use std::collections::{BTreeSet, VecDeque};

/// How fast a queue pair may send.
pub trait Congestion {
    /// Its parameters.
    type Rules: Copy;

    /// A new queue pair on a link of this rate.
    fn new(rules: Self::Rules, line: Rate) -> Self;

    /// The receiver tells of congestion on the way.
    fn notified(&mut self, now: Time);

    /// A packet of so many bytes is sent. How long after its beginning the next may begin.
    fn sent(&mut self, now: Time, wire: u32) -> Time;
}

/// What packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A part of a message.
    Data {
        /// Packet sequence number in the queue pair.
        psn: u64,
        /// The message that ends with it, and whether it is a response.
        ends: Option<(u32, bool)>,
    },
    /// All below this number has arrived.
    Ack(u64),
    /// This one is missing though later ones have come.
    Nak(u64),
    /// A packet was marked on its way (CNP, or BECN).
    Notification,
}

/// An RDMA NIC and the host behind it.
#[derive(Debug)]
pub struct Nic<C: Congestion> {
    host: u32,
    line: Rate,
    setup: NicSetup,
    rules: C::Rules,
    /// By the other host; made when first used.
    queues: Vec<Option<Box<Queue<C>>>>,
    receivers: Vec<Receiver>,
    /// Queues that may send now, in turn.
    ready: VecDeque<u32>,
    /// Queues that may send at a time.
    pacing: BTreeSet<(Time, u32)>,
    /// Queues that have unacknowledged packets, by a time not later than that at which these are given up.
    deadlines: BTreeSet<(Time, u32)>,
    signals: VecDeque<(u32, Segment)>,
    /// One bit a class that the switch has stopped.
    stopped: u8,
    counters: NicCounters,
}

impl<C: Congestion> Nic<C> {
    /// The NIC of host number `host` of so many, on a link of rate `line`.
    pub fn new(host: u32, hosts: u32, line: Rate, setup: NicSetup, rules: C::Rules) -> Nic<C> {
        Nic {
            host,
            line,
            setup,
            rules,
            queues: (0..hosts).map(|_| None).collect(),
            receivers: vec![Receiver::default(); hosts as usize],
            ready: VecDeque::new(),
            pacing: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            signals: VecDeque::new(),
            stopped: 0,
            counters: NicCounters::default(),
        }
    }

    /// What it has done.
    pub fn counters(&self) -> NicCounters {
        self.counters
    }

    /// The congestion control of the queue pair to another host, if there is one.
    pub fn congestion(&self, to: u32) -> Option<&C> {
        self.queues.get(to as usize)?.as_deref().map(|queue| &queue.congestion)
    }

    fn queue(&mut self, to: u32) -> &mut Queue<C> {
        let (rules, line) = (self.rules, self.line);
        self.queues[to as usize].get_or_insert_with(|| Box::new(Queue::new(C::new(rules, line))))
    }

    fn begin(&mut self, now: Time, to: u32, message: u32, answer: bool, length: u32) {
        let frames = self.setup.frames;
        self.queue(to).add(message, answer, length, frames.count(length));
        self.activate(now, to);
    }

    /// Gives a queue that has something to send its turn.
    fn activate(&mut self, now: Time, to: u32) {
        let Some(queue) = self.queues[to as usize].as_deref_mut() else { return };
        if queue.place != Place::Idle || !queue.has_more() {
            return;
        }
        if queue.ready_at <= now {
            queue.place = Place::Ready;
            self.ready.push_back(to);
        } else {
            queue.place = Place::Pacing;
            self.pacing.insert((queue.ready_at, to));
        }
    }

    /// Queues whose time has come take their turns.
    fn release(&mut self, now: Time) {
        while let Some((at, to)) = self.pacing.first().copied().filter(|(at, _)| *at <= now) {
            self.pacing.remove(&(at, to));
            self.queue(to).place = Place::Ready;
            self.ready.push_back(to);
        }
    }

    /// Packets from `psn` on have to be sent again.
    fn go_back(&mut self, now: Time, to: u32, psn: u64) {
        let again = self.queue(to).go_back(psn);
        self.counters.went_back += u64::from(again > 0);
        self.counters.resent += again;
        self.activate(now, to);
    }

    fn watch(&mut self, to: u32, deadline: Time) {
        let queue = self.queue(to);
        queue.deadline = deadline;
        if !std::mem::replace(&mut queue.watched, true) {
            self.deadlines.insert((deadline, to));
        }
    }

    fn may_send(&self, class: u8) -> bool {
        self.stopped >> (class & 7) & 1 == 0
    }

    fn signal(&mut self) -> Option<Packet<Segment>> {
        if !self.may_send(self.setup.signal_class) {
            return None;
        }
        let (to, segment) = self.signals.pop_front()?;
        let wire = if segment == Segment::Notification { self.setup.notification } else { self.setup.ack };
        let priority = self.setup.signal_class;
        Some(self.packet(to, wire, priority, Ecn::Incapable, Packet::<Segment>::NO_MESSAGE, segment))
    }

    fn packet(&self, to: u32, wire: u32, priority: u8, ecn: Ecn, message: u32, segment: Segment) -> Packet<Segment> {
        let flow = (self.host * self.queues.len() as u32).wrapping_add(to);
        Packet { from: self.host, to, wire, priority, ecn, flow, rank: 0, message, segment }
    }
}

impl<C: Congestion> Transport for Nic<C> {
    type Segment = Segment;

    fn send(&mut self, now: Time, message: &Message) {
        self.begin(now, message.to, message.id, false, message.length);
    }

    fn respond(&mut self, now: Time, message: &Message) {
        self.begin(now, message.from, message.id, true, message.reply.unwrap_or(0));
    }

    fn receive(&mut self, now: Time, packet: Packet<Segment>, outcomes: &mut Vec<Outcome>) {
        let from = packet.from;
        match packet.segment {
            Segment::Data { psn, ends } => {
                let receiver = &mut self.receivers[from as usize];
                if packet.ecn == Ecn::Marked && receiver.notifies(now, self.setup.notify_every) {
                    self.signals.push_back((from, Segment::Notification));
                }
                let taken = receiver.take(psn, ends.is_some(), self.setup.ack_every);
                self.signals.extend(taken.answer.map(|answer| (from, answer)));
                if let Some((message, answer)) = ends.filter(|_| taken.in_order) {
                    outcomes.push(if answer { Outcome::Answered(message) } else { Outcome::Arrived(message) });
                }
            }
            Segment::Ack(psn) => {
                if self.queue(from).acknowledge(psn) {
                    self.watch(from, now + self.setup.timeout);
                    self.activate(now, from);
                }
            }
            Segment::Nak(psn) => {
                self.queue(from).acknowledge(psn);
                self.watch(from, now + self.setup.timeout);
                self.go_back(now, from, psn);
            }
            Segment::Notification => {
                self.counters.notified += 1;
                self.queue(from).congestion.notified(now);
            }
        }
    }

    fn next_packet(&mut self, now: Time) -> Option<Packet<Segment>> {
        if let Some(signal) = self.signal() {
            return Some(signal);
        }
        if !self.may_send(self.setup.data_class) {
            return None;
        }
        self.release(now);
        while let Some(to) = self.ready.pop_front() {
            let frames = self.setup.frames;
            let queue = self.queue(to);
            queue.place = Place::Idle;
            let Some(next) = queue.take_next(frames) else { continue };
            queue.ready_at = now + queue.congestion.sent(now, next.wire);
            let starts = queue.deadline == Time::NEVER;
            self.counters.sent += 1;
            if starts {
                self.watch(to, now + self.setup.timeout);
            }
            self.activate(now, to);
            let segment = Segment::Data { psn: next.psn, ends: next.ends };
            return Some(self.packet(to, next.wire, self.setup.data_class, Ecn::Capable, next.message, segment));
        }
        None
    }

    fn uplink(&mut self, _now: Time, priority: u8, go: bool) {
        let bit = 1 << (priority & 7);
        self.stopped = if go { self.stopped & !bit } else { self.stopped | bit };
    }

    fn next_timeout(&self) -> Time {
        let pacing = self.pacing.first().map_or(Time::NEVER, |(at, _)| *at);
        pacing.min(self.deadlines.first().map_or(Time::NEVER, |(at, _)| *at))
    }

    fn handle_timeout(&mut self, now: Time) {
        self.release(now);
        while let Some((at, to)) = self.deadlines.first().copied().filter(|(at, _)| *at <= now) {
            self.deadlines.remove(&(at, to));
            let timeout = self.setup.timeout;
            let queue = self.queue(to);
            queue.watched = false;
            if !queue.has_unacknowledged() {
                queue.deadline = Time::NEVER;
            } else if queue.deadline > now {
                let deadline = queue.deadline;
                self.watch(to, deadline);
            } else {
                let psn = queue.unacknowledged();
                self.counters.timeouts += 1;
                self.watch(to, now + timeout);
                self.go_back(now, to, psn);
            }
        }
    }
}
