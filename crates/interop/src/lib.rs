//! Whether homarus is a full peer of hosts that run the Linux Homa module, without the module.
//!
//! | module | what it is |
//! |---|---|
//! | [`kernel`] | a model of the Linux module: packets, state and timers as they were observed, written without a look at `homarus-proto` |
//! | [`net`] | a link in virtual time between the model and a real [`Endpoint`](homarus_proto::Endpoint) |
//! | [`replay`] | captured conversations of the module, played to an endpoint that takes the place of one side |
//!
//! The model keeps account of every packet that Linux would have dropped ([`kernel::Drop`]) and of every one that Linux
//! would take but that no Linux peer would send ([`kernel::Breach`]): tests want none of either, save stale packets
//! that any network can make.

pub mod kernel;
pub mod net;
pub mod replay;
