use super::call::Call;
use crate::IntoMessage;
use crate::handle::Handle;
use homarus_proto::CallOptions;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// An endpoint together with the peer to call: cheap to clone, made by [`Endpoint::client`](crate::Endpoint::client).
#[derive(Clone)]
pub struct Client {
    endpoint: Arc<Handle>,
    peer: SocketAddr,
}

impl Client {
    pub(super) fn new(endpoint: Arc<Handle>, peer: SocketAddr) -> Self {
        Client { endpoint, peer }
    }

    /// Whom it calls.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Sends a request and waits for the response: see [`Endpoint::call`](crate::Endpoint::call).
    pub fn call(&self, message: impl IntoMessage) -> Call<'_> {
        self.call_with(message, CallOptions::default())
    }

    /// As [`call`](Self::call), with choices such as a deadline.
    pub fn call_with(&self, message: impl IntoMessage, options: CallOptions) -> Call<'_> {
        Call::new(&self.endpoint, self.peer, message.into_message(), options)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("peer", &self.peer).finish()
    }
}
