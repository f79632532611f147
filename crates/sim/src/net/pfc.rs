use super::control::{Admission, Notice, Signal};
use super::port::{Node, PortSpec};
use crate::{Rate, Time};

/// Priority flow control (IEEE 802.1Qbb): a switch counts what has come through each of its entrances, by class, and
/// stops the sender there before there is no room left. The defaults are those of the simulations that DCQCN's and
/// HPCC's authors published, as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcRules {
    /// One bit a class that must not be lost. Other classes are neither counted nor stopped. Class 3 alone: the usual
    /// assignment for RDMA.
    pub classes: u8,
    /// Bytes of buffer in each switch. 16 MB: a 50 Gbit/s class switch.
    pub buffer: u64,
    /// Bytes of it that belong to each entrance and class. 4 KB.
    pub reserve: u64,
    /// An entrance may use the shared buffer up to the part of it that is free, shifted right by this. 3.
    pub shift: u32,
    /// A stopped sender goes on when so many bytes less than the threshold are used. 3 KB.
    pub resume: u64,
    /// Bytes kept for what still comes through each entrance and class after the sender was stopped. `None`: as much as can
    /// come.
    pub headroom: Option<u64>,
    /// From the decision to the sender's stop, without the time on the wire: processing at both sides and a frame that is
    /// in the way. 1 µs.
    pub delay: Time,
}

/// A pause frame with preamble and gap, bytes.
const PAUSE: u32 = 84;
/// The longest frames that are expected: one may just have been begun at the sender, one be on its way in.
const LONGEST: u64 = 1_538;

impl Default for PfcRules {
    fn default() -> PfcRules {
        PfcRules {
            classes: 1 << 3,
            buffer: 16_000_000,
            reserve: 4_096,
            shift: 3,
            resume: 3_072,
            headroom: None,
            delay: Time::from_micros(1),
        }
    }
}

impl PfcRules {
    fn counts(&self, class: u8) -> bool {
        self.classes >> (class & 7) & 1 == 1
    }

    fn signal_time(&self, spec: &PortSpec) -> Time {
        self.delay + spec.rate.time_for(PAUSE)
    }

    /// Most bytes that a sender may have sent after it should have stopped.
    fn headroom(&self, spec: &PortSpec) -> u64 {
        self.headroom.unwrap_or_else(|| bytes_in(spec.rate, self.signal_time(spec) + spec.delay) + 2 * LONGEST)
    }
}

fn bytes_in(rate: Rate, time: Time) -> u64 {
    (u128::from(rate.bits_per_second()) * u128::from(time.as_picos()) / 8_000_000_000_000) as u64
}

/// Priority flow control at work in all switches.
#[derive(Debug)]
pub(super) struct Pfc {
    rules: PfcRules,
    /// By the port that leads in, and class.
    entrances: Vec<Entrance>,
    switches: Vec<Shared>,
}

/// What one sender has in a switch's buffer, in one class.
#[derive(Clone, Copy, Debug, Default)]
struct Entrance {
    switch: u32,
    reserved: u64,
    shared: u64,
    headroom: u64,
    headroom_size: u64,
    stopped: bool,
    signal_time: Time,
}

/// The part of a switch's buffer that belongs to nobody.
#[derive(Clone, Copy, Debug, Default)]
struct Shared {
    size: u64,
    used: u64,
}

impl Shared {
    fn threshold(&self, rules: &PfcRules) -> u64 {
        self.size.saturating_sub(self.used) >> rules.shift
    }
}

impl Pfc {
    pub(super) fn new(rules: PfcRules, ports: &[PortSpec], switches: u32) -> Pfc {
        let mut shared = vec![Shared { size: rules.buffer, used: 0 }; switches as usize];
        let mut entrances = vec![Entrance::default(); ports.len() * 8];
        for (port, spec) in ports.iter().enumerate() {
            let Node::Switch(switch) = spec.to else { continue };
            for class in (0..8).filter(|class| rules.counts(*class)) {
                let headroom_size = rules.headroom(spec);
                let shared = &mut shared[switch as usize];
                shared.size = shared.size.saturating_sub(rules.reserve + headroom_size);
                let signal_time = rules.signal_time(spec);
                entrances[port * 8 + usize::from(class)] =
                    Entrance { switch, headroom_size, signal_time, ..Entrance::default() };
            }
        }
        Pfc { rules, entrances, switches: shared }
    }

