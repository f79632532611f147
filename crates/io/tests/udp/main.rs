//! The UDP driver over real loopback sockets, and over paths in network namespaces of its own.

#[path = "../common/mod.rs"]
mod common;
mod errors;
mod paths;
mod peers;
mod round_trip;
mod tos;
