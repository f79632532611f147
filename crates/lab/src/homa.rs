//! RPCs over homarus, with its default settings but for what the rack and the experiment prescribe.

use crate::control::{Answer, Target};
use crate::rack::host_ip;
use crate::server::answer;
use anyhow::{Context, Result};
use bytes::Bytes;
use homarus::{Config, Endpoint};
use std::net::SocketAddr;
use tokio::task::JoinSet;

/// Port of the first server of a host; the others follow.
const FIRST_PORT: u16 = 4000;

fn address(target: Target) -> SocketAddr {
    SocketAddr::from((host_ip(target.host), FIRST_PORT + target.server))
}

/// The endpoints of one host. The first is its client too: what a host sends and grants is decided in one place.
#[derive(Debug)]
pub(crate) struct Endpoints {
    endpoints: Vec<Endpoint>,
    _servers: JoinSet<()>,
}

impl Endpoints {
    /// Starts `count` servers on this host, at least one.
    pub(crate) async fn start(
        host: usize,
        count: u16,
        kind: Answer,
        priorities: u8,
        incast_optimisation: bool,
    ) -> Result<Endpoints> {
        let config = Config { priorities, incast_optimisation, ..Config::default() };
        let mut endpoints = Vec::new();
        let mut servers = JoinSet::new();
        for server in 0..count.max(1) {
            let address = address(Target { host, server });
            let endpoint = Endpoint::builder()
                .config(config.clone())
                .bind(address)
                .await
                .with_context(|| format!("cannot start a server at {address}"))?;
            let serving = endpoint.clone();
            servers.spawn(async move {
                serving
                    .serve(|request| async move {
                        let response = answer(kind, request.message().clone());
                        request.respond(response)
                    })
                    .await;
            });
            endpoints.push(endpoint);
        }
        Ok(Endpoints { endpoints, _servers: servers })
    }

    /// Calls a server and returns its response.
    pub(crate) async fn call(&self, to: Target, message: Bytes) -> Result<Bytes> {
        Ok(self.endpoints[0].call(address(to), message).await?)
    }

    /// Ends all of them; returns how many packets they sent again.
    pub(crate) async fn close(&self) -> u64 {
        let resent = self.endpoints.iter().map(|endpoint| endpoint.metrics().stats.data_resent).sum();
        for endpoint in &self.endpoints {
            endpoint.close();
            endpoint.closed().await;
        }
        resent
    }
}
