use crate::Time;

/// What all hosts of a cluster that run TCP share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpSetup {
    /// How the window grows and shrinks.
    pub congestion: Congestion,
    /// Which connection a message takes.
    pub connections: Connections,
    /// Most bytes in a segment. 1,448: an MTU of 1,500 without the headers below.
    pub mss: u32,
    /// Bytes of IP and TCP headers with the options that each segment carries. 52: 20, 20, and 12 of timestamps, which
    /// Linux sends by default (RFC 7323). Selective acknowledgements come on top.
    pub headers: u32,
    /// Segments that a connection may send at first: 10 (RFC 6928).
    pub initial_window: u32,
    /// Most bytes under way for the receiver's sake; the application reads at once. 6 MiB: Linux's largest receive buffer
    /// (`tcp_rmem`).
    pub receive_window: u32,
    /// Least time without acknowledgement until all that is under way counts as lost. 200 ms: Linux (`TCP_RTO_MIN`); RFC
    /// 6298 asks for 1 s; 200 µs to 10 ms in tuned data centres. Also taken before the first measurement, which the
    /// handshake would have given.
    pub minimum_rto: Time,
    /// Most time until then, however often it was in vain: 120 s (Linux, `TCP_RTO_MAX`; RFC 6298 allows 60 s and more).
    pub maximum_rto: Time,
    /// How long the acknowledgement of a single segment waits for a second one, or for data that travels the same way:
    /// 40 ms (Linux, `TCP_DELACK_MIN`; RFC 1122 allows 500 ms). With a longer time than `minimum_rto`, segments count as lost
    /// whose acknowledgement is only late. `None`: every segment is acknowledged at once.
    pub delayed_ack: Option<Time>,
    /// Whether the end of a message that is not answered is acknowledged at once, as Linux does when the application has
    /// read all that was pushed and the connection is not an interactive one.
    pub ack_at_end: bool,
    /// Whether a window that stood idle for a retransmission timeout is halved for each such time, down to the initial
    /// window. Linux's default (`tcp_slow_start_after_idle`; RFC 5681 §4.1).
    pub slow_start_after_idle: bool,
    /// Whether CUBIC's slow start may end before a loss. Linux's default (`hystart`; RFC 9438 §4.10 advises it).
    pub hystart: bool,
    /// Whether switches may mark segments, and marks are echoed. Linux's default is to ask for it only when the other side
    /// does (`tcp_ecn` = 2), so that plain TCP has none; DCTCP needs it.
    pub ecn: bool,
    /// Whether the end of a window that stays unacknowledged is probed before the timeout (RFC 8985 §7). Linux's default.
    pub tail_loss_probe: bool,
    /// What a probe waits for beyond two round trips: 2 ms, Linux's least timer (`TCP_TIMEOUT_MIN`, two ticks of 1 ms). With
    /// a single segment under way it also waits for a delayed acknowledgement.
    pub probe_margin: Time,
    /// In which order a host's connections send.
    pub qdisc: Qdisc,
}

/// How the congestion window grows and shrinks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Congestion {
    /// One segment a round trip; half after a loss (RFC 5681).
    Reno,
    /// RFC 9438, the default nearly everywhere.
    Cubic,
    /// RFC 8257. `g` is the weight of the latest round trip in the estimate of marks: 1/16.
    Dctcp {
        /// Weight of the latest round trip, 0 to 1.
        g: f64,
    },
}

/// Which connection a message takes. Connections are open from the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// One from each host to each other, on which messages follow one another: a short one waits for the long one before
    /// it. Responses come back on the connection of their request.
    Pipelined,
    /// One that has nothing under way: each carries one message, or request and response, at a time.
    Pool {
        /// Most connections from a host to another; messages wait for one. `None`: without bounds.
        most: Option<u32>,
    },
}

/// In which order a host's connections send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qdisc {
    /// First come, first served, acknowledgements too (`pfifo_fast`). Each connection keeps up to a millisecond of its own
    /// data in the host's queue (TCP small queues), behind which all others wait.
    Fifo,
    /// Connections take turns, a segment each, and acknowledgements go first (`fq`).
    Fair,
}

impl TcpSetup {
    /// Linux as it comes: cubic, one connection from each host to each other.
    pub const LINUX: TcpSetup = TcpSetup {
        congestion: Congestion::Cubic,
        connections: Connections::Pipelined,
        mss: 1_448,
        headers: 52,
        initial_window: 10,
        receive_window: 6 << 20,
        minimum_rto: Time::from_micros(200_000),
        maximum_rto: Time::from_micros(120_000_000),
        delayed_ack: Some(Time::from_micros(40_000)),
        ack_at_end: true,
        slow_start_after_idle: true,
        hystart: true,
        ecn: false,
        tail_loss_probe: true,
        probe_margin: Time::from_micros(2_000),
        qdisc: Qdisc::Fair,
    };

    /// The wire bytes of the frames of a message that is sent alone.
    pub fn frames(&self, length: u32) -> impl Iterator<Item = u32> + use<> {
        let (mss, headers) = (self.mss, self.headers);
        let length = length.max(1);
        (0..length.div_ceil(mss)).map(move |segment| super::segment::frame(headers, mss.min(length - segment * mss)))
    }
}

impl Default for TcpSetup {
    fn default() -> TcpSetup {
        TcpSetup::LINUX
    }
}
