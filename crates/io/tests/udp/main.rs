//! The UDP driver over real loopback sockets.

mod common;
mod round_trip;
