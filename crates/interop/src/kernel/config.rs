use std::net::IpAddr;
use std::time::Duration;

/// Bytes of a message that are sent without grants.
pub const UNSCHEDULED: u32 = 40_000;
/// Longest message.
pub const MAX_MESSAGE: u32 = 1_000_000;
/// Bytes granted and not received, over all messages; also what windows are shares of.
pub const MAX_INCOMING: u32 = 400_000;
/// Messages granted at the same time.
pub const OVERCOMMITMENT: usize = 8;
/// Highest priority of scheduled bytes.
pub const MAX_SCHEDULED_PRIORITY: u8 = 3;
/// Bytes of one grant to the oldest message, and its priority.
pub const FIFO_INCREMENT: u32 = 50_000;
/// Priority of such a grant.
pub const FIFO_PRIORITY: u8 = 6;
/// Share of granted bytes that goes to the oldest message, per cent.
pub const FIFO_PERCENT: u32 = 5;
/// Length of a tick.
pub const TICK: Duration = Duration::from_millis(1);
/// Silent ticks before the first RESEND, and between two.
pub const RESEND_TICKS: u32 = 5;
/// Silent ticks after which an RPC is given up.
pub const TIMEOUT_TICKS: u32 = 100;
/// Ticks between the last byte of a response and the first NEED_ACK.
pub const ACK_TICKS: u32 = 2;
/// Acks that wait for a packet to ride on.
pub const WAITING_ACKS: usize = 5;
/// Priority of control packets.
pub const CONTROL_PRIORITY: u8 = 7;
/// Priority of unscheduled bytes to a peer whose cutoffs are not known.
pub const FIRST_PRIORITY: u8 = 6;
/// Time in which a peer is told the cutoffs once.
pub const JIFFY: Duration = Duration::from_millis(4);
/// For each priority the longest message whose unscheduled bytes use it, and the version of this.
pub const CUTOFFS: ([u32; 8], u16) = ([0, 0, 0, 0, 1_000_000, 15_000, 2_800, 200], 1);

/// Where first transmissions say which part of the message they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In `sequence`; the segment offset is −1.
    Implicit,
    /// In the segment offset, as well as in `sequence`.
    Explicit,
    /// So many segments are cut from one large packet: `sequence` is the first one's offset in all of them, and all
    /// repeat its ack.
    Segmented(usize),
}

/// What the fields hold that look like TCP's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dress {
    /// What the module puts there, and a checksum.
    Linux,
    /// Zeros, which the module accepts.
    Zero,
}

/// How a modelled host is set up.
#[derive(Clone, Debug)]
pub struct KernelConfig {
    /// Its addresses; requests leave from the first.
    pub addresses: Vec<IpAddr>,
    /// Whether what it sends as a server leaves from the first address, too, whichever was addressed.
    pub answers_from_first: bool,
    /// Port of its only client socket.
    pub client_port: u16,
    /// Ports of its server sockets.
    pub server_ports: Vec<u16>,
    /// MTU of its link, bytes.
    pub mtu: u32,
    /// How first transmissions look.
    pub form: Form,
    /// How the fields look that look like TCP's.
    pub dress: Dress,
    /// Cutoffs and their version.
    pub cutoffs: ([u32; 8], u16),
    /// CUTOFFS packets that come instead of one: packets wait on several cores, and each core sends its own.
    pub cutoffs_burst: u32,
    /// Whether a closed port is reported only when a RESEND comes for it.
    pub late_icmp: bool,
}

impl KernelConfig {
    /// A host with the module's defaults, one address, and a server at port 4000.
    pub fn new(address: IpAddr) -> KernelConfig {
        KernelConfig {
            addresses: vec![address],
            answers_from_first: true,
            client_port: 32_768,
            server_ports: vec![4_000],
            mtu: 1_500,
            form: Form::Implicit,
            dress: Dress::Linux,
            cutoffs: CUTOFFS,
            cutoffs_burst: 1,
            late_icmp: true,
        }
    }
}
