//! TCP connections as every trial has them.

use anyhow::{Context, Result};
use homarus_cli::trial;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};

/// A listener whose connections inherit the settings.
pub(crate) async fn listen(at: SocketAddr) -> Result<TcpListener> {
    let listener =
        TcpListener::bind(at).await.with_context(|| format!("TCP cannot listen on {at}: choose a free address"))?;
    trial::tune_tcp(&listener)?;
    Ok(listener)
}

/// A connection to `server`.
pub(crate) async fn connect(server: SocketAddr) -> Result<TcpStream> {
    let connection = TcpStream::connect(server).await.with_context(|| format!("TCP cannot connect to {server}"))?;
    trial::tune_tcp(&connection)?;
    Ok(connection)
}
