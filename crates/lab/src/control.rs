//! What the controller and the host processes say to each other: one JSON object a line.

use crate::load::LoadOrder;
use crate::rack::RackShape;
use crate::stats::{BaseLine, Recorded};
use serde::{Deserialize, Serialize};

/// A transport in one configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Transport {
    /// homarus over UDP.
    Homa {
        /// Whether many concurrent requests are marked, so that their responses start small (SIGCOMM'18 §3.6).
        incast_optimisation: bool,
    },
    /// Linux TCP.
    Tcp {
        /// Congestion control, by the kernel's name.
        congestion: String,
        /// How RPCs share connections.
        connections: Connections,
    },
}

/// How RPCs over TCP share connections. All connections are long-lived, with Nagle's delay off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Connections {
    /// One for each pair of client and server, with any number of RPCs in it at a time.
    Pipelined,
    /// As many as it takes for each to carry one RPC at a time.
    Pool,
}

/// A server: which host, and which of the servers on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Target {
    pub(crate) host: usize,
    pub(crate) server: u16,
}

/// What servers answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The request itself.
    Echo,
    /// As many bytes as the number in the request's first four bytes (big-endian) says.
    Sized,
}

/// What a host is told to do. It answers each order with one [`Reply`], in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Configure the link and open the sockets of the proof.
    SetUp { shape: RackShape, index: usize },
    /// Start servers and a client of a transport.
    Open { transport: Transport, servers: u16, answer: Answer },
    /// Make connections to these servers before they are needed.
    Connect { to: Vec<Target> },
    /// Stop what `Open` started.
    Close,
    /// Send and count packets of the proof.
    Flood(FloodOrder),
    /// Measure round trips of small packets of the proof.
    Ping(PingOrder),
    /// Measure round trips of RPCs one at a time: for each length for so long, but a few times at least.
    Idle { to: Target, lengths: Vec<u32>, nanos_each: u64 },
    /// Run the open-loop workload.
    Load(LoadOrder),
    /// Call all these servers at once, again and again; each request asks for `reply` bytes.
    Incast { servers: Vec<Target>, reply: u32, rounds: u32 },
    /// Begin to send a request of `length` bytes every `period` ns, whatever comes back.
    StartProbe { to: Target, length: u32, period: u64 },
    /// End it.
    StopProbe,
    /// Tell how much processor time was used.
    Usage,
}

/// Floods of the proof.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FloodOrder {
    /// To whom packets are sent as fast as the link takes them; `None`: only count.
    pub(crate) to: Option<usize>,
    /// When sending begins and ends, monotonic ns.
    pub(crate) from: u64,
    pub(crate) until: u64,
}

/// Small round trips of the proof.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PingOrder {
    pub(crate) to: usize,
    /// Whether the packets have the highest priority or the lowest.
    pub(crate) high: bool,
    /// When the first is sent, monotonic ns.
    pub(crate) from: u64,
    pub(crate) count: u32,
    /// Time between two, ns.
    pub(crate) period: u64,
}

/// How a host answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// Done, nothing to tell.
    Done,
    /// Failed, and why.
    Failed(String),
    /// Of [`Order::Flood`].
    Flooded {
        /// Packets of the flood received, and the time from the first to the last of them, ns.
        packets: u64,
        nanos: u64,
    },
    /// Of [`Order::Ping`] and [`Order::StopProbe`]: round trips, ns, and how many requests were not answered.
    RoundTrips { nanos: Vec<u64>, lost: u32 },
    /// Of [`Order::Idle`].
    Idle(BaseLine),
    /// Of [`Order::Load`].
    Load(Box<LoadReply>),
    /// Of [`Order::Incast`]: time of each round, ns.
    Rounds { nanos: Vec<u64> },
    /// Of [`Order::Usage`]: how long the host has run and how long it could have run but for want of a processor, ns.
    Usage { ran: u64, waited: u64 },
    /// Of [`Order::Close`]: what the transport did since it was opened.
    Closed(TransportCounters),
}

/// Result of the workload on one host.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LoadReply {
    /// What was recorded of the messages that were sent within the window.
    pub(crate) recorded: Recorded,
    /// Wire bytes of all RPCs that ended within the window: request and response.
    pub(crate) completed_wire_bytes: u64,
    /// Messages of the window that had no response when the run was over. They are in `recorded`, with the time so far.
    pub(crate) unfinished: u64,
    /// Messages of the window that ended with an error, and the first error.
    pub(crate) errors: u64,
    pub(crate) first_error: Option<String>,
    /// Most bytes seen in the host's own queue, and packets dropped there.
    pub(crate) host_queue_peak: u64,
    pub(crate) host_queue_drops: u64,
}

/// What a transport counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TransportCounters {
    /// Packets sent again.
    pub(crate) retransmitted_packets: u64,
    /// Connections opened by this host; 0 where the transport has none.
    pub(crate) connections: u64,
}
