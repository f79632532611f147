//! Names and addresses within a rack.

use std::net::Ipv4Addr;

/// Address of host `index`.
pub(crate) fn host_ip(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 8, 0, index as u8 + 1)
}

/// Ethernet address of host `index`.
pub(super) fn host_mac(index: usize) -> String {
    format!("02:00:00:00:01:{:02x}", index + 1)
}

/// A host's interface, in its namespace.
pub(super) const HOST_LINK: &str = "eth0";

/// The switch's port toward host `index`.
pub(super) fn port(index: usize) -> String {
    format!("port{index}")
}

/// Ethernet address of that port.
pub(super) fn port_mac(index: usize) -> String {
    format!("02:00:00:00:02:{:02x}", index + 1)
}
