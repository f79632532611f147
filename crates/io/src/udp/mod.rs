//! The UDP driver.
//!
//! What costs is each pass through the kernel's stack, so packets to one peer travel together wherever the wire
//! allows it: `plan` decides which, `outbox` and `inbox` make the system calls, `send` deals with refusals,
//! `reports` reads what ICMP says, `mtu` knows the paths, `truesize` the kernel's accounting, `setup` and `sys` the
//! socket's options.

mod address;
mod config;
mod inbox;
mod mtu;
mod outbox;
mod plan;
mod reports;
mod send;
mod setup;
mod sys;
mod truesize;

pub use config::{UdpConfig, UdpCounters};

use crate::{PacketIo, Received};
use address::normalise;
use homarus_proto::Transmit;
use inbox::{Inbox, Reception};
use mtu::PathMtus;
use outbox::Outbox;
use plan::Entry;
use reports::{Report, Reports, may_be_deferred};
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use truesize::Truesize;

/// Homa packets in UDP datagrams.
///
/// The socket does not block. It can be registered with poll, epoll or tokio's `AsyncFd` through `AsFd`.
pub struct UdpIo {
    socket: Socket,
    local: SocketAddr,
    v6: bool,
    config: UdpConfig,
    gso: bool,
    gro: bool,
    receive_capacity: u32,
    entries: Vec<Entry>,
    outbox: Outbox,
    inbox: Inbox,
    reports: Reports,
    mtus: PathMtus,
    truesize: Truesize,
    counters: UdpCounters,
}

impl UdpIo {
    /// A socket on `addr`. Port 0 lets the kernel choose; the IPv6 unspecified address takes IPv4 peers too.
    ///
    /// # Errors
    /// `InvalidInput` for an MTU out of range; else those of the system calls, foremost `AddrInUse`,
    /// `AddrNotAvailable` and `PermissionDenied` of bind.
    pub fn bind(addr: SocketAddr, config: UdpConfig) -> io::Result<UdpIo> {
        if !(200..=65_535).contains(&config.max_mtu) {
            let message = format!("max_mtu is {}: expected 200 to 65535 bytes", config.max_mtu);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let addr = normalise(addr);
        let v6 = addr.is_ipv6();
        let socket = Socket::new(Domain::for_address(addr), Type::DGRAM.nonblocking().cloexec(), None)?;
        if v6 && addr.ip().is_unspecified() {
            socket.set_only_v6(false)?;
        }
        socket.bind(&addr.into())?;
        let local = socket.local_addr()?.as_socket().map(normalise).ok_or(io::ErrorKind::Unsupported)?;
        let fd = socket.as_fd();
        setup::report_errors_and_forbid_fragments(fd, v6)?;
        let receive_buffer = setup::grow_buffer(fd, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, config.receive_buffer)?;
        setup::grow_buffer(fd, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, config.send_buffer)?;
        let default_tos = setup::set_default_tos(fd, v6).is_ok().then_some(setup::DEFAULT_TOS);
        let mut counters = UdpCounters::default();
        let gro = config.gro && sys::set_option(fd, libc::SOL_UDP, libc::UDP_GRO, 1).is_ok();
        counters.gro_refused = u64::from(config.gro && !gro);
        let gso = config.gso && sys::get_option(fd, libc::SOL_UDP, libc::UDP_SEGMENT).is_ok();
        counters.gso_refused = u64::from(config.gso && !gso);
        Ok(UdpIo {
            local,
            v6,
            gso,
            gro,
            receive_capacity: setup::receive_capacity(receive_buffer),
            entries: Vec::with_capacity(outbox::MAX_ENTRIES),
            outbox: Outbox::new(default_tos),
            inbox: Inbox::new(),
            reports: Reports::default(),
            mtus: PathMtus::new(local, config.max_mtu),
            truesize: Truesize::new(),
            counters,
            config,
            socket,
        })
    }

    /// What has been done so far.
    pub fn counters(&self) -> UdpCounters {
        UdpCounters { reports_dropped: self.reports.dropped, ..self.counters }
    }

    /// Whether UDP_SEGMENT is in use: asked for, and not refused so far.
    pub fn uses_gso(&self) -> bool {
        self.gso
    }

    /// Whether UDP_GRO is in use: asked for, and not refused.
    pub fn uses_gro(&self) -> bool {
        self.gro
    }

    /// Hands up the reports that wait, and returns how many there were.
    fn hand_up_reports(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> usize {
        let mut count = 0;
        while let Some(report) = self.reports.pop() {
            sink(match report {
                Report::Unreachable(peer, why) => Received::Unreachable { peer, why },
                Report::TooLarge(peer) => Received::PathMtu { peer, mtu: self.mtus.renew(peer) },
            });
            count += 1;
        }
        count
    }
}

impl PacketIo for UdpIo {
    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn send(&mut self, batch: &[Transmit]) -> io::Result<usize> {
        self.send_batch(batch)
    }

    /// Reports come after the packets that wait: a peer that answers and is gone at once has answered.
    fn recv(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> io::Result<usize> {
        let mut items = 0;
        // A deferred error stands before the packets; each is cleared by being returned.
        for _ in 0..MAX_READS {
            let counters = &mut self.counters;
            let result = self.inbox.receive(self.socket.as_fd(), |reception| {
                items += hand_up(&reception, counters, sink);
            });
            match result.map_err(|error| (error.raw_os_error(), error)) {
                Ok(_) if self.reports.is_empty() => return Ok(items),
                Ok(_) => {}
                Err((Some(libc::EAGAIN), _)) => break,
                Err((Some(libc::EINTR), _)) => {}
                Err((Some(errno), _)) if may_be_deferred(errno) => {
                    self.counters.deferred_errors += 1;
                    self.reports.read_from(self.socket.as_fd());
                }
                Err((_, error)) => return Err(error),
            }
        }
        Ok(items + self.hand_up_reports(sink))
    }

    /// From SIOCOUTQ, scaled from the kernel's charges for memory to bytes of IP packets. Loopback and an idle veth
    /// deliver at once: 0.
    fn device_queue(&self) -> Option<u64> {
        let charge = sys::send_buffer_charge(self.socket.as_fd()).ok()?;
        Some(self.truesize.packets_in(charge))
    }

    /// From the kernel's route, at most [`UdpConfig::max_mtu`].
    fn path_mtu(&self, peer: SocketAddr) -> usize {
        self.mtus.get(normalise(peer))
    }

    fn receive_capacity(&self) -> u32 {
        self.receive_capacity
    }
}

impl AsFd for UdpIo {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for UdpIo {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// Times that one `recv` reads on after an error about packets sent earlier, or to see what waits before the reports.
const MAX_READS: usize = 64;

/// Hands up each datagram of a reception, and returns how many there were.
fn hand_up(reception: &Reception<'_>, counters: &mut UdpCounters, sink: &mut dyn FnMut(Received<'_>)) -> usize {
    let Reception { from, bytes, segment } = *reception;
    if bytes.len() <= segment {
        counters.datagrams_received += 1;
        sink(Received::Datagram { from, bytes });
        return 1;
    }
    let mut count = 0;
    for bytes in bytes.chunks(segment) {
        sink(Received::Datagram { from, bytes });
        count += 1;
    }
    counters.coalesced_receptions += 1;
    counters.datagrams_received += count as u64;
    count
}
