use crate::Error;
use foldhash::fast::RandomState;
use homarus_proto::Framing;
use std::collections::HashSet;
use std::net::{SocketAddr, SocketAddrV6};

/// The peers whose path MTU the core has been told.
pub(crate) struct KnownPeers {
    /// The one met last, which usually is the next one too.
    last: Option<SocketAddr>,
    all: HashSet<SocketAddr, RandomState>,
    limit: usize,
}

impl KnownPeers {
    pub(crate) fn new(limit: usize) -> Self {
        KnownPeers { last: None, all: HashSet::default(), limit }
    }

    /// Whether this peer is met for the first time, or again after so many others that the core may have
    /// forgotten it.
    pub(crate) fn is_new(&mut self, peer: SocketAddr) -> bool {
        if self.last == Some(peer) {
            return false;
        }
        self.last = Some(peer);
        if self.all.len() >= self.limit && !self.all.contains(&peer) {
            self.all.clear();
        }
        self.all.insert(peer)
    }

    /// See [`check`].
    pub(crate) fn check(&self, framing: Framing, local: SocketAddr, peer: SocketAddr) -> Result<SocketAddr, Error> {
        match self.last {
            Some(last) if last == peer => Ok(peer),
            _ => check(framing, local, peer),
        }
    }
}

/// The one form of `peer` that packets from it will bear, if a socket bound to `local` can send there.
pub(crate) fn check(framing: Framing, local: SocketAddr, peer: SocketAddr) -> Result<SocketAddr, Error> {
    let one_form = match peer {
        SocketAddr::V4(_) => peer,
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(ip) => SocketAddr::new(ip.into(), v6.port()),
            None => SocketAddrV6::new(*v6.ip(), v6.port(), 0, v6.scope_id()).into(),
        },
    };
    let why = if peer.port() == 0 {
        "port 0 belongs to nobody: give the server's port"
    } else if peer.ip().is_unspecified() {
        "the unspecified address belongs to nobody: give the server's own address"
    } else if one_form.is_ipv6() && local.is_ipv4() {
        "this endpoint is bound to an IPv4 address: bind to an IPv6 address such as [::]:0"
    } else if framing == Framing::Ip && one_form.is_ipv4() && local.is_ipv6() {
        "this endpoint speaks Homa over IPv6: bind another one to an IPv4 address such as homa://0.0.0.0:0"
    } else {
        return Ok(one_form);
    };
    Err(Error::Peer { peer, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(text: &str) -> SocketAddr {
        text.parse().expect("address")
    }

    #[test]
    fn a_peer_is_new_once() {
        let mut peers = KnownPeers::new(2);
        assert!(peers.is_new(addr("10.0.0.1:1")));
        assert!(!peers.is_new(addr("10.0.0.1:1")));
        assert!(peers.is_new(addr("10.0.0.2:1")));
        assert!(!peers.is_new(addr("10.0.0.1:1")));
    }

    #[test]
    fn the_set_is_bounded() {
        let mut peers = KnownPeers::new(2);
        for port in 1..100 {
            assert!(peers.is_new(SocketAddr::new([10, 0, 0, 1].into(), port)));
            assert!(peers.all.len() <= 2);
        }
    }

    #[test]
    fn addresses_that_cannot_work_are_refused() {
        let peers = KnownPeers::new(2);
        let v4 = addr("127.0.0.1:1");
        let v6 = addr("[::1]:1");
        assert!(peers.check(Framing::Udp, v4, addr("10.0.0.1:0")).is_err());
        assert!(peers.check(Framing::Udp, v4, addr("0.0.0.0:7")).is_err());
        assert!(peers.check(Framing::Udp, v4, addr("[::1]:7")).is_err());
        assert!(peers.check(Framing::Udp, v6, addr("[::1]:7")).is_ok());
        assert!(peers.check(Framing::Udp, v6, addr("127.0.0.1:7")).is_ok());
        assert!(peers.check(Framing::Ip, v6, addr("127.0.0.1:7")).is_err());
    }

    #[test]
    fn a_mapped_address_is_the_ipv4_peer() {
        let peers = KnownPeers::new(2);
        let mapped = peers.check(Framing::Udp, addr("127.0.0.1:1"), addr("[::ffff:10.0.0.1]:7"));
        assert_eq!(mapped.ok(), Some(addr("10.0.0.1:7")));
    }
}
