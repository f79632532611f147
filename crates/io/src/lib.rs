//! Drivers that carry Homa packets.
//!
//! All stand behind [`PacketIo`]: [`UdpIo`] for real networks, [`RawIo`] for those with hosts that run the Linux Homa
//! module, [`MemIo`] for tests without system calls, [`FaultIo`], which makes any of them lose, repeat, delay and change
//! packets, and [`CaptureIo`], which writes them to a file. Beside them, [`KernelIo`] carries whole messages where the
//! Linux Homa module does the protocol.
//!
//! ```
//! use homarus_io::{FaultConfig, FaultIo, MemHub, PacketIo, Received};
//! use homarus_proto::{Payload, Transmit};
//!
//! # fn main() -> std::io::Result<()> {
//! let hub = MemHub::default();
//! let (from, to) = (([10, 0, 0, 1], 4000).into(), ([10, 0, 0, 2], 4000).into());
//! let mut receiver = hub.attach(to)?;
//! let mut sender = FaultIo::new(hub.attach(from)?, FaultConfig::default(), 1);
//! let network = sender.handle();
//!
//! let packet = Transmit::new(to, 7, b"header", Payload::from(b"contents".to_vec()));
//! sender.send(&[packet.clone()])?;
//! let mut arrived = Vec::new();
//! receiver.recv(&mut |received| {
//!     if let Received::Datagram { bytes, .. } = received {
//!         arrived.push(bytes.to_vec());
//!     }
//! })?;
//! assert_eq!(arrived, [b"headercontents"]);
//!
//! network.set(FaultConfig { loss: 1.0, ..FaultConfig::default() });
//! sender.send(&[packet])?;
//! assert_eq!(network.counters().lost, 1);
//! # Ok(())
//! # }
//! ```

mod capture;
mod checksum;
mod fault;
pub mod kernel;
mod mem;
mod packet_io;
mod raw;
mod socket;
mod udp;

pub use capture::{Capture, CaptureCounters, CaptureIo};
pub use fault::{FaultConfig, FaultCounters, FaultHandle, FaultIo};
pub use kernel::{KernelConfig, KernelIo};
pub use mem::{MemConfig, MemHub, MemIo};
pub use packet_io::{PacketIo, Received};
pub use raw::{RawConfig, RawCounters, RawIo};
pub use udp::{UdpConfig, UdpCounters, UdpIo};
