use super::sys;
use socket2::{Domain, Socket, Type};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// MTUs of the paths to hosts, as the kernel knows them.
#[derive(Debug)]
pub(super) struct PathMtus {
    /// Address that packets leave from, if the endpoint is bound to one.
    source: Option<IpAddr>,
    max_mtu: usize,
    known: RefCell<HashMap<IpAddr, (usize, Instant)>>,
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

impl PathMtus {
    pub(super) fn new(local: SocketAddr, max_mtu: usize) -> PathMtus {
        let source = Some(local.ip()).filter(|ip| !ip.is_unspecified());
        PathMtus { source, max_mtu, known: RefCell::default() }
    }

    /// Bytes of IP packet on the path to `peer`, which has been normalised.
    pub(super) fn get(&self, peer: SocketAddr) -> usize {
        let now = Instant::now();
        let mut known = self.known.borrow_mut();
        if let Some((mtu, asked)) = known.get(&peer.ip())
            && now.duration_since(*asked) < LIFETIME
        {
            return *mtu;
        }
        let mtu = self.ask(peer).unwrap_or(UNKNOWN).max(LEAST).min(self.max_mtu);
        if known.len() >= MAX_HOSTS {
            known.clear();
        }
        known.insert(peer.ip(), (mtu, now));
        mtu
    }

    /// Asks the kernel anew, as after it has learned something.
    pub(super) fn renew(&self, peer: SocketAddr) -> usize {
        self.known.borrow_mut().remove(&peer.ip());
        self.get(peer)
    }

    /// Connecting a UDP socket sends nothing: it only looks up the route.
    fn ask(&self, peer: SocketAddr) -> io::Result<usize> {
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
        usize::try_from(mtu).map_err(io::Error::other)
    }
}
