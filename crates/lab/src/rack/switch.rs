//! The switch: its ports send at the link rate, with strict priorities and a bounded buffer.
//!
//! It routes by IP address, as the switches of many data centres do. A bridge would look simpler, but the kernel hands a packet from one
//! network namespace through a bridge to another with its tie to the sender's socket intact: TCP would be told how much of its
//! data waits in the switch and hold back, as on no real network. The tie ends where a packet is received for routing.

use super::RackShape;
use super::address::{HOST_LINK, host_ip, host_mac, port, port_mac};
use super::iproute::batch;
use crate::sys::{self, Offload};
use crate::wire::{SHORTEST_FRAME, UNCOUNTED};
use anyhow::{Context, Result};
use std::os::fd::AsFd;

/// The switch, in this process's namespace.
#[derive(Debug)]
pub(crate) struct Switch {
    ports: Vec<u32>,
}

impl Switch {
    /// Makes a link from a port into the namespace of each host process, and routes between them.
    pub(crate) fn build(shape: &RackShape, host_pids: &[u32]) -> Result<Switch> {
        quiet_ipv6();
        let path = "/proc/sys/net/ipv4/ip_forward";
        std::fs::write(path, "1").with_context(|| format!("cannot set {path}: the switch would not forward"))?;
        batch("ip", &link_lines(host_pids))?;
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").context("cannot open a socket")?;
        let mut ports = Vec::new();
        for index in 0..host_pids.len() {
            for offload in [Offload::Tso, Offload::Gso, Offload::Gro] {
                sys::offload_off(socket.as_fd(), &port(index), offload)
                    .with_context(|| format!("cannot switch {offload:?} of {} off", port(index)))?;
            }
            ports.push(interface_index(&port(index))?);
        }
        batch("tc", &(0..host_pids.len()).flat_map(|index| shaper_lines(shape, &port(index))).collect::<Vec<_>>())?;
        Ok(Switch { ports })
    }

    /// Interface index of each host's port, in the order of the hosts.
    pub(crate) fn ports(&self) -> &[u32] {
        &self.ports
    }
}

/// Keeps address discovery off the links, where the system lets us.
pub(super) fn quiet_ipv6() {
    for kind in ["all", "default"] {
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{kind}/disable_ipv6"), "1");
    }
}

pub(super) fn interface_index(name: &str) -> Result<u32> {
    rustix::net::netdevice::name_to_index(std::net::UdpSocket::bind("0.0.0.0:0")?, name)
        .with_context(|| format!("interface {name} has no index"))
}

/// Links, and where each host is: nothing has to be asked for on the links.
fn link_lines(host_pids: &[u32]) -> Vec<String> {
    let lines = host_pids.iter().enumerate().flat_map(|(index, pid)| {
        let (port, port_mac) = (port(index), port_mac(index));
        let (ip, mac) = (host_ip(index), host_mac(index));
        [
            format!("link add {port} address {port_mac} type veth peer name {HOST_LINK} address {mac} netns {pid}"),
            format!("link set {port} gso_max_segs 1 up"),
            format!("route add {ip}/32 dev {port} scope link"),
            format!("neigh add {ip} lladdr {mac} dev {port} nud permanent"),
        ]
    });
    lines.collect()
}

/// HTB as the port's egress: one class at the link rate, and below it a leaf for each priority level.
///
/// The leaves lend each other everything strictly by priority (`prio`), down to one packet, which cannot be called back.
/// Each leaf may queue the port's whole buffer: HTB has no bound over all leaves. A transport that uses one level, as TCP does, has exactly the
/// port's buffer; of one that uses several the queue is watched, and its peak reported.
fn shaper_lines(shape: &RackShape, port: &str) -> Vec<String> {
    let rate = format!("{}bit", shape.rate);
    let framing = format!("overhead {UNCOUNTED} mpu {SHORTEST_FRAME}");
    let burst = shape.burst();
    let levels = shape.priorities.clamp(1, 8);
    let lowest = 8 - levels;
    let mut lines = vec![
        format!("qdisc add dev {port} root handle 1: htb default 1{lowest}"),
        format!(
            "class add dev {port} parent 1: classid 1:1 htb rate {rate} ceil {rate} burst {burst} cburst {burst} {framing}"
        ),
    ];
    for level in lowest..8 {
        let order = 7 - level;
        lines.push(format!(
            "class add dev {port} parent 1:1 classid 1:1{level} htb rate 8kbit ceil {rate} prio {order} \
             burst 1600 cburst {burst} quantum 1514 {framing}"
        ));
        lines.push(format!("qdisc add dev {port} parent 1:1{level} handle 1{level}: bfifo limit {}", shape.buffer));
    }
    // Levels that the switch does not have share its lowest one, which is the default class.
    for level in lowest + 1..8 {
        let tos = u32::from(level) << 5;
        lines.push(format!(
            "filter add dev {port} parent 1: protocol ip prio 1 u32 match ip tos {tos:#04x} 0xe0 flowid 1:1{level}"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(priorities: u8) -> RackShape {
        RackShape { hosts: 2, rate: 50_000_000, priorities, buffer: 300_000 }
    }

    #[test]
    fn one_leaf_a_level_and_the_lowest_is_the_default() {
        for levels in 1..=8u8 {
            let lines = shaper_lines(&shape(levels), "port0");
            let leaves = lines.iter().filter(|line| line.contains("bfifo")).count();
            assert_eq!(leaves, usize::from(levels));
            assert!(lines[0].ends_with(&format!("default 1{}", 8 - levels)), "{}", lines[0]);
        }
    }

    #[test]
    fn the_highest_level_goes_first() {
        let lines = shaper_lines(&shape(8), "port0");
        assert!(lines.iter().any(|line| line.contains("classid 1:17") && line.contains("prio 0")));
        assert!(lines.iter().any(|line| line.contains("match ip tos 0xe0 0xe0 flowid 1:17")));
    }
}
