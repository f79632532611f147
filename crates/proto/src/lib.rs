//! The Homa protocol: wire formats and a sans-I/O endpoint state machine.
//!
//! [`Endpoint`] is the protocol, for real sockets, for a simulated network and for a web page alike: it has no
//! sockets, no clock, no threads and no randomness of its own. [`wire`] is what it puts into packets.
//!
//! ```
//! use homarus_proto::{CallOptions, Config, Endpoint, Event, Instant};
//!
//! let (client_addr, server_addr) = ("10.0.0.1:4000".parse()?, "10.0.0.2:4000".parse()?);
//! let mut client = Endpoint::new(Config::default(), 4000, 1)?;
//! let mut server = Endpoint::new(Config::default(), 4000, 2)?;
//! let now = Instant::ZERO;
//! client.send_request(now, server_addr, b"ping".to_vec(), CallOptions::default())?;
//! while let Some(packet) = client.poll_transmit(now) {
//!     let bytes = [packet.header(), packet.payload.as_slice()].concat();
//!     server.handle_datagram(now, client_addr, &bytes);
//! }
//! let Some(Event::Request { rpc, message }) = server.poll_event() else { panic!("no request") };
//! assert_eq!(message.as_slice(), b"ping");
//! server.send_response(now, rpc, b"pong".to_vec())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod config;
mod endpoint;
mod error;
mod instant;
mod payload;
mod peer;
mod recv;
mod rpc;
mod send;
mod stats;
mod timers;
mod transmit;
pub mod wire;

pub use config::{Config, ConfigError, Framing};
pub use endpoint::{CallOptions, Endpoint, Event, IncomingRpc, PeerView, RpcId, View};
pub use error::{Discard, RpcError, SendError, Unreachable};
pub use instant::Instant;
pub use payload::Payload;
pub use stats::Stats;
pub use transmit::Transmit;
