use super::sys;
use socket2::{Domain, Socket, Type};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The paths to hosts, as the kernel knows them.
#[derive(Debug)]
pub(crate) struct Paths {
    /// Address that packets leave from, if the endpoint is bound to one.
    source: Option<IpAddr>,
    max_mtu: usize,
    known: RefCell<HashMap<IpAddr, (Path, Instant)>>,
}

/// What is known of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// Bytes of IP packet that it takes.
    pub(crate) mtu: usize,
    /// Address that packets leave from, if there is a way.
    pub(crate) source: Option<IpAddr>,
}

/// Most hosts remembered; at the bound all are forgotten, at the cost of some microseconds each to ask again.
const MAX_HOSTS: usize = 16_384;
/// Time after which the kernel is asked again: routes change, and the kernel itself forgets what ICMP told it
/// after 10 minutes.
const LIFETIME: Duration = Duration::from_secs(10);
/// Assumed when the kernel knows no way to a host, bytes: Ethernet's.
const UNKNOWN: usize = 1500;
/// Least that is believed, bytes: what every IPv4 host must accept.
const LEAST: usize = 576;

impl Paths {
    pub(crate) fn new(local: SocketAddr, max_mtu: usize) -> Paths {
        let source = Some(local.ip()).filter(|ip| !ip.is_unspecified());
        Paths { source, max_mtu, known: RefCell::default() }
    }

    /// The path to `peer`, which has been normalised.
    pub(crate) fn get(&self, peer: SocketAddr) -> Path {
        let now = Instant::now();
        let mut known = self.known.borrow_mut();
        if let Some((path, asked)) = known.get(&peer.ip())
            && now.duration_since(*asked) < LIFETIME
        {
            return *path;
        }
        let (mtu, source) = self.ask(peer).unwrap_or((UNKNOWN, self.source));
        let path = Path { mtu: mtu.max(LEAST).min(self.max_mtu), source };
        if known.len() >= MAX_HOSTS {
            known.clear();
        }
        known.insert(peer.ip(), (path, now));
        path
    }

    /// Asks the kernel anew, as after it has learned something.
    pub(crate) fn renew(&self, peer: SocketAddr) -> Path {
        self.known.borrow_mut().remove(&peer.ip());
        self.get(peer)
    }

    /// Connecting a UDP socket sends nothing: it only looks up the route.
    fn ask(&self, peer: SocketAddr) -> io::Result<(usize, Option<IpAddr>)> {
        let probe = Socket::new(Domain::for_address(peer), Type::DGRAM.cloexec(), None)?;
        if let Some(source) = self.source.filter(|ip| ip.is_ipv4() == peer.is_ipv4()) {
            probe.bind(&SocketAddr::new(source, 0).into())?;
        }
        probe.connect(&peer.into())?;
        let mtu = if peer.is_ipv4() {
            sys::get_option(probe.as_fd(), libc::IPPROTO_IP, libc::IP_MTU)?
        } else {
            sys::get_option(probe.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_MTU)?
        };
        let source = probe.local_addr()?.as_socket().map(|source| source.ip());
        Ok((usize::try_from(mtu).map_err(io::Error::other)?, source))
    }
}
