//! Homa for applications: request/response messages with low tail latency, async and blocking.
//!
//! An [`Endpoint`] is a client and a server on one UDP socket, on a raw one for [hosts that run the Linux Homa
//! module](Builder), or on one of that module itself. A call sends a message of any length to a peer and gets
//! one back; there are no connections to set up, and a short call is not held up by the long ones beside it.
//!
//! ```
//! use homarus::Endpoint;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), homarus::Error> {
//! // A server: every request is answered by a task of its own.
//! let server = Endpoint::bind("127.0.0.1:0").await?;
//! let address = server.local_addr();
//! let serving = server.clone();
//! tokio::spawn(async move {
//!     serving
//!         .serve(|request| async move {
//!             let answer = request.message().to_ascii_uppercase();
//!             request.respond(answer)
//!         })
//!         .await;
//! });
//!
//! // A client: any number of tasks may share it.
//! let client = Endpoint::bind("127.0.0.1:0").await?.client(address);
//! assert_eq!(&client.call("hello").await?[..], b"HELLO");
//!
//! // Answers what is in flight, then closes.
//! server.shutdown(std::time::Duration::from_secs(5)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//! Every call has exactly one outcome: the response, or an [`Error`] that says what to do. A server executes a request at
//! most once. Dropping a call cancels it, dropping a [`Request`] rejects it. All memory is bounded by [`Config`].
//!
//! # Async or blocking
//! The [async API](Endpoint) runs on tokio: callers send on their own task, and one task for each endpoint
//! receives. The [blocking API](blocking) drives the endpoint on the thread that waits, with no other thread on the path: the
//! way to the shortest round trips, above all with [spinning](blocking::Spin).
#![deny(unsafe_code)]

mod address;
mod asynch;
pub mod blocking;
mod builder;
mod calls;
mod clock;
mod driver;
mod error;
mod handle;
mod hub;
mod inbox;
mod message;
mod metrics;
mod opened;
mod peers;
mod request;
mod timer;

pub use address::{Address, AddressError, Carrier};
pub use asynch::{Call, Client, Endpoint, Requests, ServeOptions};
pub use builder::Builder;
pub use bytes::Bytes;
pub use error::Error;
pub use homarus_io::{Capture, CaptureCounters, KernelConfig, KernelIo, PacketIo, RawConfig, UdpConfig};
pub use homarus_proto::{
    CallOptions, Config, ConfigError, Framing, PeerView, RpcError, SendError, Stats, Unreachable, View,
};
pub use message::IntoMessage;
pub use metrics::Metrics;
pub use request::Request;
