//! A host's own end of its link, set up by the host's process in its own namespace.

use super::RackShape;
use super::address::{HOST_LINK, host_ip, port_mac};
use super::iproute::batch;
use super::switch::{interface_index, quiet_ipv6};
use crate::sys::{self, Offload};
use crate::wire::{SHORTEST_FRAME, UNCOUNTED};
use anyhow::{Context, Result};
use std::os::fd::AsFd;

/// Bytes that a host's own queue holds: Linux's usual 1000 packets.
const HOST_QUEUE: u64 = 1000 * 1514;

/// Configures the link of host `index` in this process's namespace; returns its interface index.
///
/// Its egress is one FIFO at the link rate, as the queue of a network card is. The shaper also cuts whatever is longer than a
/// packet into packets, so that no super-packet reaches the rack.
pub(crate) fn configure_host(shape: &RackShape, index: usize) -> Result<u32> {
    quiet_ipv6();
    for (name, value) in SETTINGS {
        std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value)
            .with_context(|| format!("cannot set net.ipv4.{name} to {value} in a host's namespace"))?;
    }
    let mut lines = vec![
        "link set lo up".to_owned(),
        format!("addr add {}/24 dev {HOST_LINK}", host_ip(index)),
        format!("link set {HOST_LINK} gso_max_segs 1 up"),
    ];
    for other in (0..shape.hosts).filter(|&other| other != index) {
        let (ip, switch) = (host_ip(other), port_mac(index));
        lines.push(format!("neigh replace {ip} lladdr {switch} dev {HOST_LINK} nud permanent"));
    }
    batch("ip", &lines)?;
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").context("cannot open a socket")?;
    for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
        sys::offload_off(socket.as_fd(), HOST_LINK, offload)
            .with_context(|| format!("cannot switch {offload:?} of a host's link off"))?;
    }
    batch(
        "tc",
        &[format!(
            "qdisc add dev {HOST_LINK} root handle 1: tbf rate {}bit burst {} limit {HOST_QUEUE} overhead {UNCOUNTED} mpu {SHORTEST_FRAME}",
            shape.rate,
            shape.burst(),
        )],
    )?;
    interface_index(HOST_LINK)
}

/// TCP without ECN, and without what it remembers of earlier connections: each run starts afresh.
const SETTINGS: [(&str, &str); 2] = [("tcp_ecn", "0"), ("tcp_no_metrics_save", "1")];
