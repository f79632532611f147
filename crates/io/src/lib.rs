//! Drivers that carry Homa packets: UDP with segmentation offloads, memory, fault injection

mod packet_io;

pub use packet_io::{PacketIo, Received};
