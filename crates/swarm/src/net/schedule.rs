use homarus_proto::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens at some time. Packets are named by their key in the world's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happening {
    /// A packet reaches the switch port before a host.
    AtPort { packet: usize, host: usize },
    /// A switch port has sent its packet.
    PortFree { host: usize },
    /// A packet reaches a host.
    Arrival { packet: usize, host: usize },
    /// A host's timer, or room in its send queue.
    Timer { host: usize },
    /// The network tells a host that another cannot be reached.
    Unreachable { host: usize, peer: usize },
    /// The caller asked to be woken.
    Alarm { token: u64 },
}

/// Events in the order of their time, and of their making where times are equal.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    heap: BinaryHeap<Reverse<(Instant, u64, Happening)>>,
    made: u64,
}

impl Schedule {
    pub(super) fn add(&mut self, at: Instant, what: Happening) {
        self.made += 1;
        self.heap.push(Reverse((at, self.made, what)));
    }

    /// The first event, unless it is later than `limit`.
    pub(super) fn pop(&mut self, limit: Instant) -> Option<(Instant, Happening)> {
        let Reverse((at, ..)) = *self.heap.peek()?;
        if at > limit {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, what))| (at, what))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
