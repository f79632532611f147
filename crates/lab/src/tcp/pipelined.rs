//! One connection to each server, shared by all RPCs to it.

use super::frame::Reader;
use super::server::write_all;
use super::{Opened, socket};
use crate::control::Target;
use anyhow::{Context, Result};
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// RPCs that wait for their responses, in the order of their requests.
type Waiting = Arc<Mutex<VecDeque<oneshot::Sender<Bytes>>>>;

#[derive(Debug)]
pub(super) struct Client {
    congestion: String,
    pipes: Mutex<HashMap<Target, Pipe>>,
    /// Prevents two connections to one server.
    connecting: tokio::sync::Mutex<()>,
    opened: Opened,
}

#[derive(Debug)]
struct Pipe {
    requests: mpsc::UnboundedSender<Bytes>,
    waiting: Waiting,
    _tasks: JoinSet<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    pub(super) fn new(congestion: &str) -> Client {
        Client {
            congestion: congestion.to_owned(),
            pipes: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
            opened: Opened::default(),
        }
    }

    pub(super) fn opened(&self) -> u64 {
        self.opened.get()
    }

    pub(super) async fn connect(&self, to: Target) -> Result<()> {
        let _one_at_a_time = self.connecting.lock().await;
        if lock(&self.pipes).contains_key(&to) {
            return Ok(());
        }
        let stream = socket::connect(to, &self.congestion).await?;
        self.opened.add();
        lock(&self.pipes).insert(to, Pipe::new(stream));
        Ok(())
    }

    pub(super) async fn call(&self, to: Target, message: Bytes) -> Result<Bytes> {
        let connected = lock(&self.pipes).contains_key(&to);
        if !connected {
            self.connect(to).await?;
        }
        let response = lock(&self.pipes).get(&to).and_then(|pipe| pipe.begin(message));
        response.context("the connection has ended")?.await.context("the connection ended before the response")
    }
}

impl Pipe {
    fn new(stream: TcpStream) -> Pipe {
        let (reading, writing) = stream.into_split();
        let (requests, queue) = mpsc::unbounded_channel();
        let waiting = Waiting::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            // The reader sees the connection's end too, and tells the callers.
            let _ = write_all(writing, queue).await;
        });
        let answered = Arc::clone(&waiting);
        tasks.spawn(async move {
            let mut reader = Reader::new(reading);
            while let Ok(Some(response)) = reader.next().await {
                if let Some(caller) = lock(&answered).pop_front() {
                    // A caller that has gone away is not missed.
                    let _ = caller.send(response);
                }
            }
            lock(&answered).clear();
        });
        Pipe { requests, waiting, _tasks: tasks }
    }

    /// Queues a request; what is returned will have the response.
    fn begin(&self, message: Bytes) -> Option<oneshot::Receiver<Bytes>> {
        let (caller, response) = oneshot::channel();
        lock(&self.waiting).push_back(caller);
        self.requests.send(message).ok()?;
        Some(response)
    }
}
