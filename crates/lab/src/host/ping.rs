//! Round trips of small UDP packets, of the highest or the lowest priority.

use crate::control::{PingOrder, Reply};
use crate::load::Timer;
use crate::rack::host_ip;
use crate::sys::now_nanos;
use anyhow::{Context, Result};
use socket2::SockRef;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

/// Port of the echo server for a priority.
fn port(high: bool) -> u16 {
    if high { 7007 } else { 7000 }
}

/// Bytes of a ping's datagram.
const LENGTH: usize = 100;

async fn socket(address: SocketAddr, high: bool) -> Result<UdpSocket> {
    let socket = UdpSocket::bind(address).await.with_context(|| format!("cannot open a socket at {address}"))?;
    let tos = if high { 0xe0 } else { 0 };
    SockRef::from(&socket).set_tos_v4(tos).context("cannot set the priority of a socket's packets")?;
    Ok(socket)
}

/// Answer pings, until dropped.
pub(super) struct EchoServers {
    _tasks: JoinSet<()>,
}

impl EchoServers {
    /// One for each priority.
    pub(super) fn start(index: usize) -> Result<EchoServers> {
        let mut tasks = JoinSet::new();
        for high in [false, true] {
            tasks.spawn(async move {
                match socket((host_ip(index), port(high)).into(), high).await {
                    Ok(socket) => echo(socket).await,
                    Err(error) => eprintln!("host {index} answers no pings: {error:#}"),
                }
            });
        }
        Ok(EchoServers { _tasks: tasks })
    }
}

async fn echo(socket: UdpSocket) {
    let mut buffer = [0; LENGTH];
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        // A full queue loses pings, which whoever sent them counts.
        let _ = socket.send_to(&buffer[..length], from).await;
    }
}

/// Sends pings at their times, whatever comes back, and returns the round trips.
pub(super) async fn ping(index: usize, order: PingOrder) -> Result<Reply> {
    let socket = socket((host_ip(index), 0).into(), order.high).await?;
    let to = SocketAddr::from((host_ip(order.to), port(order.high)));
    let mut timer = Timer::new()?;
    let mut sent_at = vec![0; order.count as usize];
    let mut nanos = Vec::new();
    let mut packet = [0; LENGTH];
    let mut buffer = [0; LENGTH];
    let mut receive = |received: std::io::Result<usize>, buffer: &[u8; LENGTH], sent_at: &[u64]| {
        if received.is_ok_and(|length| length == LENGTH) {
            let number = u32::from_be_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]) as usize;
            nanos.extend(sent_at.get(number).map(|at| now_nanos() - at));
        }
    };
    for number in 0..order.count {
        let due = order.from + u64::from(number) * order.period;
        loop {
            tokio::select! {
                due = timer.until(due) => { due?; break }
                received = socket.recv(&mut buffer) => receive(received, &buffer, &sent_at),
            }
        }
        packet[..4].copy_from_slice(&number.to_be_bytes());
        sent_at[number as usize] = now_nanos();
        socket.send_to(&packet, to).await.context("cannot send a ping")?;
    }
    let end = tokio::time::Instant::now() + Duration::from_millis(300);
    while let Ok(received) = tokio::time::timeout_at(end, socket.recv(&mut buffer)).await {
        receive(received, &buffer, &sent_at);
    }
    let lost = order.count - nanos.len() as u32;
    Ok(Reply::RoundTrips { nanos, lost })
}
