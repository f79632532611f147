use super::Endpoint;
use crate::{Error, IntoMessage};
use bytes::Bytes;
use homarus_proto::CallOptions;
use std::net::SocketAddr;

/// An endpoint together with the peer to call: cheap to clone, made by [`Endpoint::client`].
#[derive(Clone, Debug)]
pub struct Client {
    endpoint: Endpoint,
    peer: SocketAddr,
}

impl Client {
    pub(super) fn new(endpoint: Endpoint, peer: SocketAddr) -> Self {
        Client { endpoint, peer }
    }

    /// Whom it calls.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Sends a request and waits for the response: see [`Endpoint::call`].
    ///
    /// # Errors
    /// As [`Endpoint::call`].
    pub fn call(&self, message: impl IntoMessage) -> Result<Bytes, Error> {
        self.endpoint.call(self.peer, message)
    }

    /// As [`call`](Self::call), with choices such as a deadline.
    ///
    /// # Errors
    /// As [`Endpoint::call`].
    pub fn call_with(&self, message: impl IntoMessage, options: CallOptions) -> Result<Bytes, Error> {
        self.endpoint.call_with(self.peer, message, options)
    }
}
