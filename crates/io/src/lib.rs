//! Drivers that carry Homa packets.
//!
//! All stand behind [`PacketIo`]: [`UdpIo`] for real networks, [`MemIo`] for tests without system calls, and
//! [`FaultIo`], which makes either of them lose, repeat, delay and change packets.

mod fault;
mod mem;
mod packet_io;
mod udp;

pub use fault::{FaultConfig, FaultCounters, FaultHandle, FaultIo};
pub use mem::{MemConfig, MemHub, MemIo};
pub use packet_io::{PacketIo, Received};
pub use udp::{UdpConfig, UdpCounters, UdpIo};
