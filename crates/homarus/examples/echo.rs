//! The smallest server and client.
//!
//!     cargo run --example echo                      both, in this process
//!     cargo run --example echo serve 0.0.0.0:4000   the server alone
//!     cargo run --example echo call 10.0.0.1:4000   the client alone

use anyhow::{Context, Result, bail, ensure};
use homarus::Endpoint;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let server = Endpoint::bind("127.0.0.1:0").await?;
            let serving = tokio::spawn(serve(server.clone()));
            call(server.local_addr()).await?;
            server.shutdown(Duration::from_secs(5)).await?;
            serving.await?;
            Ok(())
        }
        ["serve", addr] => {
            serve(Endpoint::bind(addr).await?).await;
            Ok(())
        }
        ["call", addr] => call(addr.parse().context("expected an address such as 10.0.0.1:4000")?).await,
        _ => bail!("expected nothing, `serve ADDRESS` or `call ADDRESS`"),
    }
}

/// Sends every request back.
async fn serve(endpoint: Endpoint) {
    println!("serving on {}", endpoint.local_addr());
    endpoint
        .serve(|request| async move {
            let message = request.message().clone();
            request.respond(message)
        })
        .await;
}

/// Sends messages of several lengths and checks what comes back.
async fn call(server: SocketAddr) -> Result<()> {
    let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let client = Endpoint::bind(any).await?.client(server);
    println!("{:>10}  {:>12}", "bytes", "round trip");
    for length in [0, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
        let message: Vec<u8> = (0..length).map(|index| index as u8).collect();
        let started = Instant::now();
        let echo = client.call(&message).await?;
        println!("{length:>10}  {:>12.1?}", started.elapsed());
        ensure!(echo[..] == message[..], "the echo of {length} bytes is not what was sent");
    }
    Ok(())
}
