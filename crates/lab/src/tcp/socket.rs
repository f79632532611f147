//! Sockets with the options of the race.

use crate::control::Target;
use crate::rack::host_ip;
use anyhow::{Context, Result, ensure};
use socket2::{Domain, Protocol, Socket, Type};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Port of the first server of a host; the others follow.
const FIRST_PORT: u16 = 9000;

/// Where a server listens.
pub(super) fn address(target: Target) -> SocketAddr {
    SocketAddr::from((host_ip(target.host), FIRST_PORT + target.server))
}

/// Congestion controls that this kernel has loaded.
pub(crate) fn available_congestion_controls() -> Result<Vec<String>> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

fn new_socket(congestion: &str) -> Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).context("cannot open a TCP socket")?;
    socket
        .set_tcp_congestion(congestion.as_bytes())
        .with_context(|| format!("this kernel does not let us use the congestion control {congestion}"))?;
    let in_use = socket.tcp_congestion().context("cannot read a socket's congestion control")?;
    let in_use = in_use.split(|&byte| byte == 0).next().unwrap_or_default();
    ensure!(
        in_use == congestion.as_bytes(),
        "asked for {congestion}, the kernel uses {:?}",
        String::from_utf8_lossy(in_use)
    );
    socket.set_nonblocking(true).context("cannot make a socket non-blocking")?;
    Ok(socket)
}

/// Listens as a server; connections accepted use the same congestion control.
pub(super) fn listen(target: Target, congestion: &str) -> Result<TcpListener> {
    let socket = new_socket(congestion)?;
    socket.set_reuse_address(true).context("cannot share a port with connections that are ending")?;
    let address = address(target);
    socket.bind(&address.into()).with_context(|| format!("cannot bind {address}"))?;
    socket.listen(1024).with_context(|| format!("cannot listen at {address}"))?;
    TcpListener::from_std(socket.into()).context("cannot watch a listening socket")
}

/// Connects to a server.
pub(super) async fn connect(target: Target, congestion: &str) -> Result<TcpStream> {
    let socket = TcpSocket::from_std_stream(new_socket(congestion)?.into());
    let address = address(target);
    let connecting = tokio::time::timeout(Duration::from_secs(10), socket.connect(address));
    let stream = connecting
        .await
        .with_context(|| format!("no connection to {address} within 10 s"))?
        .with_context(|| format!("cannot connect to {address}"))?;
    tune(&stream)?;
    Ok(stream)
}

/// Options of every connection.
pub(super) fn tune(stream: &TcpStream) -> Result<()> {
    stream.set_nodelay(true).context("cannot switch Nagle's delay off")?;
    // Whatever is unsent when a run is over is dropped then, so that it does not burden the next run.
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO)).context("cannot set how a connection ends")
}

/// Whether connections can use this congestion control; asking loads its module where the kernel has one.
pub(crate) fn can_use(congestion: &str) -> bool {
    new_socket(congestion).is_ok()
}
