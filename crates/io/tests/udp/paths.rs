//! Paths that change, end, or lead nowhere.

use crate::common::namespace::{enter, shell};
use crate::common::*;
use homarus_io::{PacketIo, UdpConfig};
use homarus_proto::{Transmit, Unreachable};
use std::net::SocketAddr;

/// A DATA packet that fills an IP packet of `mtu` bytes, in the middle of a long message.
fn full(to: SocketAddr, mtu: usize, id: u64) -> Transmit {
    let headers = if to.is_ipv4() { 28 } else { 48 };
    data(to, 2, 1_000_000, 5000, mtu - headers - 56, id)
}

#[test]
fn a_link_that_shrinks() {
    if !enter("paths::a_link_that_shrinks", "ip link set lo mtu 1460") {
        return;
    }
    for (gso, coalesce) in [(true, true), (true, false), (false, true), (false, false)] {
        let config = UdpConfig { gso, coalesce, ..UdpConfig::default() };
        shrink("127.0.0.1", &config);
        if have_ipv6() {
            shrink("::1", &config);
        }
    }
}

fn shrink(ip: &str, config: &UdpConfig) {
    shell("ip link set lo mtu 1460");
    let mut io = bind(ip, config.clone());
    let mut peer = bind(ip, config.clone());
    let to = peer.local_addr();
    assert_eq!(io.path_mtu(to), 1460);
    let batch: Vec<_> = (0..40).map(|id| full(to, 1460, id)).collect();
    send_all(&mut io, &batch);
    recv_until(&mut peer, |items| bytes_in(items) == image(&batch).len());

    shell("ip link set lo mtu 1300");
    let shorts: Vec<_> = (0..100).map(|id| short(to, 100, id)).collect();
    send_all(&mut io, &shorts);
    recv_until(&mut peer, |items| bytes_in(items) == image(&shorts).len());
    send_all(&mut io, &batch);
    assert_eq!(io.counters().oversized, batch.len() as u64);
    let reports = recv_until(&mut io, |items| !items.is_empty());
    assert!(reports.iter().all(|item| *item == Item::PathMtu(to, 1300)), "{reports:?}");
    assert_eq!(io.path_mtu(to), 1300);

    let batch: Vec<_> = (0..40).map(|id| full(to, 1300, id)).collect();
    send_all(&mut io, &batch);
    recv_until(&mut peer, |items| bytes_in(items) == image(&batch).len());
    assert_eq!(io.uses_gso(), config.gso, "an MTU problem is none of segmentation");
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
    if !enter("paths::a_router_with_a_narrow_link", setup) {
        return;
    }
    let mut io = bind("10.77.0.1", UdpConfig::default());
    let to = "10.77.1.9:7".parse().unwrap();
    assert_eq!(io.path_mtu(to), 1500);
    send_all(&mut io, &[full(to, 1500, 1)]);
    let reports = recv_until(&mut io, |items| !items.is_empty());
    assert_eq!(reports, [Item::PathMtu(to, 1300)]);
    assert_eq!(io.path_mtu(to), 1300);
    let elsewhere = "10.77.0.2:7".parse().unwrap();
    assert_eq!(io.path_mtu(elsewhere), 1500);
}

#[test]
fn no_route() {
    if !enter("paths::no_route", "") {
        return;
    }
    let mut io = bind("0.0.0.0", UdpConfig::default());
    let mut peer = bind("127.0.0.1", UdpConfig::default());
    let (to, nowhere) = (peer.local_addr(), "10.77.9.9:7".parse().unwrap());
    let batch = [short(to, 1, 1), short(nowhere, 1, 2), short(nowhere, 1, 3), short(to, 1, 4)];
    send_all(&mut io, &batch);
    assert_eq!(recv_until(&mut peer, |items| items.len() == 2).len(), 2);
    assert_eq!(recv_now(&mut io), [Item::Unreachable(nowhere, Unreachable::Host)]);
    assert_eq!(io.counters().unroutable, 2);
}

/// Packets to a neighbour that does not answer ARP wait in the kernel, charged to the socket, and are then given up.
#[test]
fn a_silent_neighbour() {
    let setup = "ip link add name near type veth peer name far netns $router
        nsenter --target $router --net ip link set far up
        ip addr add 10.77.0.1/24 dev near; ip link set near up";
    if !enter("paths::a_silent_neighbour", setup) {
        return;
    }
    let config = UdpConfig { send_buffer: 40_000, gso: false, ..UdpConfig::default() };
    let mut io = bind("10.77.0.1", config);
    let to = "10.77.0.99:7".parse().unwrap();
    assert_eq!(io.device_queue(), Some(0));
    let batch: Vec<_> = (0..100).map(|id| full(to, 1500, id)).collect();
    let taken = io.send(&batch).unwrap();
    assert!((10..100).contains(&taken), "{taken} packets filled the socket");
    assert_eq!(io.send(&batch[taken..]).unwrap(), 0);
    let (queued, sent) = (io.device_queue().unwrap() as usize, taken * 1500);
    assert!((sent * 2 / 3..sent * 3 / 2).contains(&queued), "{queued} bytes queued of {sent}");
    let reports = recv_until(&mut io, |items| !items.is_empty());
    assert_eq!(reports[0], Item::Unreachable(to, Unreachable::Host));
    assert_eq!(io.device_queue(), Some(0));
}
