//! A barrier among workers, as between the steps of a training job: each computes for a while, tells the coordinator, and
//! goes on when all have. A call that is answered late is all it takes.
//!
//!     cargo run --release --example barrier                              everything, in this process
//!     cargo run --release --example barrier coordinate 0.0.0.0:4000 8    the coordinator of 8 workers
//!     cargo run --release --example barrier work 10.0.0.1:4000           one worker

use anyhow::{Context, Result, bail, ensure};
use homarus::{Endpoint, Request};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const WORKERS: usize = 8;
const ROUNDS: u64 = 20;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let coordinator = Endpoint::bind("127.0.0.1:0").await?;
            let addr = coordinator.local_addr();
            let coordinating = tokio::spawn(async move { coordinate(&coordinator, WORKERS).await });
            let mut workers = JoinSet::new();
            for number in 0..WORKERS {
                workers.spawn(work(addr, number as u64));
            }
            while let Some(ended) = workers.join_next().await {
                ended??;
            }
            coordinating.await?
        }
        ["coordinate", addr, workers] => {
            let workers = workers.parse().context("expected a number of workers")?;
            coordinate(&Endpoint::bind(addr).await?, workers).await
        }
        ["work", addr] => {
            let addr = addr.parse().context("expected an address such as 10.0.0.1:4000")?;
            work(addr, u64::from(std::process::id())).await
        }
        _ => bail!("expected nothing, `coordinate ADDRESS WORKERS` or `work ADDRESS`"),
    }
}

/// Releases the workers of each round when all of them have arrived.
async fn coordinate(endpoint: &Endpoint, workers: usize) -> Result<()> {
    println!("{workers} workers, {ROUNDS} rounds, coordinated by {}", endpoint.local_addr());
    let requests = endpoint.requests();
    let mut waited = Duration::ZERO;
    for round in 0..ROUNDS {
        let mut arrived: Vec<Request> = Vec::with_capacity(workers);
        let mut first = None;
        while arrived.len() < workers {
            let request = requests.recv().await.context("the coordinator was closed")?;
            let theirs = request.message().first_chunk().copied().map(u64::from_be_bytes);
            ensure!(theirs == Some(round), "a worker is at round {theirs:?}, the others at {round}");
            first.get_or_insert_with(Instant::now);
            arrived.push(request);
        }
        waited += first.map_or(Duration::ZERO, |first| first.elapsed());
        for request in arrived {
            request.respond(round.to_be_bytes())?;
        }
    }
    println!("the fastest worker waited {:.1?} for the slowest, on average", waited / ROUNDS as u32);
    endpoint.shutdown(Duration::from_secs(5)).await?;
    Ok(())
}

/// Computes, waits for the others, and so on.
async fn work(coordinator: SocketAddr, number: u64) -> Result<()> {
    let any = if coordinator.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let client = Endpoint::bind(any).await?.client(coordinator);
    let (mut computing, mut waiting) = (Duration::ZERO, Duration::ZERO);
    for round in 0..ROUNDS {
        let started = Instant::now();
        // Some rounds take some workers longer than others.
        let steps = (number * 7 + round * 3) % 5 + 1;
        tokio::time::sleep(Duration::from_millis(steps)).await;
        let arrived = Instant::now();
        let released = client.call(round.to_be_bytes()).await?;
        ensure!(released[..] == round.to_be_bytes(), "released into another round");
        computing += arrived - started;
        waiting += arrived.elapsed();
    }
    println!("worker {number:>2}: computed for {computing:>8.1?}, waited for {waiting:>8.1?}");
    Ok(())
}
