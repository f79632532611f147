//! Connections that carry one RPC at a time. The pool grows while all are busy.

use super::frame::{Reader, write};
use super::{Opened, socket};
use crate::control::Target;
use anyhow::{Context, Result};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Semaphore;

/// Most connections from one client to one server; further RPCs wait for one to become free.
const MOST: usize = 256;

#[derive(Debug)]
pub(super) struct Client {
    congestion: String,
    pools: Mutex<HashMap<Target, Arc<Pool>>>,
    opened: Opened,
}

#[derive(Debug)]
struct Pool {
    /// The one used last is used next: its congestion window is fresh.
    idle: Mutex<Vec<Connection>>,
    places: Semaphore,
}

#[derive(Debug)]
struct Connection {
    reader: Reader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

impl Client {
    pub(super) fn new(congestion: &str) -> Client {
        Client { congestion: congestion.to_owned(), pools: Mutex::default(), opened: Opened::default() }
    }

    pub(super) fn opened(&self) -> u64 {
        self.opened.get()
    }

    fn pool(&self, to: Target) -> Arc<Pool> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Pool { idle: Mutex::default(), places: Semaphore::new(MOST) });
        Arc::clone(pools.entry(to).or_insert_with(new))
    }

    async fn open(&self, to: Target) -> Result<Connection> {
        let (reading, writer) = socket::connect(to, &self.congestion).await?.into_split();
        self.opened.add();
        Ok(Connection { reader: Reader::new(reading), writer })
    }

    pub(super) async fn connect(&self, to: Target) -> Result<()> {
        let connection = self.open(to).await?;
        self.pool(to).put(connection);
        Ok(())
    }

    pub(super) async fn call(&self, to: Target, message: Bytes) -> Result<Bytes> {
        let pool = self.pool(to);
        let _place = pool.places.acquire().await.context("the pool is closed")?;
        let idle = pool.take();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.open(to).await?,
        };
        let response = connection.call(message).await?;
        pool.put(connection);
        Ok(response)
    }
}

impl Pool {
    fn take(&self) -> Option<Connection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

impl Connection {
    async fn call(&mut self, message: Bytes) -> Result<Bytes> {
        write(&mut self.writer, message).await?;
        self.reader.next().await?.context("the connection ended before the response")
    }
}
