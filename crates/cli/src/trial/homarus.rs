//! Homarus itself: the blocking API on the caller's thread, sleeping or spinning, and the async API.

use super::{Job, Message, Meter, Mode, Spec, announce, call_concurrently, runtime};
use anyhow::{Context, Result, bail};
use homarus::blocking::Spin;
use homarus::{Bytes, Endpoint, Request, blocking};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

fn bind_blocking(spec: &Spec, at: SocketAddr) -> Result<blocking::Endpoint> {
    let spin = if spec.mode == Mode::Spin { Spin::Always } else { Spin::Never };
    Ok(blocking::Endpoint::builder().spin(spin).bind_blocking(at)?)
}

fn any(server: SocketAddr) -> SocketAddr {
    match server {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    }
}

/// A damaged request is rejected, which fails the client's call.
fn answer(spec: &Spec, request: Request) -> Result<(), homarus::Error> {
    if let Err(error) = Message::check_request(spec, request.message()) {
        tracing::error!(%error, "rejected");
        return Ok(());
    }
    let answer = request.message().slice(..spec.answer_len());
    request.respond(answer)
}

/// Answers forever.
pub(super) fn serve(spec: &Spec, at: SocketAddr) -> Result<()> {
    if spec.mode != Mode::Tokio {
        let endpoint = bind_blocking(spec, at)?;
        announce(endpoint.local_addr())?;
        endpoint.serve(|request| answer(spec, request));
        bail!("the endpoint was closed");
    }
    runtime()?.block_on(async {
        let endpoint = Endpoint::bind(at).await?;
        announce(endpoint.local_addr())?;
        let requests = endpoint.requests();
        while let Some(request) = requests.recv().await {
            // A client that has measured enough just leaves, with requests outstanding.
            let _ = answer(spec, request);
        }
        bail!("the endpoint was closed")
    })
}

/// Sends requests while `meter` runs.
pub(super) fn drive(spec: &Spec, server: SocketAddr, meter: Arc<Meter>) -> Result<()> {
    if spec.mode != Mode::Tokio {
        return drive_blocking(spec, server, &meter);
    }
    runtime()?.block_on(async {
        let client = Endpoint::bind(any(server)).await?.client(server);
        call_concurrently(spec, meter, move |request: Bytes| {
            let client = client.clone();
            async move { client.call(request).await.context("a call failed") }
        })
        .await
    })
}

fn drive_blocking(spec: &Spec, server: SocketAddr, meter: &Meter) -> Result<()> {
    if spec.outstanding != 1 {
        bail!("a blocking call keeps one request outstanding: give --outstanding 1, or --mode tokio");
    }
    let client = bind_blocking(spec, any(server))?.client(server);
    let mut message = Message::new(spec);
    let mut stamp = 0;
    while meter.running() {
        stamp += 1;
        let sent = Instant::now();
        let answer = client.call(message.stamped(stamp)).context("a call failed")?;
        message.check(spec, &answer)?;
        match spec.job {
            Job::Rtt => meter.round_trip(sent),
            Job::Rate | Job::Bulk => meter.count(1),
        }
    }
    Ok(())
}
