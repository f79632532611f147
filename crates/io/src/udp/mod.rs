//! The UDP driver.
//!
//! What costs is each pass through the kernel's stack, so packets to one peer travel together wherever the wire
//! allows it.

mod config;
mod frame;

pub use config::{UdpConfig, UdpCounters};

use crate::socket::{Abilities, Channel, Settings, normalise, sys};
use crate::{PacketIo, Received};
use frame::Datagram;
use homarus_proto::Transmit;
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// Homa packets in UDP datagrams.
///
/// The socket does not block. It can be registered with poll, epoll or tokio's `AsyncFd` through `AsFd`.
pub struct UdpIo {
    channel: Channel<Datagram>,
    local: SocketAddr,
    gro: bool,
    /// Whether the kernel refused an offload from the start: 0 or 1.
    gso_refused: u64,
    gro_refused: u64,
}

/// IPv4 and UDP header.
const HEADERS: usize = 28;

impl UdpIo {
    /// A socket on `addr`. Port 0 lets the kernel choose; the IPv6 unspecified address takes IPv4 peers too.
    ///
    /// # Errors
    /// `InvalidInput` for an MTU out of range; else those of the system calls, foremost `AddrInUse`,
    /// `AddrNotAvailable` and `PermissionDenied` of bind.
    pub fn bind(addr: SocketAddr, config: UdpConfig) -> io::Result<UdpIo> {
        let addr = normalise(addr);
        let v6 = addr.is_ipv6();
        let mut settings = Settings {
            local: addr,
            can: Abilities { gso: config.gso, coalesce: config.coalesce },
            headers: HEADERS,
            max_mtu: config.max_mtu,
            receive_buffer: config.receive_buffer,
            send_buffer: config.send_buffer,
        };
        settings.check()?;
        let socket = Socket::new(Domain::for_address(addr), Type::DGRAM.nonblocking().cloexec(), None)?;
        if v6 && addr.ip().is_unspecified() {
            socket.set_only_v6(false)?;
        }
        socket.bind(&addr.into())?;
        let local = socket.local_addr()?.as_socket().map(normalise).ok_or(io::ErrorKind::Unsupported)?;
        let gro = config.gro && sys::set_option(socket.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 1).is_ok();
        settings.can.gso = config.gso && sys::get_option(socket.as_fd(), libc::SOL_UDP, libc::UDP_SEGMENT).is_ok();
        Ok(UdpIo {
            local,
            gro,
            gso_refused: u64::from(config.gso && !settings.can.gso),
            gro_refused: u64::from(config.gro && !gro),
            channel: Channel::new(socket, Datagram { v6 }, &settings)?,
        })
    }

    /// What has been done so far.
    pub fn counters(&self) -> UdpCounters {
        let counters = self.channel.counters();
        UdpCounters {
            packets_sent: counters.packets_sent,
            entries_sent: counters.entries_sent,
            segmented_entries: counters.segmented_entries,
            datagrams_received: counters.datagrams_received,
            coalesced_receptions: counters.coalesced_receptions,
            gso_refused: counters.gso_refused + self.gso_refused,
            gro_refused: self.gro_refused,
            oversized: counters.oversized,
            unroutable: counters.unroutable,
            dropped_locally: counters.dropped_locally,
            deferred_errors: counters.deferred_errors,
            reports_dropped: counters.reports_dropped,
        }
    }

    /// Whether UDP_SEGMENT is in use: asked for, and not refused so far.
    pub fn uses_gso(&self) -> bool {
        self.channel.uses_gso()
    }

    /// Whether UDP_GRO is in use: asked for, and not refused.
    pub fn uses_gro(&self) -> bool {
        self.gro
    }
}

impl PacketIo for UdpIo {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn send(&mut self, batch: &[Transmit]) -> io::Result<usize> {
        self.channel.send(batch)
    }

    /// Reports come after the packets that wait: a peer that answers and is gone at once has answered.
    fn recv(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> io::Result<usize> {
        self.channel.recv(sink)
    }

    /// From SIOCOUTQ, scaled from the kernel's charges for memory to bytes of IP packets. Loopback and an idle veth
    /// deliver at once: 0.
    fn device_queue(&self) -> Option<u64> {
        self.channel.device_queue()
    }

    /// From the kernel's route, at most [`UdpConfig::max_mtu`].
    fn path_mtu(&self, peer: SocketAddr) -> usize {
        self.channel.path_mtu(peer)
    }

    fn receive_capacity(&self) -> u32 {
        self.channel.receive_capacity()
    }
}

impl AsFd for UdpIo {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.socket().as_fd()
    }
}

impl AsRawFd for UdpIo {
    fn as_raw_fd(&self) -> RawFd {
        self.channel.socket().as_raw_fd()
    }
}
