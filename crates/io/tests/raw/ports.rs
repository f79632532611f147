//! Several Homa ports on a host.

use crate::common::namespace::enter;
use crate::common::*;
use crate::{bind_port, post};
use homarus_io::{PacketIo, RawConfig, RawIo};
use std::io::ErrorKind;
use std::os::fd::AsRawFd;

/// Whether poll says that there is something to read.
fn is_readable(io: &RawIo) -> bool {
    let mut fd = libc::pollfd { fd: io.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one entry, which outlives the call.
    unsafe { libc::poll(&raw mut fd, 1, 0) == 1 }
}

fn each_port_has_its_packets(ip: &str) {
    let mut servers: Vec<_> = [1, 4000, 4001, 32_767].map(|port| bind_port(ip, port)).into();
    let mut client = bind_port(ip, 0);
    assert!(client.local_addr().port() >= 32_768);
    for at in 0..servers.len() {
        let to = servers[at].local_addr();
        post(&mut client, [short(to, 10 + at, 1)]);
        let items = recv_until(&mut servers[at], |items| !items.is_empty());
        assert!(matches!(&items[..], [Item::Datagram(from, bytes)]
            if *from == client.local_addr() && bytes.len() == 66 + at));
        assert!(!servers.iter().any(is_readable), "no other port is told");
    }
    post(&mut servers[1], [short(client.local_addr(), 5, 1)]);
    assert_eq!(recv_until(&mut client, |items| !items.is_empty()).len(), 1);
    for server in &mut servers {
        assert_eq!(recv_now(server), []);
        assert_eq!(server.counters().strays, 0);
    }
}

#[test]
fn packets_go_to_their_port_alone() {
    if enter("ports::packets_go_to_their_port_alone", "") {
        each_port_has_its_packets("127.0.0.1");
        each_port_has_its_packets("127.0.0.2");
        if have_ipv6() {
            each_port_has_its_packets("::1");
        }
    }
}

#[test]
fn a_wildcard_takes_packets_to_every_address() {
    if !enter("ports::a_wildcard_takes_packets_to_every_address", "") {
        return;
    }
    let (mut client, mut server) = (bind_port("0.0.0.0", 0), bind_port("0.0.0.0", 4000));
    for ip in ["127.0.0.1", "127.7.7.7"] {
        let to = std::net::SocketAddr::new(ip.parse().unwrap(), 4000);
        post(&mut client, [short(to, 10, 1)]);
        let items = recv_until(&mut server, |items| !items.is_empty());
        assert!(matches!(items[0], Item::Datagram(from, _) if from.port() == client.local_addr().port()));
    }
}

#[test]
fn a_port_belongs_to_one_endpoint() {
    if !enter("ports::a_port_belongs_to_one_endpoint", "") {
        return;
    }
    let first = bind_port("127.0.0.1", 4000);
    for ip in ["127.0.0.1", "127.0.0.2", "0.0.0.0"] {
        let error = RawIo::bind(format!("{ip}:4000").parse().unwrap(), RawConfig::default()).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(error.to_string().contains("Homa port 4000"), "{error}");
    }
    drop(first);
    bind_port("127.0.0.1", 4000);
}

#[test]
fn what_cannot_be_bound_is_an_error() {
    if !enter("ports::what_cannot_be_bound_is_an_error", "") {
        return;
    }
    let error = |addr: &str, config| RawIo::bind(addr.parse().unwrap(), config).err().unwrap().kind();
    assert_eq!(error("192.0.2.1:0", RawConfig::default()), ErrorKind::AddrNotAvailable);
    for max_mtu in [0, 199, 65_536] {
        assert_eq!(error("127.0.0.1:0", RawConfig { max_mtu, ..RawConfig::default() }), ErrorKind::InvalidInput);
    }
}

#[test]
fn without_the_capability_the_error_names_it() {
    let bound = std::thread::spawn(|| {
        // SAFETY: plain integers. The bare system call concerns this thread only, which loses root's capabilities, if
        // it had them.
        unsafe { libc::syscall(libc::SYS_setresuid, -1, 65_534, -1) };
        RawIo::bind("127.0.0.1:0".parse().unwrap(), RawConfig::default())
    });
    match bound.join().unwrap() {
        Ok(_) => println!("SKIPPED: this process has CAP_NET_RAW without being root"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            for part in ["CAP_NET_RAW", "setcap cap_net_raw+ep", "UDP"] {
                assert!(error.to_string().contains(part), "{error}");
            }
        }
    }
}
