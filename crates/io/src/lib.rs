//! Drivers that carry Homa packets: UDP with segmentation offloads, memory, fault injection

mod packet_io;
mod udp;

pub use packet_io::{PacketIo, Received};
pub use udp::{UdpConfig, UdpCounters, UdpIo};
