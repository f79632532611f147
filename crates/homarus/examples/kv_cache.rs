//! A look-up service for a KV cache: inference servers ask it for the attention state of prompts that another has
//! computed already. Small requests, answers of tens of kilobytes, and latency that counts.
//!
//!     cargo run --release --example kv_cache                      server and clients, in this process
//!     cargo run --release --example kv_cache serve 0.0.0.0:4000   the server alone
//!     cargo run --release --example kv_cache load 10.0.0.1:4000   the clients alone

use anyhow::{Context, Result, bail, ensure};
use hdrhistogram::Histogram;
use homarus::{Bytes, Client, Endpoint, Error, Request};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Cached blocks, and bytes in each: 16 tokens of a small model.
const BLOCKS: u64 = 500;
const BLOCK_LEN: usize = 64 << 10;
const CLIENTS: u64 = 8;
const LOOKUPS: u64 = 2_000;

/// A request is an operation, a key, and for `PUT` the value. The answer is a status and for `GET` the value.
const GET: u8 = 0;
const PUT: u8 = 1;
const FOUND: u8 = 1;
const MISSING: u8 = 0;
const MALFORMED: u8 = 2;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let server = Endpoint::bind("127.0.0.1:0").await?;
            let serving = tokio::spawn(serve(server.clone()));
            load(server.local_addr()).await?;
            server.shutdown(Duration::from_secs(5)).await?;
            serving.await?;
            Ok(())
        }
        ["serve", addr] => {
            serve(Endpoint::bind(addr).await?).await;
            Ok(())
        }
        ["load", addr] => load(addr.parse().context("expected an address such as 10.0.0.1:4000")?).await,
        _ => bail!("expected nothing, `serve ADDRESS` or `load ADDRESS`"),
    }
}

type Store = RwLock<HashMap<u64, Bytes>>;

async fn serve(endpoint: Endpoint) {
    println!("caching on {}", endpoint.local_addr());
    let store = Arc::new(Store::default());
    endpoint
        .serve(move |request| {
            let store = Arc::clone(&store);
            async move { answer(&store, request) }
        })
        .await;
}

fn answer(store: &Store, request: Request) -> Result<(), Error> {
    let message = request.message();
    let Some((&[operation, ref key @ ..], value)) = message.split_first_chunk::<9>() else {
        return request.respond([MALFORMED]);
    };
    let key = u64::from_be_bytes(*key);
    match operation {
        // What is stored is the whole answer, so that a look-up copies nothing.
        GET => match store.read().ok().and_then(|store| store.get(&key).cloned()) {
            Some(found) => request.respond(found),
            None => request.respond([MISSING]),
        },
        PUT => {
            let stored = [&[FOUND], value].concat();
            if let Ok(mut store) = store.write() {
                store.insert(key, stored.into());
            }
            request.respond([FOUND])
        }
        _ => request.respond([MALFORMED]),
    }
}

fn request(operation: u8, key: u64, value: &[u8]) -> Vec<u8> {
    [&[operation], &key.to_be_bytes()[..], value].concat()
}

/// What a block contains can be told from its key.
fn block(key: u64) -> Vec<u8> {
    (0..BLOCK_LEN as u64 / 8).flat_map(|index| (key.wrapping_mul(index | 1)).to_le_bytes()).collect()
}

/// Looks a block up; `None` if it is not cached.
async fn get(cache: &Client, key: u64) -> Result<Option<Bytes>> {
    let answer = cache.call(request(GET, key, &[])).await?;
    match answer.first() {
        Some(&FOUND) => Ok(Some(answer.slice(1..))),
        Some(&MISSING) => Ok(None),
        _ => bail!("the cache did not understand"),
    }
}

async fn load(server: SocketAddr) -> Result<()> {
    let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let started = Instant::now();
    let filler = Endpoint::bind(any).await?.client(server);
    for key in 0..BLOCKS {
        filler.call(request(PUT, key, &block(key))).await?;
    }
    let filled = started.elapsed();
    println!("put {BLOCKS} blocks of {} KB in {filled:.0?}", BLOCK_LEN >> 10);

    let started = Instant::now();
    let mut clients = JoinSet::new();
    for seed in 0..CLIENTS {
        let cache = Endpoint::bind(any).await?.client(server);
        clients.spawn(async move { look_up(&cache, seed).await });
    }
    let (mut hits, mut misses) = (histogram()?, histogram()?);
    while let Some(ended) = clients.join_next().await {
        let (own_hits, own_misses) = ended??;
        hits.add(own_hits)?;
        misses.add(own_misses)?;
    }
    let took = started.elapsed();
    let gigabits = (hits.len() * BLOCK_LEN as u64 * 8) as f64 / took.as_nanos() as f64;
    println!("{} look-ups by {CLIENTS} clients in {took:.0?}, {gigabits:.1} Gbit/s", hits.len() + misses.len());
    for (name, times) in [("hit", hits), ("miss", misses)] {
        let micros = |quantile| times.value_at_quantile(quantile) as f64 / 1000.0;
        println!(
            "{name:>5}: {:>6} times, P50 {:>7.1} µs, P99 {:>7.1} µs, P99.9 {:>7.1} µs",
            times.len(),
            micros(0.5),
            micros(0.99),
            micros(0.999)
        );
    }
    Ok(())
}

/// Up to a minute, to three digits.
fn histogram() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_max(60_000_000_000, 3)?)
}

/// Looks up blocks at random, a quarter of them not cached, and returns how long hits and misses took.
async fn look_up(cache: &Client, seed: u64) -> Result<(Histogram<u64>, Histogram<u64>)> {
    let (mut hits, mut misses) = (histogram()?, histogram()?);
    let mut dice = seed;
    for _ in 0..LOOKUPS {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let key = (dice >> 33) % (BLOCKS * 4 / 3);
        let started = Instant::now();
        let found = get(cache, key).await?;
        let nanos = started.elapsed().as_nanos() as u64;
        match found {
            Some(value) => {
                hits.saturating_record(nanos);
                ensure!(value[..] == block(key), "block {key} came back changed");
            }
            None => {
                misses.saturating_record(nanos);
                ensure!(key >= BLOCKS, "block {key} was lost");
            }
        }
    }
    Ok((hits, misses))
}
