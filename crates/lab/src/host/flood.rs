//! Floods of the proof: as many full-size packets as the link takes, and how many arrive.

use crate::control::{FloodOrder, Reply};
use crate::load::Timer;
use crate::rack::host_ip;
use crate::sys::now_nanos;
use anyhow::{Context, Result};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;

const PORT: u16 = 7100;

/// Contents of a UDP datagram that fills a 1500-byte packet.
const FULL: usize = 1500 - 28;

/// Sends, if told to, and counts what arrives, until a little after the end.
pub(super) async fn flood(index: usize, order: FloodOrder) -> Result<Reply> {
    let socket = Arc::new(UdpSocket::bind((host_ip(index), PORT)).await.context("cannot open the flood's socket")?);
    let sender = order.to.map(|to| tokio::spawn(send(Arc::clone(&socket), to, order.from, order.until)));
    let mut buffer = vec![0; 2048];
    let (mut packets, mut first, mut last) = (0, 0, 0);
    // What is queued at the end arrives within a quarter of a second, and belongs to the measurement.
    let until = order.until + 250_000_000;
    loop {
        let left = Duration::from_nanos(until.saturating_sub(now_nanos()));
        match tokio::time::timeout(left, socket.recv_from(&mut buffer)).await {
            Ok(received) => {
                received.context("cannot receive the flood")?;
                last = now_nanos();
                if packets == 0 {
                    first = last;
                }
                packets += 1;
            }
            Err(_elapsed) => break,
        }
    }
    if let Some(sender) = sender {
        sender.await.context("the flood's sender has failed")??;
    }
    Ok(Reply::Flooded { packets, nanos: last - first })
}

async fn send(socket: Arc<UdpSocket>, to: usize, from: u64, until: u64) -> Result<()> {
    let packet = vec![0; FULL];
    Timer::new()?.until(from).await?;
    while now_nanos() < until {
        match socket.send_to(&packet, (host_ip(to), PORT)).await {
            Ok(_) => {}
            // The queue is full: that is what a flood is for.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => tokio::task::yield_now().await,
            Err(error) => return Err(error).context("cannot send the flood"),
        }
    }
    Ok(())
}
