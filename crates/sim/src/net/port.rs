use super::packet::{Ecn, NONE, Packet, Packets, Slot};
use crate::{Rate, Time};
use serde::Serialize;

/// One direction of a link, with the queue before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// Where it leads.
    pub to: Node,
    /// How fast it is.
    pub rate: Rate,
    /// From the last bit's departure to the packet's place in the next queue, or to the host's transport: wire, switch
    /// and host delays together.
    pub delay: Time,
    /// Which step on the way it is, for the records.
    pub hop: Hop,
}

/// A place that packets reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A host.
    Host(u32),
    /// A switch.
    Switch(u32),
}

/// A step on the way of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hop {
    /// From a host to its switch.
    HostUp,
    /// From a rack's switch upward.
    RackUp,
    /// From an aggregation switch upward, in a fat tree.
    PodUp,
    /// From a core switch downward, in a fat tree.
    CoreDown,
    /// From a spine or aggregation switch down to a rack's.
    RackDown,
    /// From a rack's switch to a host.
    HostDown,
}

/// How a port treats the packets that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRules {
    /// Most bytes that wait; what comes then is dropped.
    pub buffer: u64,
    /// In which order packets leave and whom a full queue drops.
    pub order: Order,
    /// When packets that may be are marked.
    pub marking: Option<Marking>,
}

/// The order in which packets leave a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Strict priority, first come first served within one; a full queue drops what comes.
    Priority,
    /// The lowest rank first, the first to come among equals of one message; a full queue drops the highest rank
    /// (pFabric).
    Rank,
}

/// Marking at a threshold: RED with both thresholds equal is what DCTCP asks for; DCQCN uses a ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marking {
    /// Up to so many bytes in the queue nothing is marked.
    pub from: u64,
    /// From so many bytes on everything is; between them with rising probability.
    pub to: u64,
    /// Probability just below `to`, in 1/65536.
    pub most: u32,
}

/// What a port has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent, on the wire.
    pub bytes: u64,
    /// Packets dropped because the queue was full, and their bytes.
    pub drops: u64,
    /// Bytes of these.
    pub dropped_bytes: u64,
    /// Packets marked.
    pub marked: u64,
    /// Longest queue, bytes.
    pub longest: u64,
    /// Queue length summed over time, byte-nanoseconds.
    pub byte_nanos: u64,
    /// Packets that the switch at the other end had no room for.
    pub refused: u64,
    /// How often the other end stopped a class, by pausing it or for want of credits.
    pub stops: u64,
    /// For how long at least one class was stopped.
    pub stopped: Time,
}

/// A port at work.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) spec: PortSpec,
    pub(crate) rules: PortRules,
    queues: [Queue; 8],
    /// One bit a priority whose queue is not empty.
    occupied: u8,
    /// One bit a priority that the other end of the link has stopped.
    stopped: u8,
    stopped_at: Time,
    /// Bytes that wait, without the packet being sent.
    pub(crate) bytes: u64,
    changed_at: Time,
    /// When the last bit of the packet being sent leaves.
    pub(crate) busy_until: Time,
    /// Whether an event tells when it is free.
    pub(crate) wakes: bool,
    pub(crate) counters: PortCounters,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: Slot,
    last: Slot,
}

