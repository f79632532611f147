use super::credits::{CreditRules, Credits};
use super::packet::Slot;
use super::pfc::{Pfc, PfcRules};
use super::port::PortSpec;
use crate::Time;

/// How a link keeps its sender from overrunning the buffer at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowControl {
    /// The receiver stops and releases the sender: priority flow control (IEEE 802.1Qbb).
    Pause(PfcRules),
    /// The receiver hands out room: InfiniBand's credits.
    Credits(CreditRules),
}

/// A message from one end of a link to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Send nothing more of a class.
    Stop,
    /// Go on.
    Go,
    /// Room for so many blocks has become free.
    Credit(u16),
}

/// A signal, the port that it is for, the class, and how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) port: u32,
    pub(crate) class: u8,
    pub(crate) signal: Signal,
    pub(crate) delay: Time,
}

/// What became of a packet at the entrance of a switch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// There is room.
    Admitted(Option<Notice>),
    /// There is none.
    Refused,
}

/// Flow control at work, with which port each packet in a switch came through.
#[derive(Debug)]
pub(super) struct Control {
    kind: Kind,
    entrances: Vec<u32>,
}

#[derive(Debug)]
enum Kind {
    Pause(Pfc),
    Credits(Credits),
}

const OUTSIDE: u32 = u32::MAX;

impl Control {
    pub(super) fn new(rules: FlowControl, ports: &[PortSpec], switches: u32) -> Control {
        let kind = match rules {
            FlowControl::Pause(rules) => Kind::Pause(Pfc::new(rules, ports, switches)),
            FlowControl::Credits(rules) => Kind::Credits(Credits::new(rules, ports)),
        };
        Control { kind, entrances: Vec::new() }
    }

    /// A packet has come into a switch through `port`.
    pub(super) fn enter(&mut self, switch: u32, port: u32, slot: Slot, class: u8, wire: u32) -> Admission {
        let admission = match &mut self.kind {
            Kind::Pause(pfc) => pfc.enter(switch, port, class, wire),
            Kind::Credits(_) => Admission::Admitted(None),
        };
        if admission != Admission::Refused {
            if self.entrances.len() <= slot as usize {
                self.entrances.resize(slot as usize + 1, OUTSIDE);
            }
            self.entrances[slot as usize] = port;
        }
        admission
    }

    /// A packet has left the buffer that it was in: that of a switch, if it was in one.
    pub(super) fn leave(&mut self, slot: Slot, class: u8, wire: u32) -> Option<Notice> {
        let entrance = std::mem::replace(self.entrances.get_mut(slot as usize)?, OUTSIDE);
        if entrance == OUTSIDE {
            return None;
        }
        match &mut self.kind {
            Kind::Pause(pfc) => pfc.leave(entrance, class, wire),
            Kind::Credits(credits) => Some(credits.give(entrance, class, wire)),
        }
    }

    /// A packet has left the link of `port` and takes no room: a host has it, or it was lost.
    pub(super) fn taken(&mut self, port: u32, class: u8, wire: u32) -> Option<Notice> {
        match &mut self.kind {
            Kind::Pause(_) => None,
            Kind::Credits(credits) => Some(credits.give(port, class, wire)),
        }
    }

    /// A port sends a packet. Returns whether it must not send another of this class.
    pub(super) fn spend(&mut self, port: u32, class: u8, wire: u32) -> bool {
        match &mut self.kind {
            Kind::Pause(_) => false,
            Kind::Credits(credits) => credits.spend(port, class, wire),
        }
    }

    /// A signal has reached a port. Returns whether the class must stop there.
    pub(super) fn heard(&mut self, port: u32, class: u8, signal: Signal) -> bool {
        match (&mut self.kind, signal) {
            (Kind::Credits(credits), Signal::Credit(blocks)) => credits.receive(port, class, blocks),
            (_, signal) => signal == Signal::Stop,
        }
    }
}
