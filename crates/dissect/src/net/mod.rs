//! From a frame to what its IP packet carries.

mod icmp;
mod ip;
mod link;
pub(crate) mod sum;
mod udp;

pub use icmp::{Icmp, Quoted};
pub use ip::{Ip, IpError};
pub use link::LinkType;
pub use udp::Udp;

/// Homa's protocol number in IP.
pub const HOMA: u8 = 146;
pub(crate) const ICMP: u8 = 1;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}
