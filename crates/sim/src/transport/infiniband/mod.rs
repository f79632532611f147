//! InfiniBand: credits keep every link from losing packets, switches mark (FECN), receivers tell senders (BECN), senders
//! follow a congestion control table.

mod table;

pub use super::rdma::{NicCounters, NicSetup};
pub use table::{Table, TableRules};

use super::Frames;
use super::rdma::Nic;
use crate::net::{CreditRules, FlowControl, Marking, Network, NetworkRules, Order, Paths, PortRules, Topology};
use crate::{Rate, Time};

/// A host with an InfiniBand channel adapter.
pub type Infiniband = Nic<Table>;

/// How InfiniBand is set, adapters and switches together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InfinibandSetup {
    /// Rate of the hosts' links.
    pub line: Rate,
    /// The channel adapters.
    pub nic: NicSetup,
    /// Their congestion control; `None`: none.
    pub table: Option<TableRules>,
    /// Bytes that wait at a port from which on packets are marked (FECN).
    pub threshold: u64,
    /// The links' flow control.
    pub credits: CreditRules,
}

impl InfinibandSetup {
    /// 2,048 bytes a packet, everything on virtual lane 0.
    ///
    /// On the wire: LRH 8, BTH 12, ICRC 4, VCRC 2; AETH 4 in acknowledgements; 16 bytes in congestion notifications (InfiniBand
    /// Architecture Specification). Every eighth packet is acknowledged, and the end of each message; the timeout is 4.096 µs × 2¹⁴, the
    /// usual local ACK timeout: the link layer loses nothing.
    pub const NIC: NicSetup = NicSetup {
        frames: Frames { payload: 2_048, overhead: 26, smallest: 30 },
        ack: 30,
        notification: 42,
        ack_every: 8,
        timeout: Time::from_nanos(67_108_864),
        notify_every: Time::ZERO,
        data_class: 0,
        signal_class: 0,
    };

    /// The defaults, with hosts' links of this rate. Marks begin at 16 KB, half of one link's input buffer.
    pub fn new(line: Rate) -> InfinibandSetup {
        InfinibandSetup {
            line,
            nic: InfinibandSetup::NIC,
            table: Some(TableRules::default()),
            threshold: 16_384,
            credits: CreditRules::default(),
        }
    }

    /// An idle network of such switches: paths are chosen by flow, for packets must stay in order.
    pub fn network<S>(&self, topology: Topology, seed: u64) -> Network<S> {
        let unbounded = NetworkRules::UNBOUNDED.switch.buffer;
        let marking = Some(Marking::at(self.threshold));
        let switch = PortRules { buffer: unbounded, order: Order::Priority, marking };
        Network::new(topology, NetworkRules { switch, paths: Paths::ByFlow }, seed)
            .with_flow_control(FlowControl::Credits(self.credits))
    }

    /// So many hosts with such adapters.
    pub fn hosts(&self, hosts: u32) -> Vec<Infiniband> {
        (0..hosts).map(|host| Nic::new(host, hosts, self.line, self.nic, self.table)).collect()
    }
}
