/// How a [`UdpIo`](crate::UdpIo) is set up.
#[derive(Clone, Debug)]
pub struct UdpConfig {
    /// Whether runs of packets of equal length go to the kernel as one (UDP_SEGMENT, Linux 4.18).
    pub gso: bool,
    /// Whether the kernel may hand up several datagrams of one sender as one (UDP_GRO, Linux 5.0).
    pub gro: bool,
    /// Whether several short packets to one peer share a datagram. Every Homa endpoint splits them again.
    pub coalesce: bool,
    /// Largest MTU used, bytes of IP packet, however much more the route allows; 200 to 65,535.
    pub max_mtu: usize,
    /// Receive buffer asked for, bytes of the kernel's accounting (SO_RCVBUF). Without privilege the kernel gives
    /// no more than `net.core.rmem_max`.
    pub receive_buffer: usize,
    /// Send buffer asked for, bytes of the kernel's accounting (SO_SNDBUF). Bounds what waits in this host's own
    /// device queue. Without privilege the kernel gives no more than `net.core.wmem_max`.
    pub send_buffer: usize,
}

impl Default for UdpConfig {
    fn default() -> Self {
        UdpConfig {
            gso: true,
            gro: true,
            coalesce: true,
            max_mtu: 65_535,
            receive_buffer: 8 << 20,
            send_buffer: 1 << 20,
        }
    }
}

/// What a [`UdpIo`](crate::UdpIo) has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpCounters {
    /// Homa packets given to the kernel.
    pub packets_sent: u64,
    /// Entries given to the kernel: each is one pass through its stack, with one or many packets.
    pub entries_sent: u64,
    /// Of these, entries that the kernel or the device was left to cut into several datagrams.
    pub segmented_entries: u64,
    /// Datagrams handed up.
    pub datagrams_received: u64,
    /// Receptions that the kernel had put together from several datagrams.
    pub coalesced_receptions: u64,
    /// Times that the kernel refused UDP_SEGMENT; after the first it is not used again.
    pub gso_refused: u64,
    /// Whether the kernel refused UDP_GRO: 0 or 1.
    pub gro_refused: u64,
    /// Packets dropped because they exceed the path's MTU (reported as `Received::PathMtu`).
    pub oversized: u64,
    /// Packets dropped because there is no way to their peer (reported as `Received::Unreachable`).
    pub unroutable: u64,
    /// Packets that this host itself dropped: full device queue, no memory, firewall.
    pub dropped_locally: u64,
    /// Errors about packets sent earlier that surfaced in a later system call, which was then repeated.
    pub deferred_errors: u64,
    /// Reports from the network that were dropped because nobody read them.
    pub reports_dropped: u64,
}
