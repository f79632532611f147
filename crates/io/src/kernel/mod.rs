//! The Linux Homa module itself as a driver: its socket carries whole messages, and the kernel does the protocol.
//!
//! So this does not stand behind [`PacketIo`](crate::PacketIo), but in the place of a `PacketIo` and the endpoint on top
//! of it. `layout` has the numbers and structures of the module's interface, `sys` the system calls and the memory for
//! incoming messages, `socket` the seam to the kernel, and `messages` what is done with it. See docs/kernel.md for the
//! interface in words, and for what could not be tried.

mod config;
mod layout;
mod messages;
mod socket;
mod sys;

pub use config::KernelConfig;
pub use layout::{AbortArgs, FIRST_CLIENT_PORT, MAX_MESSAGE, MAX_PAGES, PAGE, RecvArgs, SendArgs};
pub use messages::{Arrival, KernelIo};
pub use socket::KernelSocket;