    pub(super) fn enter(&mut self, switch: u32, port: u32, class: u8, wire: u32) -> Admission {
        if !self.rules.counts(class) {
            return Admission::Admitted(None);
        }
        let entrance = &mut self.entrances[port as usize * 8 + usize::from(class & 7)];
        let shared = &mut self.switches[switch as usize];
        let wire = u64::from(wire);
        if entrance.reserved + wire <= self.rules.reserve {
            entrance.reserved += wire;
            return Admission::Admitted(None);
        }
        if entrance.headroom == 0 && entrance.shared + wire <= shared.threshold(&self.rules) {
            entrance.shared += wire;
            shared.used += wire;
            return Admission::Admitted(None);
        }
        if entrance.headroom + wire > entrance.headroom_size {
            return Admission::Refused;
        }
        entrance.headroom += wire;
        let stop = !std::mem::replace(&mut entrance.stopped, true);
        let notice = Notice { port, class, signal: Signal::Stop, delay: entrance.signal_time };
        Admission::Admitted(stop.then_some(notice))
    }

    pub(super) fn leave(&mut self, port: u32, class: u8, wire: u32) -> Option<Notice> {
        if !self.rules.counts(class) {
            return None;
        }
        let entrance = &mut self.entrances[port as usize * 8 + usize::from(class & 7)];
        let shared = &mut self.switches[entrance.switch as usize];
        // What came last is counted out first: the headroom must be empty before the sender goes on.
        let mut left = u64::from(wire);
        for (pot, total) in [
            (&mut entrance.headroom, None),
            (&mut entrance.shared, Some(&mut shared.used)),
            (&mut entrance.reserved, None),
        ] {
            let part = left.min(*pot);
            *pot -= part;
            left -= part;
            if let Some(total) = total {
                *total -= part;
            }
        }
        let room = entrance.shared == 0 || entrance.shared + self.rules.resume <= shared.threshold(&self.rules);
        if !entrance.stopped || entrance.headroom > 0 || !room {
            return None;
        }
        entrance.stopped = false;
        Some(Notice { port, class, signal: Signal::Go, delay: entrance.signal_time })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::LeafSpine;

    fn pfc(rules: PfcRules) -> Pfc {
        let shape = LeafSpine::paper();
        let topology = shape.topology();
        Pfc::new(rules, topology.ports(), topology.switches())
    }

    #[test]
    fn a_sender_is_stopped_once_and_released_once() {
        let mut pfc = pfc(PfcRules { buffer: 1_000_000, ..PfcRules::default() });
        let (mut stops, mut inside) = (0, 0);
        while stops == 0 {
            match pfc.enter(0, 0, 3, 1_000) {
                Admission::Admitted(notice) => stops += u32::from(notice.is_some()),
                Admission::Refused => panic!("the headroom is for what comes later"),
            }
            inside += 1;
        }
        assert!(matches!(pfc.enter(0, 0, 3, 1_000), Admission::Admitted(None)), "it is told once");
        let mut releases = 0;
        for _ in 0..=inside {
            releases += u32::from(pfc.leave(0, 3, 1_000).is_some_and(|notice| notice.signal == Signal::Go));
        }
        assert_eq!((releases, pfc.switches[0].used), (1, 0));
    }

    #[test]
    fn the_more_is_used_the_less_each_may_use() {
        let rules = PfcRules { buffer: 1_000_000, ..PfcRules::default() };
        let until_stopped = |pfc: &mut Pfc, port| {
            (1..).find(|_| matches!(pfc.enter(0, port, 3, 1_000), Admission::Admitted(Some(_)))).unwrap_or(0)
        };
        let mut pfc = pfc(rules);
        let first = until_stopped(&mut pfc, 0);
        let second = until_stopped(&mut pfc, 1);
        assert!(second < first, "{second} packets after {first}");
    }

    #[test]
    fn other_classes_are_not_counted_and_short_headroom_loses() {
        let mut pfc = pfc(PfcRules { buffer: 200_000, headroom: Some(2_000), ..PfcRules::default() });
        for _ in 0..1_000 {
            assert_eq!(pfc.enter(0, 0, 6, 1_000), Admission::Admitted(None));
        }
        let refused = (0..1_000).filter(|_| pfc.enter(0, 0, 3, 1_000) == Admission::Refused).count();
        assert!(refused > 900, "{refused} refused");
    }
}
