//! UDP through tokio: one datagram each way.

use super::{Job, Message, Meter, Spec, announce, runtime};
use anyhow::{Context, Result, bail};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;

const LONGEST_DATAGRAM: usize = 65_507;

/// Answers forever.
pub(super) fn serve(spec: &Spec, at: SocketAddr) -> Result<()> {
    only_round_trips(spec)?;
    runtime()?.block_on(async {
        let socket =
            UdpSocket::bind(at).await.with_context(|| format!("UDP cannot listen on {at}: choose a free address"))?;
        announce(socket.local_addr()?)?;
        let mut buffer = vec![0; LONGEST_DATAGRAM];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await?;
            socket.send_to(&buffer[..length], from).await?;
        }
    })
}

/// Sends requests while `meter` runs.
pub(super) fn drive(spec: &Spec, server: SocketAddr, meter: &Meter) -> Result<()> {
    only_round_trips(spec)?;
    runtime()?.block_on(async {
        let any = match server {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = UdpSocket::bind(any).await?;
        socket.connect(server).await?;
        let mut message = Message::new(spec);
        let mut buffer = vec![0; LONGEST_DATAGRAM];
        let mut stamp = 0;
        // Nothing is lost on these links as long as one datagram is in flight, and a timer for each would be paid
        // for in every round trip: one guard over all of them is enough.
        let trips = async {
            while meter.running() {
                stamp += 1;
                let sent = Instant::now();
                socket.send(message.stamped(stamp)).await?;
                let length = socket.recv(&mut buffer).await?;
                message.check(spec, &buffer[..length])?;
                meter.round_trip(sent);
            }
            Ok(())
        };
        let limit = spec.warmup() + spec.measure() + Duration::from_secs(5);
        tokio::time::timeout(limit, trips).await.context("a datagram was lost: repeat the trial")?
    })
}

fn only_round_trips(spec: &Spec) -> Result<()> {
    if spec.job != Job::Rtt {
        bail!("UDP through tokio is measured for round trips only: use --mode blocking for rate and bulk");
    }
    Ok(())
}
