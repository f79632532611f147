//! The Homa protocol: wire formats and a sans-I/O endpoint state machine.
#![forbid(unsafe_code)]

mod config;
mod endpoint;
mod error;
mod instant;
mod payload;
mod transmit;
pub mod wire;

pub use config::{Config, ConfigError, Framing};
pub use endpoint::{CallOptions, Endpoint, Event, IncomingRpc, PeerView, RpcId, Stats, View};
pub use error::{Discard, RpcError, SendError, Unreachable};
pub use instant::Instant;
pub use payload::Payload;
pub use transmit::Transmit;
