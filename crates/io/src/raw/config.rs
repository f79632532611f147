/// How a [`RawIo`](crate::RawIo) is set up.
#[derive(Clone, Debug)]
pub struct RawConfig {
    /// Largest MTU used, bytes of IP packet, however much more the route allows; 200 to 65,535.
    pub max_mtu: usize,
    /// Receive buffer asked for, bytes of the kernel's accounting (SO_RCVBUF). Without CAP_NET_ADMIN the kernel gives
    /// no more than `net.core.rmem_max`.
    pub receive_buffer: usize,
    /// Send buffer asked for, bytes of the kernel's accounting (SO_SNDBUF). Bounds what waits in this host's own
    /// device queue; the kernel lets raw sockets exceed it by as much again. Without CAP_NET_ADMIN the kernel gives no more than `net.core.wmem_max`.
    pub send_buffer: usize,
}

impl Default for RawConfig {
    fn default() -> Self {
        RawConfig { max_mtu: 65_535, receive_buffer: 8 << 20, send_buffer: 1 << 20 }
    }
}

/// What a [`RawIo`](crate::RawIo) has done since it was made, in packets where nothing else is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawCounters {
    /// Given to the kernel.
    pub packets_sent: u64,
    /// Handed up.
    pub packets_received: u64,
    /// Received and dropped because they are no whole IP packets or for another port: what came before the socket was
    /// set up.
    pub strays: u64,
    /// Dropped because they exceed the path's MTU (reported as `Received::PathMtu`).
    pub oversized: u64,
    /// Dropped because there is no way to their peer (reported as `Received::Unreachable`).
    pub unroutable: u64,
    /// Dropped by this host itself: full device queue, no memory, firewall.
    pub dropped_locally: u64,
    /// Errors about packets sent earlier, by this endpoint or another one on this host, that surfaced in a later
    /// system call, which was then repeated.
    pub deferred_errors: u64,
    /// Reports from the network that were dropped because nobody read them.
    pub reports_dropped: u64,
}
