use std::time::Duration;
use thiserror::Error;

/// How Homa packets are carried, which decides the space left in each for contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Inside UDP datagrams; several packets may share a datagram. A peer is an address and port.
    Udp,
    /// IP protocol 146, as the Linux module does. A peer is a host; ports are in the Homa header.
    Ip,
}

/// Everything about an [`Endpoint`](crate::Endpoint) that can be set, and every bound on its memory.
///
/// `Config::default()` suits a data-centre network; nothing needs to be set for a particular link rate,
/// which the endpoint measures.
#[derive(Clone, Debug)]
pub struct Config {
    /// How packets are carried.
    pub framing: Framing,
    /// MTU of the path to a peer until [`set_path_mtu`](crate::Endpoint::set_path_mtu) says otherwise; bytes of IP packet.
    pub mtu: usize,
    /// Longest message sent or accepted, bytes. The Linux module's limit is 1,000,000.
    pub max_message_len: u32,

    /// Unscheduled bytes toward a peer whose round trip has not been measured yet. Linux sends 40,000 always.
    pub unscheduled_start: u32,
    /// Fewest unscheduled bytes toward a measured peer.
    pub unscheduled_min: u32,
    /// Most unscheduled bytes toward a measured peer.
    pub unscheduled_max: u32,

    /// Incoming messages granted at the same time (degree of overcommitment, SIGCOMM'18 §3.5).
    pub overcommitment: usize,
    /// Most bytes granted and not yet received, over all incoming messages; bytes.
    pub max_incoming: u32,
    /// Share of granted bytes that goes to the oldest message instead of the shortest, per cent (0–50).
    pub grant_fifo_percent: u8,
    /// Share of sent bytes that goes to the oldest message instead of the shortest, per cent (0–50).
    pub send_fifo_percent: u8,

    /// Switch priority levels in use, 1–8. The highest of the eight are taken.
    pub priorities: u8,

    /// Whether requests are marked when many are outstanding, so that their responses start small (SIGCOMM'18 §3.6).
    pub incast_optimisation: bool,
    /// Outstanding requests from which on new ones are marked: by default, as many as could bring `max_incoming` bytes
    /// unscheduled.
    pub incast_threshold: usize,
    /// Unscheduled bytes of a response to a marked request.
    pub incast_unscheduled: u32,

    /// Deadline of a request that is sent without one; `None` waits as long as the server answers at all.
    pub default_deadline: Option<Duration>,
    /// A peer that owes us packets and has sent none for this long is dead.
    pub dead_after: Duration,
    /// Silence before the first RESEND to a peer whose round trip has not been measured yet.
    pub resend_start: Duration,
    /// Least silence before a RESEND.
    pub resend_min: Duration,
    /// Most silence between two RESENDs for one message, unless the measured round trip asks for more. The slowest link
    /// must bear a RESEND, about 100 bytes, for each outstanding RPC in this time.
    pub resend_max: Duration,

    /// Whether sending is paced so that the device queue stays short. Without a driver that reports the queue it has no
    /// effect.
    pub pacing: bool,

    /// Most requests that this endpoint has outstanding as a client.
    pub max_client_rpcs: usize,
    /// Most requests that this endpoint holds as a server, from the first packet to the ack of the response.
    pub max_server_rpcs: usize,
    /// Most peers remembered. One that has been idle makes room, but not within `dead_after` of its last request: late
    /// duplicates must not be executed again.
    pub max_peers: usize,
    /// Most bytes of incomplete incoming messages, over all of them, each counted with its whole length. Beyond it new
    /// ones are turned away for the time being; a message longer than this is refused for good.
    pub max_receive_buffer: usize,
    /// Most bytes of outgoing messages held: unsent, or kept for retransmission.
    pub max_send_buffer: usize,
    /// Most gaps tracked in one incoming message; a packet that would open another is discarded.
    pub max_gaps: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            framing: Framing::Udp,
            mtu: 1500,
            max_message_len: 256 << 20,
            unscheduled_start: 10_000,
            unscheduled_min: 3_000,
            unscheduled_max: 100_000,
            overcommitment: 8,
            max_incoming: 400_000,
            grant_fifo_percent: 5,
            send_fifo_percent: 20,
            priorities: 8,
            incast_optimisation: true,
            incast_threshold: 10,
            incast_unscheduled: 400,
            default_deadline: Some(Duration::from_secs(60)),
            dead_after: Duration::from_secs(3),
            resend_start: Duration::from_millis(5),
            resend_min: Duration::from_micros(500),
            resend_max: Duration::from_millis(200),
            pacing: true,
            max_client_rpcs: 200_000,
            max_server_rpcs: 200_000,
            max_peers: 20_000,
            max_receive_buffer: 1 << 30,
            max_send_buffer: 1 << 30,
            max_gaps: 256,
        }
    }
}

/// A setting outside what the protocol can do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{setting} is {value}: expected {expected}")]
pub struct ConfigError {
    /// Name of the field in [`Config`].
    pub setting: &'static str,
    /// What it was set to.
    pub value: u128,
    /// What would be accepted.
    pub expected: &'static str,
}

impl Config {
    /// Checks every setting.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let check = |setting, value: u128, ok, expected| {
            if ok { Ok(()) } else { Err(ConfigError { setting, value, expected }) }
        };
        check("mtu", self.mtu as u128, (200..=65_535).contains(&self.mtu), "200 to 65535 bytes")?;
        check("max_message_len", u128::from(self.max_message_len), self.max_message_len <= 1 << 30, "at most 1 GiB")?;
        for (setting, value) in [
            ("unscheduled_start", self.unscheduled_start),
            ("unscheduled_min", self.unscheduled_min),
            ("incast_unscheduled", self.incast_unscheduled),
        ] {
            check(setting, u128::from(value), value >= 1, "at least 1 byte: nothing is granted before something came")?;
        }
        check(
            "unscheduled_max",
            u128::from(self.unscheduled_max),
            self.unscheduled_min <= self.unscheduled_max,
            "at least unscheduled_min",
        )?;
        check("overcommitment", self.overcommitment as u128, (1..=64).contains(&self.overcommitment), "1 to 64")?;
        check("max_incoming", u128::from(self.max_incoming), self.max_incoming >= 2_000, "at least 2000 bytes")?;
        check("grant_fifo_percent", u128::from(self.grant_fifo_percent), self.grant_fifo_percent <= 50, "0 to 50")?;
        check("send_fifo_percent", u128::from(self.send_fifo_percent), self.send_fifo_percent <= 50, "0 to 50")?;
        check("priorities", u128::from(self.priorities), (1..=8).contains(&self.priorities), "1 to 8")?;
        check("resend_min", self.resend_min.as_nanos(), !self.resend_min.is_zero(), "more than zero")?;
        check(
            "resend_max",
            self.resend_max.as_nanos(),
            self.resend_max >= self.resend_min && self.resend_max <= self.dead_after,
            "between resend_min and dead_after",
        )?;
        for (setting, value) in [
            ("max_client_rpcs", self.max_client_rpcs),
            ("max_server_rpcs", self.max_server_rpcs),
            ("max_peers", self.max_peers),
        ] {
            check(setting, value as u128, (1..=1 << 24).contains(&value), "1 to 16777216")?;
        }
        check("max_gaps", self.max_gaps as u128, self.max_gaps >= 1, "at least 1")
    }
}
