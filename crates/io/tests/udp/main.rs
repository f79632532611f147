//! The UDP driver over real loopback sockets, and over paths in network namespaces of its own.

mod common;
mod errors;
mod namespace;
mod paths;
mod peers;
mod round_trip;
mod tos;
