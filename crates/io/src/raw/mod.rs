//! The driver for Homa directly over IP, protocol 146, which hosts with the Linux Homa module speak.
//!
//! Every endpoint has a raw socket of its own, on which the kernel runs a filter for the endpoint's Homa port. One socket
//! shared by all endpoints of a process would save the kernel a copy of the packet's descriptor for each further
//! endpoint, some 80 ns (`cargo run --release -p homarus --example raw_rtt`). But whichever endpoint read the shared
//! socket would find the others' packets, and would have to wake their threads, which takes microseconds; all of them
//! would wake for every packet; none could wait for its own socket with poll or epoll; and all would share one lock. A
//! service with so many ports that the copies cost more had better use fewer ports.

mod config;
mod filter;
mod frame;
mod port;

pub use config::{RawConfig, RawCounters};

use crate::socket::{Abilities, Channel, Settings, normalise};
use crate::{PacketIo, Received};
use frame::IpPacket;
pub(crate) use frame::{CHECKSUM, checksum};
use homarus_proto::Transmit;
use port::Port;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// Homa packets directly in IP packets of protocol 146, one in each.
///
/// The ports of its addresses are Homa ports, which have nothing to do with those of UDP. A port belongs to one endpoint
/// of a host (of a network namespace), whatever its local address, but IPv4 and IPv6 have ports of their own: an
/// endpoint speaks one of the two. While an endpoint is open, its host does not answer that protocol 146 is unreachable;
/// nothing at all answers for ports without an endpoint.
///
/// Between hosts that run homarus, prefer [`UdpIo`](crate::UdpIo): the kernel cuts and merges packets for UDP only, which
/// makes long messages several times as fast at an MTU of 1500. Short ones cost the same over both.
///
/// Checksums are written as the Linux module does and not checked, as its own are wrong wherever it leaves segmentation
/// to a device.
///
/// The socket does not block. It can be registered with poll, epoll or tokio's `AsyncFd` through `AsFd`.
pub struct RawIo {
    channel: Channel<IpPacket>,
    local: SocketAddr,
    /// Keeps others from taking it.
    _port: Port,
}

/// The number of Homa among IP's protocols.
pub(crate) const HOMA: i32 = 146;
/// IPv4 header.
const HEADERS: usize = 20;
/// As Linux sends them.
const TTL: u32 = 64;

impl RawIo {
    /// A socket on `addr`. Port 0 takes a free one from 32768 up, where the Linux module has its clients' ports; it
    /// has those of servers below.
    ///
    /// # Errors
    /// `PermissionDenied` without the capability CAP_NET_RAW, `InvalidInput` for an MTU out of range, `AddrInUse` if
    /// the port belongs to another endpoint of this host, else those of the system calls, foremost `AddrNotAvailable`.
    pub fn bind(addr: SocketAddr, config: RawConfig) -> io::Result<RawIo> {
        let addr = normalise(addr);
        let v6 = addr.is_ipv6();
        let settings = Settings {
            local: addr,
            can: Abilities::default(),
            headers: HEADERS,
            max_mtu: config.max_mtu,
            receive_buffer: config.receive_buffer,
            send_buffer: config.send_buffer,
        };
        settings.check()?;
        let kind = Type::RAW.nonblocking().cloexec();
        let socket = Socket::new(Domain::for_address(addr), kind, Some(Protocol::from(HOMA))).map_err(explain)?;
        let port = Port::take(addr.port(), v6)?;
        socket.attach_filter(&filter::for_port(port.number(), v6))?;
        socket.bind(&SocketAddr::new(addr.ip(), 0).into())?;
        if v6 {
            socket.set_unicast_hops_v6(TTL)?;
        } else {
            socket.set_ttl_v4(TTL)?;
        }
        let mut local = addr;
        local.set_port(port.number());
        let frame = IpPacket { v6, port: port.number() };
        Ok(RawIo { channel: Channel::new(socket, frame, &settings)?, local, _port: port })
    }

    /// What has been done so far.
    pub fn counters(&self) -> RawCounters {
        let counters = self.channel.counters();
        RawCounters {
            packets_sent: counters.packets_sent,
            packets_received: counters.datagrams_received,
            strays: counters.strays,
            oversized: counters.oversized,
            unroutable: counters.unroutable,
            dropped_locally: counters.dropped_locally,
            deferred_errors: counters.deferred_errors,
            reports_dropped: counters.reports_dropped,
        }
    }
}

fn explain(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return error;
    }
    let message = "Homa over IP takes a raw socket, for which this process lacks the capability CAP_NET_RAW: run it as \
                   root, or give its program the capability (sudo setcap cap_net_raw+ep PROGRAM), or use Homa over UDP";
    io::Error::new(error.kind(), message)
}

impl PacketIo for RawIo {
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

    /// From the kernel's route, at most [`RawConfig::max_mtu`].
    fn path_mtu(&self, peer: SocketAddr) -> usize {
        self.channel.path_mtu(peer)
    }

    fn receive_capacity(&self) -> u32 {
        self.channel.receive_capacity()
    }
}

impl AsFd for RawIo {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.socket().as_fd()
    }
}

impl AsRawFd for RawIo {
    fn as_raw_fd(&self) -> RawFd {
        self.channel.socket().as_raw_fd()
    }
}
