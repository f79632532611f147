//! RPCs over Linux TCP, as well as TCP can: long-lived connections, no Nagle delay, one segment for header and message where they fit.
//!
//! A message is its length in four bytes (big-endian), then its contents. Requests in a connection are answered in order.

mod counters;
mod frame;
mod pipelined;
mod pool;
mod server;
mod socket;

pub(crate) use counters::retransmitted_segments;
pub(crate) use server::Server;
pub(crate) use socket::{available_congestion_controls, can_use};

use crate::control::{Connections, Target};
use anyhow::Result;
use bytes::Bytes;
use std::sync::atomic::{AtomicU64, Ordering};

/// A client to any number of servers.
#[derive(Debug)]
pub(crate) struct Client {
    style: Style,
}

#[derive(Debug)]
enum Style {
    Pipelined(pipelined::Client),
    Pool(pool::Client),
}

impl Client {
    /// Uses this congestion control in all its connections.
    pub(crate) fn new(congestion: &str, connections: Connections) -> Client {
        let style = match connections {
            Connections::Pipelined => Style::Pipelined(pipelined::Client::new(congestion)),
            Connections::Pool => Style::Pool(pool::Client::new(congestion)),
        };
        Client { style }
    }

    /// Calls a server and returns its response.
    pub(crate) async fn call(&self, to: Target, message: Bytes) -> Result<Bytes> {
        match &self.style {
            Style::Pipelined(client) => client.call(to, message).await,
            Style::Pool(client) => client.call(to, message).await,
        }
    }

    /// Connects to servers before they are needed.
    pub(crate) async fn connect(&self, to: &[Target]) -> Result<()> {
        for &target in to {
            match &self.style {
                Style::Pipelined(client) => client.connect(target).await?,
                Style::Pool(client) => client.connect(target).await?,
            }
        }
        Ok(())
    }

    /// Connections opened so far.
    pub(crate) fn connections(&self) -> u64 {
        match &self.style {
            Style::Pipelined(client) => client.opened(),
            Style::Pool(client) => client.opened(),
        }
    }
}

/// Counts connections.
#[derive(Debug, Default)]
struct Opened(AtomicU64);

impl Opened {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
