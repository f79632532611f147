//! RoCEv2 (RDMA over UDP): the network is kept from losing packets by pausing (PFC), senders slow down when switches mark
//! (DCQCN), and after a loss everything from the gap on is sent again.

mod dcqcn;

pub use super::rdma::{NicCounters, NicSetup};
pub use dcqcn::{Dcqcn, DcqcnRules};

use super::Frames;
use super::rdma::Nic;
use crate::net::{FlowControl, Marking, Network, NetworkRules, Order, Paths, PfcRules, PortRules, Topology};
use crate::{Rate, Time};

/// A host with a RoCE NIC.
pub type Roce = Nic<Dcqcn>;

/// How RoCE is set, NICs and switches together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoceSetup {
    /// Rate of the hosts' links.
    pub line: Rate,
    /// The NICs.
    pub nic: NicSetup,
    /// Their congestion control; `None`: none.
    pub dcqcn: Option<DcqcnRules>,
    /// When switches mark.
    pub marking: Marking,
    /// Priority flow control; `None`: switches drop what finds their ports' buffers full.
    pub pfc: Option<PfcRules>,
    /// Buffer of each port of a switch without priority flow control, bytes.
    pub buffer: u64,
}

impl RoceSetup {
    /// 1,000 bytes a packet, priority class 3, notifications in class 6.
    ///
    /// On the wire: Ethernet with preamble and gap 38, IPv4 20, UDP 8, BTH 12, ICRC 4; AETH 4 in acknowledgements; 16 bytes in
    /// CNPs (InfiniBand Architecture Specification, annex A17). Each packet is acknowledged, as in the simulations published with
    /// HPCC. The timeout is 4.096 µs × 2¹⁰ in the form of the specification's local ACK timeout: between the usual 2¹⁴ and what is
    /// so short that pauses cause it.
    pub const NIC: NicSetup = NicSetup {
        frames: Frames { payload: 1_000, overhead: 82, smallest: 84 },
        ack: 86,
        notification: 98,
        ack_every: 1,
        timeout: Time::from_nanos(4_194_304),
        notify_every: Time::from_micros(4),
        data_class: 3,
        signal_class: 6,
    };

    /// As vendors set it for hosts' links of this rate: DCQCN with marks between 100 and 400 KB × rate/25G, at most 20 %, and
    /// priority flow control. A port's buffer without it is 1 MB: an even share of a switch's 16 MB.
    pub fn vendor(line: Rate) -> RoceSetup {
        let scaled = |kilobytes: u64| kilobytes * 1_000 * line.bits_per_second() / 25_000_000_000;
        RoceSetup {
            line,
            nic: RoceSetup::NIC,
            dcqcn: Some(DcqcnRules::vendor(line)),
            marking: Marking { from: scaled(100), to: scaled(400), most: 65_536 / 5 },
            pfc: Some(PfcRules::default()),
            buffer: 1_000_000,
        }
    }

    /// As in DCQCN's paper (SIGCOMM'15): marks between 5 and 200 KB, at most 1 %, and one notification in 50 µs.
    pub fn paper(line: Rate) -> RoceSetup {
        RoceSetup {
            nic: NicSetup { notify_every: Time::from_micros(50), ..RoceSetup::NIC },
            dcqcn: Some(DcqcnRules::PAPER),
            marking: Marking { from: 5_000, to: 200_000, most: 65_536 / 100 },
            ..RoceSetup::vendor(line)
        }
    }

    /// An idle network of such switches: paths are chosen by flow, for packets must stay in order.
    pub fn network<S>(&self, topology: Topology, seed: u64) -> Network<S> {
        let buffer = if self.pfc.is_some() { NetworkRules::UNBOUNDED.switch.buffer } else { self.buffer };
        let switch = PortRules { buffer, order: Order::Priority, marking: Some(self.marking) };
        let network = Network::new(topology, NetworkRules { switch, paths: Paths::ByFlow }, seed);
        match self.pfc {
            Some(rules) => network.with_flow_control(FlowControl::Pause(rules)),
            None => network,
        }
    }

    /// So many hosts with such NICs.
    pub fn hosts(&self, hosts: u32) -> Vec<Roce> {
        (0..hosts).map(|host| Nic::new(host, hosts, self.line, self.nic, self.dcqcn)).collect()
    }
}
