//! What the drivers over the kernel's sockets have in common.
//!
//! `channel` joins it: `plan` decides which packets travel together, `outbox` and `inbox` make the system calls, `send`
//! deals with refusals, `reports` reads what ICMP says, `paths` knows the routes, `truesize` the kernel's accounting,
//! `setup` and `sys` the sockets' options. What differs between the drivers is a [`Frame`].

mod address;
mod channel;
mod frame;
mod inbox;
mod outbox;
mod paths;
mod plan;
mod reports;
mod send;
mod setup;
pub(crate) mod sys;
mod truesize;

pub(crate) use address::{RawAddr, normalise};
pub(crate) use channel::{Channel, Settings};
pub(crate) use frame::Frame;
pub(crate) use paths::Paths;
pub(crate) use plan::Abilities;
