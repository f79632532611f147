use crate::driver::Asked;
use crate::handle::Handle;
use crate::{Error, IntoMessage};
use bytes::Bytes;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// A request that waits for its response.
///
/// Answer it with [`respond`](Self::respond), once: that consumes it. Dropping it unanswered rejects it, and the
/// client is told. The endpoint that it came to stays open as long as there is a request.
pub struct Request {
    endpoint: Arc<Handle>,
    /// `None` once answered.
    rpc: Option<Asked>,
    client: SocketAddr,
    message: Bytes,
}

impl Request {
    pub(crate) fn new(endpoint: Arc<Handle>, rpc: Asked, message: Bytes) -> Self {
        Request { endpoint, client: rpc.client(), rpc: Some(rpc), message }
    }

    /// The contents of the request.
    pub fn message(&self) -> &Bytes {
        &self.message
    }

    /// Who asks.
    pub fn client(&self) -> SocketAddr {
        self.client
    }

    /// Sends the response. Returns once it is on its way, not when it has arrived.
    ///
    /// The contents are fixed here: see [`IntoMessage`].
    ///
    /// # Errors
    /// [`Error::Send`] if it was not accepted: it is too long, too much waits to be sent, or the client no longer
    /// waits. The request has ended even then. [`Error::Closed`] or [`Error::Socket`] if the endpoint is.
    pub fn respond(mut self, message: impl IntoMessage) -> Result<(), Error> {
        match self.rpc.take() {
            Some(rpc) => self.endpoint.lock().respond(rpc, message.into_message()),
            None => Ok(()),
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if let Some(rpc) = self.rpc.take() {
            self.endpoint.lock().reject(rpc);
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("client", &self.client).field("length", &self.message.len()).finish()
    }
}
