//! A transport while it is in use on a host.

use super::Place;
use crate::client::Client;
use crate::control::{Answer, Transport, TransportCounters};
use crate::tcp;
use anyhow::Result;
use std::sync::Arc;

/// Servers and client of one transport.
pub(super) struct OpenTransport {
    client: Arc<Client>,
    servers: Servers,
}

enum Servers {
    Tcp { _server: tcp::Server, retransmitted_before: u64 },
}

impl OpenTransport {
    /// Starts `servers` servers and a client.
    pub(super) async fn open(
        transport: &Transport,
        place: &Place,
        servers: u16,
        answer: Answer,
    ) -> Result<OpenTransport> {
        match transport {
            Transport::Tcp { congestion, connections } => {
                let server = tcp::Server::start(place.index, servers, congestion, answer)?;
                let client = Arc::new(Client::Tcp(tcp::Client::new(congestion, *connections)));
                let retransmitted_before = tcp::retransmitted_segments()?;
                Ok(OpenTransport { client, servers: Servers::Tcp { _server: server, retransmitted_before } })
            }
            Transport::Homa { .. } => anyhow::bail!("not yet"),
        }
    }

    pub(super) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Ends all and tells what was counted.
    pub(super) async fn close(self) -> Result<TransportCounters> {
        match (&*self.client, &self.servers) {
            (Client::Tcp(client), Servers::Tcp { retransmitted_before, .. }) => Ok(TransportCounters {
                retransmitted_packets: tcp::retransmitted_segments()?.saturating_sub(*retransmitted_before),
                connections: client.connections(),
            }),
        }
    }
}
