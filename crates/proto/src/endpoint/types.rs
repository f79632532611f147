use crate::{Payload, RpcError};
use std::net::SocketAddr;
use std::time::Duration;

/// Identifies a request of this endpoint among all that it ever sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RpcId(pub(crate) u64);

impl RpcId {
    /// The id as it is on the wire.
    pub fn as_u64(self) -> u64 {
        self.0
    }
}

/// A request that waits for its response. Not `Clone`: answering twice does not compile.
#[derive(Debug, PartialEq, Eq)]
pub struct IncomingRpc {
    pub(crate) slot: u32,
    pub(crate) id: u64,
    pub(crate) from: SocketAddr,
}

impl IncomingRpc {
    /// Who asks.
    pub fn client(&self) -> SocketAddr {
        self.from
    }

    /// The client's id of the RPC.
    pub fn id(&self) -> u64 {
        self.id
    }
}

/// Choices for one request.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions {
    /// End the request with an error after this time; `None` takes [`Config::default_deadline`](crate::Config::default_deadline).
    pub deadline: Option<Duration>,
}

/// What the application is told.
#[derive(Debug)]
pub enum Event {
    /// A whole request has arrived, for the first and only time.
    Request {
        /// For [`send_response`](crate::Endpoint::send_response) or [`reject`](crate::Endpoint::reject).
        rpc: IncomingRpc,
        /// Contents of the request.
        message: Payload,
    },
    /// A request has ended. Comes exactly once for each that [`send_request`](crate::Endpoint::send_request) accepted,
    /// unless it was cancelled.
    Response {
        /// The request.
        rpc: RpcId,
        /// The response, or why there is none.
        result: Result<Payload, RpcError>,
    },
}
