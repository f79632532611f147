//! Answers requests over TCP.

use super::frame::{Reader, write};
use super::socket;
use crate::control::{Answer, Target};
use crate::server::answer;
use anyhow::Result;
use bytes::Bytes;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Servers of one host. Dropping it ends them and their connections.
#[derive(Debug)]
pub(crate) struct Server {
    _listeners: JoinSet<()>,
}

impl Server {
    /// Starts `count` servers on this host.
    pub(crate) fn start(host: usize, count: u16, congestion: &str, kind: Answer) -> Result<Server> {
        let mut listeners = JoinSet::new();
        for server in 0..count {
            let listener = socket::listen(Target { host, server }, congestion)?;
            listeners.spawn(accept(listener, kind));
        }
        Ok(Server { _listeners: listeners })
    }
}

async fn accept(listener: TcpListener, kind: Answer) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(connections.spawn(serve(stream, kind))),
            Err(error) => {
                eprintln!("a server could not accept a connection: {error}");
                return;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

/// Answers one connection's requests in order. Reading goes on while answers are being written.
async fn serve(stream: TcpStream, kind: Answer) {
    // A connection ends with an error when the client resets it at the end of a run; the client tells of any other.
    let _: Result<()> = async {
        socket::tune(&stream)?;
        let (reading, writing) = stream.into_split();
        let (answers, queue) = mpsc::unbounded_channel();
        let read = async move {
            let mut reader = Reader::new(reading);
            while let Some(request) = reader.next().await? {
                if answers.send(answer(kind, request)).is_err() {
                    break;
                }
            }
            Ok(())
        };
        tokio::try_join!(read, write_all(writing, queue))?;
        Ok(())
    }
    .await;
}

/// Writes the messages of a queue until it is closed.
pub(super) async fn write_all(mut stream: OwnedWriteHalf, mut queue: mpsc::UnboundedReceiver<Bytes>) -> Result<()> {
    while let Some(message) = queue.recv().await {
        write(&mut stream, message).await?;
    }
    Ok(())
}