impl Port {
    pub(crate) fn new(spec: PortSpec, rules: PortRules) -> Port {
        Port {
            spec,
            rules,
            queues: [Queue { first: NONE, last: NONE }; 8],
            occupied: 0,
            stopped: 0,
            stopped_at: Time::ZERO,
            bytes: 0,
            changed_at: Time::ZERO,
            busy_until: Time::ZERO,
            wakes: false,
            counters: PortCounters::default(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    /// Whether something waits that has not been stopped.
    #[inline]
    pub(crate) fn may_send(&self) -> bool {
        self.occupied & !self.stopped != 0
    }

    /// Whether the other end has stopped a class.
    #[inline]
    pub(crate) fn is_stopped(&self, priority: u8) -> bool {
        self.stopped >> (priority & 7) & 1 == 1
    }

    /// The other end stops a class, or lets it go on.
    pub(crate) fn set_stopped(&mut self, now: Time, priority: u8, stop: bool) {
        let bit = 1 << (priority & 7);
        let stopped = if stop { self.stopped | bit } else { self.stopped & !bit };
        self.counters.stops += u64::from(stopped & !self.stopped != 0);
        if self.stopped != 0 {
            self.counters.stopped += now.since(self.stopped_at);
        }
        self.stopped_at = now;
        self.stopped = stopped;
    }

    /// Notes how long the queue has been as long as it is.
    #[inline]
    fn account(&mut self, now: Time) {
        self.counters.byte_nanos += self.bytes * now.since(self.changed_at).as_picos() / 1_000;
        self.changed_at = now;
    }

    /// The packet to drop so that there may be room for a newcomer, already taken out: perhaps the newcomer itself. None if
    /// there is room.
    pub(crate) fn victim<S>(&mut self, now: Time, packets: &mut Packets<S>, newcomer: Slot) -> Option<Slot> {
        if self.bytes + u64::from(packets.get(newcomer).wire) <= self.rules.buffer {
            return None;
        }
        let worst = if self.rules.order == Order::Rank { self.take_worst(packets, newcomer) } else { None };
        let victim = worst.unwrap_or(newcomer);
        let wire = u64::from(packets.get(victim).wire);
        self.counters.drops += 1;
        self.counters.dropped_bytes += wire;
        if worst.is_some() {
            self.account(now);
            self.bytes -= wire;
        }
        Some(victim)
    }

    /// Puts a packet for which there is room in the queue. `chance` is a random number below 65,536, for marking.
    pub(crate) fn enqueue<S>(&mut self, now: Time, packets: &mut Packets<S>, slot: Slot, chance: impl FnOnce() -> u32) {
        let packet = packets.get_mut(slot);
        let (wire, priority) = (u64::from(packet.wire), usize::from(packet.priority & 7));
        if let Some(marking) = self.rules.marking
            && packet.ecn == Ecn::Capable
            && marking.marks(self.bytes, chance)
        {
            packet.ecn = Ecn::Marked;
            self.counters.marked += 1;
        }
        self.account(now);
        self.bytes += wire;
        self.counters.longest = self.counters.longest.max(self.bytes);
        let queue = &mut self.queues[priority];
        if queue.first == NONE {
            queue.first = slot;
            self.occupied |= 1 << priority;
        } else {
            packets.set_next(queue.last, slot);
        }
        queue.last = slot;
        packets.set_next(slot, NONE);
    }

    /// Takes the next packet to send.
    pub(crate) fn dequeue<S>(&mut self, now: Time, packets: &mut Packets<S>) -> Option<Slot> {
        if !self.may_send() {
            return None;
        }
        let priority = 7 - (self.occupied & !self.stopped).leading_zeros() as usize;
        let slot = match self.rules.order {
            Order::Priority => self.queues[priority].first,
            Order::Rank => self.best(packets, priority),
        };
        self.unlink(packets, priority, slot);
        self.account(now);
        self.bytes -= u64::from(packets.get(slot).wire);
        Some(slot)
    }

    /// The packet to send under [`Order::Rank`]: of the message that has the lowest rank waiting, the first to come.
    fn best<S>(&self, packets: &Packets<S>, priority: usize) -> Slot {
        let mut lowest = self.queues[priority].first;
        let mut slot = packets.next(lowest);
        while slot != NONE {
            if packets.get(slot).rank < packets.get(lowest).rank {
                lowest = slot;
            }
            slot = packets.next(slot);
        }
        let message = packets.get(lowest).flow;
        let mut slot = self.queues[priority].first;
        while packets.get(slot).flow != message {
            slot = packets.next(slot);
        }
        slot
    }

    /// Takes out the last of those with the highest rank, if that is higher than the newcomer's.
    fn take_worst<S>(&mut self, packets: &mut Packets<S>, newcomer: Slot) -> Option<Slot> {
        let priority = usize::from(packets.get(newcomer).priority & 7);
        let mut worst = newcomer;
        let mut slot = self.queues[priority].first;
        while slot != NONE {
            let better = packets.get(slot).rank > packets.get(worst).rank;
            if better || (worst != newcomer && packets.get(slot).rank == packets.get(worst).rank) {
                worst = slot;
            }
            slot = packets.next(slot);
        }
        if worst == newcomer {
            return None;
        }
        self.unlink(packets, priority, worst);
        Some(worst)
    }

    fn unlink<S>(&mut self, packets: &mut Packets<S>, priority: usize, slot: Slot) {
        let queue = &mut self.queues[priority];
        let next = packets.next(slot);
        if queue.first == slot {
            queue.first = next;
            if next == NONE {
                self.occupied &= !(1 << priority);
            }
            return;
        }
        let mut before = queue.first;
        while packets.next(before) != slot {
            before = packets.next(before);
        }
        packets.set_next(before, next);
        if queue.last == slot {
            queue.last = before;
        }
    }

    /// Everything seen, up to `now`.
    pub(crate) fn counters(&self, now: Time) -> PortCounters {
        let waiting = self.bytes * now.since(self.changed_at).as_picos() / 1_000;
        let stopped = if self.stopped == 0 { Time::ZERO } else { now.since(self.stopped_at) };
        PortCounters {
            byte_nanos: self.counters.byte_nanos + waiting,
            stopped: self.counters.stopped + stopped,
            ..self.counters
        }
    }
}

impl Marking {
    /// Marks everything that finds more than `threshold` bytes waiting.
    pub const fn at(threshold: u64) -> Marking {
        Marking { from: threshold, to: threshold, most: 65_536 }
    }

    fn marks(&self, queued: u64, chance: impl FnOnce() -> u32) -> bool {
        if queued <= self.from {
            return false;
        }
        if queued >= self.to {
            return true;
        }
        u64::from(chance()) * (self.to - self.from) < u64::from(self.most) * (queued - self.from)
    }
}

impl<S> Packet<S> {
    /// Bytes on the wire of an Ethernet frame with so many bytes of payload behind `headers`, at least the minimum frame,
    /// with preamble and gap.
    pub fn wire_bytes(headers: u32, payload: u32) -> u32 {
        (headers + payload).max(84)
    }
}
