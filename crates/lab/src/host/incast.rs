//! Many servers answering one client at once, and the probe that suffers from it.

use crate::client::Client;
use crate::control::{Reply, Target};
use crate::load::Timer;
use crate::payload::Payload;
use crate::server::request_for;
use crate::sys::now_nanos;
use anyhow::{Context, Result, ensure};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::{JoinHandle, JoinSet};

/// Bytes of a request that asks for a response of another length.
const REQUEST: usize = 100;

/// Rest between two rounds, so that each begins with empty queues.
const REST: Duration = Duration::from_millis(20);

/// Longest time that a round may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Calls all servers at once, waits for all, and does so again.
pub(super) async fn rounds(client: &Arc<Client>, servers: &[Target], reply: u32, rounds: u32) -> Result<Reply> {
    let mut nanos = Vec::new();
    for round in 0..rounds {
        let begin = now_nanos();
        let mut calls = JoinSet::new();
        for &server in servers {
            let client = Arc::clone(client);
            calls.spawn(async move { client.call(server, request_for(reply, REQUEST)).await });
        }
        let all = async {
            while let Some(response) = calls.join_next().await {
                let length = response.context("a call has failed")??.len();
                ensure!(length == reply as usize, "a server answered with {length} bytes instead of {reply}");
            }
            Ok(())
        };
        tokio::time::timeout(PATIENCE, all)
            .await
            .with_context(|| format!("round {round} was not over within {PATIENCE:?}"))??;
        nanos.push(now_nanos() - begin);
        tokio::time::sleep(REST).await;
    }
    Ok(Reply::Rounds { nanos })
}

/// Sends a request at fixed times, whatever comes back.
pub(super) struct Probe {
    stop: Arc<AtomicBool>,
    task: JoinHandle<Result<Reply>>,
}

impl Probe {
    /// The request is as long as its response is: `length` bytes.
    pub(super) fn start(client: Arc<Client>, to: Target, length: u32, period: u64) -> Result<Probe> {
        let stop = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(probe(client, to, length, period, Arc::clone(&stop), Timer::new()?));
        Ok(Probe { stop, task })
    }

    /// Round trips from the scheduled times, and the requests that never came back.
    pub(super) async fn stop(self) -> Result<Reply> {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.context("the probe has failed")?
    }
}

async fn probe(
    client: Arc<Client>,
    to: Target,
    length: u32,
    period: u64,
    stop: Arc<AtomicBool>,
    mut timer: Timer,
) -> Result<Reply> {
    let message = {
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend_from_slice(&Payload::new(length.saturating_sub(4)).message(length.saturating_sub(4)));
        bytes::Bytes::from(bytes)
    };
    let round_trips = Arc::new(Mutex::new(Vec::new()));
    let mut calls = JoinSet::new();
    let mut due = now_nanos() + period;
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        timer.until(due).await?;
        let (client, message, round_trips) = (Arc::clone(&client), message.clone(), Arc::clone(&round_trips));
        calls.spawn(async move {
            if client.call(to, message).await.is_ok() {
                round_trips.lock().unwrap_or_else(PoisonError::into_inner).push(now_nanos() - due);
            }
        });
        while calls.try_join_next().is_some() {}
        sent += 1;
        due += period;
    }
    let rest = async { while calls.join_next().await.is_some() {} };
    // Those that take longer are counted as lost.
    let _ = tokio::time::timeout(Duration::from_secs(5), rest).await;
    let nanos = std::mem::take(&mut *round_trips.lock().unwrap_or_else(PoisonError::into_inner));
    let lost = sent - nanos.len() as u32;
    Ok(Reply::RoundTrips { nanos, lost })
}
