//! A client of any transport.

use crate::control::Target;
use crate::{homa, tcp};
use anyhow::Result;
use bytes::Bytes;

/// What calls are made with.
#[derive(Debug)]
pub(crate) enum Client {
    /// Over homarus.
    Homa(homa::Endpoints),
    /// Over TCP.
    Tcp(tcp::Client),
}

impl Client {
    /// Calls a server and returns its response.
    pub(crate) async fn call(&self, to: Target, message: Bytes) -> Result<Bytes> {
        match self {
            Client::Homa(endpoints) => endpoints.call(to, message).await,
            Client::Tcp(client) => client.call(to, message).await,
        }
    }

    /// Makes a connection to each server, where the transport has any.
    pub(crate) async fn connect(&self, to: &[Target]) -> Result<()> {
        match self {
            Client::Homa(_) => Ok(()),
            Client::Tcp(client) => client.connect(to).await,
        }
    }
}
