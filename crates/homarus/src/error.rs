use crate::AddressError;
use homarus_proto::{ConfigError, RpcError, SendError};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Everything that can go wrong, each with what to do about it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), homarus::Error> {
/// use homarus::{CallOptions, Endpoint, Error, RpcError};
/// use std::time::Duration;
///
/// let client = Endpoint::bind("127.0.0.1:0").await?;
/// let server = Endpoint::bind("127.0.0.1:0").await?;
/// let options = CallOptions { deadline: Some(Duration::from_millis(20)) };
/// match client.call_with(server.local_addr(), "slow", options).await {
///     Ok(answer) => println!("{} bytes", answer.len()),
///     Err(Error::Rpc(RpcError::Deadline { after })) => println!("not within {after:?}"),
///     Err(error) if error.is_unexecuted() => println!("{error}; it does no harm to try again"),
///     Err(error) => println!("{error}; the server may have done it"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is outside what the protocol can do. From making an endpoint.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// A text is no address.
    #[error("{0}")]
    Address(#[from] AddressError),
    /// The host of an address was not found. From looking it up, or making an endpoint.
    #[error("cannot find {address}: {source}: check the host's name")]
    Resolve {
        /// The address.
        address: String,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The socket could not be set up. From making an endpoint.
    #[error("cannot bind {address}: {source}{}", advice(.source))]
    Bind {
        /// The address asked for.
        address: String,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// No packet can ever be sent to this address. From a call; nothing was sent.
    #[error("cannot call {peer}: {why}")]
    Peer {
        /// Whom the call was for.
        peer: SocketAddr,
        /// What is wrong with the address and what to do.
        why: &'static str,
    },
    /// The request or response was not accepted for sending. Nothing was sent.
    #[error("{0}")]
    Send(#[from] SendError),
    /// The request or response, for a peer reached over IP or by the kernel, is longer than the Linux Homa module accepts. Nothing was
    /// sent.
    #[error(
        "message of {length} bytes exceeds the 1000000 that hosts with the Linux Homa module accept: split it, use Homa \
         over UDP, or, where all peers are homarus, over IP with Builder::long_messages_over_ip"
    )]
    TooLongForLinux {
        /// Bytes in the message.
        length: usize,
    },
    /// The request or response is empty, and is to be carried by the kernel's Homa module, which takes no empty messages.
    /// Nothing was sent.
    #[error("the kernel's Homa module carries no empty messages: send at least one byte, or use udp:// or homa://")]
    EmptyForLinux,
    /// The request was sent and ended without a response.
    #[error("{0}")]
    Rpc(#[from] RpcError),
    /// The kernel's Homa module did not take the request, or ended it, for a reason of its own.
    #[error(
        "the kernel's Homa module ended the call: {0}: the request may have been executed; see the kernel's log (dmesg)"
    )]
    Kernel(Arc<io::Error>),
    /// The endpoint has been closed, or was closed while the call waited.
    #[error("the endpoint is closed: bind a new one")]
    Closed,
    /// Not everything had come to its end when the time given to a graceful shutdown was over. The endpoint is closed.
    #[error("{in_flight} exchanges were still in flight after {waited:?}: give the shutdown more time")]
    ShutdownTimeout {
        /// Calls and requests that were cut off.
        in_flight: usize,
        /// How long the shutdown waited.
        waited: Duration,
    },
    /// The socket failed, which closed the endpoint and ended all of its calls.
    #[error("the socket failed: {0}: the endpoint is closed; bind a new one")]
    Socket(Arc<io::Error>),
}

impl Error {
    /// Whether it is certain that no server executed the request, so that repeating the call does no harm.
    pub fn is_unexecuted(&self) -> bool {
        match self {
            Error::Config(_)
            | Error::Address(_)
            | Error::Resolve { .. }
            | Error::Bind { .. }
            | Error::Peer { .. }
            | Error::Send(_)
            | Error::TooLongForLinux { .. }
            | Error::EmptyForLinux => true,
            Error::Rpc(_) | Error::Kernel(_) | Error::Closed | Error::ShutdownTimeout { .. } | Error::Socket(_) => {
                false
            }
        }
    }
}

/// What to do about an error of a socket, unless the driver has said it.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        _ if error.get_ref().is_some() => "",
        io::ErrorKind::PermissionDenied => ": choose a port from 1024 up, or run it with more privileges",
        _ => ": choose an address of this machine and a free port (port 0 takes any)",
    }
}
