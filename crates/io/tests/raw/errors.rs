//! What the network reports, between two hosts.

use crate::common::namespace::enter;
use crate::common::router::in_router;
use crate::common::*;
use crate::{between, bind_port, post};
use homarus_io::{PacketIo, RawConfig, RawIo};
use homarus_proto::Unreachable;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;

/// Two hosts and a link.
const PAIR: &str = "ip link add name near type veth peer name far netns $router
    ip addr add 10.77.0.1/24 dev near; ip addr add fd77::1/64 dev near nodad; ip link set near up
    nsenter --target $router --net sh -c '
        ip link set lo up; ip addr add 10.77.0.2/24 dev far; ip addr add fd77::2/64 dev far nodad; ip link set far up'";

const SERVER: &str = "10.77.0.2:4000";

/// The only report, at the endpoint that sent to `to`.
fn expect_report(io: &mut RawIo, other: &mut RawIo, to: SocketAddr, why: Unreachable) {
    assert_eq!(recv_until(io, |items| !items.is_empty()), [Item::Unreachable(to, why)]);
    assert_eq!(recv_now(other), [], "another endpoint of the host is not concerned");
}

#[test]
fn a_host_without_homa() {
    if !enter("errors::a_host_without_homa", PAIR) {
        return;
    }
    for (ip, to) in [("10.77.0.1", SERVER), ("0.0.0.0", SERVER), ("fd77::1", "[fd77::2]:4000"), ("::", "[fd77::2]:7")] {
        let to = to.parse().unwrap();
        let (mut io, mut other) = (bind_port(ip, 0), bind_port(ip, 0));
        post(&mut io, [short(to, 100, 1)]);
        expect_report(&mut io, &mut other, to, Unreachable::Protocol);
    }
}

#[test]
fn a_host_with_an_endpoint_is_silent_about_other_ports() {
    if !enter("errors::a_host_with_an_endpoint_is_silent_about_other_ports", PAIR) {
        return;
    }
    let (ready, bound) = std::sync::mpsc::channel();
    let server = in_router(move || {
        let mut io = bind_port("10.77.0.2", 4000);
        ready.send(()).unwrap();
        recv_until(&mut io, |items| !items.is_empty())
    });
    bound.recv().unwrap();
    let mut io = bind_port("10.77.0.1", 0);
    let (closed, open) = ("10.77.0.2:4001".parse().unwrap(), SERVER.parse().unwrap());
    post(&mut io, [short(closed, 1, 1), short(open, 2, 1)]);
    let items = server.join().unwrap();
    assert!(matches!(&items[..], [Item::Datagram(from, bytes)] if *from == io.local_addr() && bytes.len() == 58));
    assert_eq!(recv_now(&mut io), []);
}

/// Answers the next Homa packet that comes to the router with an ICMP error, as the Linux module does for a closed port.
fn refuse(code: u8) -> std::thread::JoinHandle<()> {
    let (ready, bound) = std::sync::mpsc::channel();
    let thread = in_router(move || {
        let mut homa = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(146))).unwrap();
        let icmp = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)).unwrap();
        ready.send(()).unwrap();
        homa.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut quoted = [0; 2048];
        let length = homa.read(&mut quoted).unwrap().min(548);
        let mut message = vec![3, code, 0, 0, 0, 0, 0, 0];
        message.extend_from_slice(&quoted[..length]);
        let sum = message
            .chunks(2)
            .fold(0_u32, |sum, pair| sum + (u32::from(pair[0]) << 8) + u32::from(*pair.get(1).unwrap_or(&0)));
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        icmp.send_to(&message, &SocketAddr::from(([10, 77, 0, 1], 0)).into()).unwrap();
    });
    bound.recv().unwrap();
    thread
}

#[test]
fn a_closed_port() {
    if !enter("errors::a_closed_port", PAIR) {
        return;
    }
    let to = SERVER.parse().unwrap();
    for (code, why) in
        [(3, Unreachable::Port), (2, Unreachable::Protocol), (1, Unreachable::Host), (13, Unreachable::Host)]
    {
        for ip in ["10.77.0.1", "0.0.0.0"] {
            let (mut io, mut other) = (bind_port(ip, 0), bind_port(ip, 0));
            let refusing = refuse(code);
            post(&mut io, [short(to, 1000, 1)]);
            refusing.join().unwrap();
            expect_report(&mut io, &mut other, to, why);
        }
    }
}

