/// One packet on its way.
#[derive(Clone, Debug)]
pub struct Packet<S> {
    /// The host that sent it.
    pub from: u32,
    /// The host that it goes to.
    pub to: u32,
    /// Bytes on the wire, with preamble and gap. A packet of none travels outside the network: it stands for what the
    /// modelled protocol does not send.
    pub wire: u32,
    /// Strict priority in switches, 0 (lowest) to 7.
    pub priority: u8,
    /// Whether switches may mark it, and whether one has.
    pub ecn: Ecn,
    /// Packets of one flow take one path where paths are chosen by flow.
    pub flow: u32,
    /// Order in queues that sort by rank, lowest first: remaining bytes, for pFabric.
    pub rank: u32,
    /// The message that it belongs to, for the records; [`Packet::NO_MESSAGE`] if none.
    pub message: u32,
    /// What the transport put into it.
    pub segment: S,
}

impl<S> Packet<S> {
    /// The packet belongs to no message alone.
    pub const NO_MESSAGE: u32 = u32::MAX;
}

/// Explicit congestion notification (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// The sender does not understand marks.
    #[default]
    Incapable,
    /// Switches may mark it.
    Capable,
    /// A switch has.
    Marked,
}

/// Place of a packet in [`Packets`].
pub(crate) type Slot = u32;

/// No packet.
pub(crate) const NONE: Slot = u32::MAX;

/// All packets that are in queues or on links. Queues are lists through it, so that a packet is written once.
#[derive(Debug)]
pub(crate) struct Packets<S> {
    slots: Vec<Entry<S>>,
    free: Slot,
    used: usize,
}

#[derive(Debug)]
struct Entry<S> {
    next: Slot,
    packet: Option<Packet<S>>,
}

impl<S> Packets<S> {
    pub(crate) fn new() -> Packets<S> {
        Packets { slots: Vec::new(), free: NONE, used: 0 }
    }

    pub(crate) fn insert(&mut self, packet: Packet<S>) -> Slot {
        self.used += 1;
        if self.free == NONE {
            self.slots.push(Entry { next: NONE, packet: Some(packet) });
            return (self.slots.len() - 1) as Slot;
        }
        let slot = self.free;
        let entry = &mut self.slots[slot as usize];
        self.free = entry.next;
        *entry = Entry { next: NONE, packet: Some(packet) };
        slot
    }

    pub(crate) fn remove(&mut self, slot: Slot) -> Option<Packet<S>> {
        let entry = &mut self.slots[slot as usize];
        let packet = entry.packet.take()?;
        entry.next = self.free;
        self.free = slot;
        self.used -= 1;
        Some(packet)
    }

    /// The packet, which must be there.
    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> &Packet<S> {
        self.slots[slot as usize].packet.as_ref().expect("slots in queues and events hold packets")
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: Slot) -> &mut Packet<S> {
        self.slots[slot as usize].packet.as_mut().expect("slots in queues and events hold packets")
    }

    /// The one behind it in its queue.
    #[inline]
    pub(crate) fn next(&self, slot: Slot) -> Slot {
        self.slots[slot as usize].next
    }

    #[inline]
    pub(crate) fn set_next(&mut self, slot: Slot, next: Slot) {
        self.slots[slot as usize].next = next;
    }

    /// Packets that are under way.
    pub(crate) fn len(&self) -> usize {
        self.used
    }
}
