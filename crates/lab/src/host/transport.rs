//! A transport while it is in use on a host.

use super::Place;
use crate::client::Client;
use crate::control::{Answer, Transport, TransportCounters};
use crate::homa::Endpoints;
use crate::tcp;
use anyhow::Result;
use std::sync::Arc;

/// Servers and client of one transport.
pub(super) struct OpenTransport {
    client: Arc<Client>,
    /// TCP's servers, and what this host had sent again before; homarus has its servers where its client is.
    tcp: Option<(tcp::Server, u64)>,
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
            Transport::Homa { incast_optimisation } => {
                let priorities = place.shape.priorities;
                let endpoints =
                    Endpoints::start(place.index, servers, answer, priorities, *incast_optimisation).await?;
                Ok(OpenTransport { client: Arc::new(Client::Homa(endpoints)), tcp: None })
            }
            Transport::Tcp { congestion, connections } => {
                let server = tcp::Server::start(place.index, servers, congestion, answer)?;
                let client = Arc::new(Client::Tcp(tcp::Client::new(congestion, *connections)));
                Ok(OpenTransport { client, tcp: Some((server, tcp::retransmitted_segments()?)) })
            }
        }
    }

    pub(super) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Ends all and tells what was counted.
    pub(super) async fn close(self) -> Result<TransportCounters> {
        match &*self.client {
            Client::Homa(endpoints) => {
                Ok(TransportCounters { retransmitted_packets: endpoints.close().await, connections: 0 })
            }
            Client::Tcp(client) => {
                let before = self.tcp.as_ref().map_or(0, |(_, before)| *before);
                Ok(TransportCounters {
                    retransmitted_packets: tcp::retransmitted_segments()?.saturating_sub(before),
                    connections: client.connections(),
                })
            }
        }
    }
}