/// The error about each packet to the host without Homa makes a later call fail.
#[test]
fn errors_about_one_peer_lose_no_packet_of_another() {
    if !enter("errors::errors_about_one_peer_lose_no_packet_of_another", PAIR) {
        return;
    }
    let (mut io, mut peer) = (bind_port("0.0.0.0", 0), bind_port("127.0.0.1", 4000));
    let (good, dead) = (peer.local_addr(), SERVER.parse().unwrap());
    // The kernel answers a thousand times a second at most.
    for round in 0..20 {
        post(&mut io, (0..60).map(|at| short(if at % 3 == 0 { dead } else { good }, at, 1)));
        assert_eq!(recv_until(&mut peer, |items| items.len() >= 40).len(), 40, "round {round}");
    }
    let reports = recv_until(&mut io, |items| !items.is_empty());
    assert!(reports.iter().all(|item| *item == Item::Unreachable(dead, Unreachable::Protocol)), "{reports:?}");
    assert_eq!(io.counters().unroutable, 0);
}

#[test]
fn a_router_with_a_narrow_link() {
    let setup = "ip link add name near type veth peer name far netns $router
        ip addr add 10.77.0.1/24 dev near; ip link set near up; ip route add 10.77.1.0/24 via 10.77.0.2
        nsenter --target $router --net sh -c '
            ip link set lo up; ip addr add 10.77.0.2/24 dev far; ip link set far up
            ip link add name narrow type veth peer name end
            ip link set narrow mtu 1300 up; ip link set end up
            ip addr add 10.77.1.2/24 dev narrow; ip neigh add 10.77.1.9 lladdr 02:00:00:00:00:09 dev narrow
            echo 1 >/proc/sys/net/ipv4/ip_forward'";
    if !enter("errors::a_router_with_a_narrow_link", setup) {
        return;
    }
    let mut io = bind_port("10.77.0.1", 0);
    let to = "10.77.1.9:7".parse().unwrap();
    assert_eq!(io.path_mtu(to), 1500);
    let full = |mtu: usize| data(to, 2, 1_000_000, 5000, mtu - 20 - 56, 1);
    post(&mut io, [full(1500)]);
    assert_eq!(recv_until(&mut io, |items| !items.is_empty()), [Item::PathMtu(to, 1300)]);
    assert_eq!(io.path_mtu(to), 1300);
    assert_eq!(io.path_mtu(SERVER.parse().unwrap()), 1500);
    post(&mut io, [full(1500)]);
    assert_eq!(io.counters().oversized, 1);
    assert_eq!(recv_until(&mut io, |items| !items.is_empty()), [Item::PathMtu(to, 1300)]);
    post(&mut io, [full(1300)]);
    assert_eq!(io.counters().packets_sent, 2);
    assert_eq!(recv_now(&mut io), []);
}

#[test]
fn no_route() {
    if !enter("errors::no_route", "") {
        return;
    }
    let (mut io, mut peer) = (bind_port("0.0.0.0", 0), bind_port("127.0.0.1", 4000));
    let (to, nowhere, v6) = (peer.local_addr(), "10.77.9.9:7".parse().unwrap(), "[::1]:7".parse().unwrap());
    post(&mut io, [to, nowhere, v6, to].map(|to| short(to, 1, 1)));
    assert_eq!(recv_until(&mut peer, |items| items.len() == 2).len(), 2);
    let host = |peer| Item::Unreachable(peer, Unreachable::Host);
    assert_eq!(recv_now(&mut io), [host(nowhere), host(v6)]);
    assert_eq!(io.counters().unroutable, 2);
}

/// Packets to a neighbour that does not answer ARP wait in the kernel, charged to the socket, and are then given up.
#[test]
fn a_silent_neighbour() {
    if !enter("errors::a_silent_neighbour", PAIR) {
        return;
    }
    let config = RawConfig { send_buffer: 40_000, ..RawConfig::default() };
    let mut io = RawIo::bind("10.77.0.1:0".parse().unwrap(), config).unwrap();
    let to = "10.77.0.99:7".parse().unwrap();
    let batch: Vec<_> = (0..100).map(|id| between(1, data(to, 1, 1_000_000, 5000, 1424, id))).collect();
    let taken = io.send(&batch).unwrap();
    assert!((10..100).contains(&taken), "{taken} packets filled the socket");
    assert_eq!(io.send(&batch[taken..]).unwrap(), 0);
    let (queued, sent) = (io.device_queue().unwrap() as usize, taken * 1500);
    assert!((sent * 2 / 3..sent * 3 / 2).contains(&queued), "{queued} bytes queued of {sent}");
    // Those packets said that they come from port 1, so that nobody is told; this one is the endpoint's own.
    recv_now(&mut io);
    let start = std::time::Instant::now();
    while io.device_queue() != Some(0) {
        assert!(start.elapsed() < HANG);
        recv_now(&mut io);
    }
    post(&mut io, [short(to, 1, 1)]);
    assert_eq!(recv_until(&mut io, |items| !items.is_empty()), [Item::Unreachable(to, Unreachable::Host)]);
}
