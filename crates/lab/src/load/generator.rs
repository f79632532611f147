use super::arrivals::{Arrival, rpc_wire_bytes};
use super::{Arrivals, LoadOrder, Timer};
use crate::client::Client;
use crate::control::{LoadReply, Target};
use crate::payload::Payload;
use crate::stats::Recorded;
use crate::sys::now_nanos;
use anyhow::{Context, Result};
use homarus_workloads::Workload;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// Sends one host's messages of a run and records how they fare.
///
/// Round trips are counted from the time at which a message was to be sent, not from when there was time to send it.
pub(crate) async fn generate(client: Arc<Client>, host: usize, order: LoadOrder) -> Result<LoadReply> {
    let schedule = order.schedule.clone();
    let workload = Workload::from_csv("as ordered", &schedule.workload).context("the order has no workload")?;
    let payload = Payload::new(workload.largest());
    let arrivals = Arrivals::new(workload, schedule.seed, schedule.hosts, schedule.mean_gap, host);
    let sending = schedule.sending();
    let deadline = order.start + sending + schedule.drain;
    let start = order.start;
    let ledger = Arc::new(Ledger::new(order));
    let mut timer = Timer::new()?;
    let mut calls = JoinSet::new();
    for (number, arrival) in arrivals.take_while(|arrival| arrival.at < sending).enumerate() {
        timer.until(start + arrival.at).await?;
        ledger.begin(number, arrival);
        let (client, ledger, message) = (Arc::clone(&client), Arc::clone(&ledger), payload.message(arrival.length));
        calls.spawn(async move {
            let to = Target { host: arrival.to, server: 0 };
            let outcome = match client.call(to, message.clone()).await {
                Ok(response) if response == message => Ok(()),
                Ok(response) => {
                    Err(format!("{} bytes came back for {}, or other contents", response.len(), message.len()))
                }
                Err(error) => Err(format!("{error:#}")),
            };
            ledger.end(number, arrival, outcome);
        });
        while calls.try_join_next().is_some() {}
    }
    while ledger.waiting() > 0 && now_nanos() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    calls.shutdown().await;
    Ok(ledger.result(now_nanos()))
}

/// What one host has sent and got back.
struct Ledger {
    order: LoadOrder,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Messages of the window without a response.
    open: HashMap<usize, Arrival>,
    reply: LoadReply,
}

impl Ledger {
    fn new(order: LoadOrder) -> Ledger {
        let reply = LoadReply { recorded: Recorded::new(order.classes.len()), ..LoadReply::default() };
        Ledger { order, state: Mutex::new(State { open: HashMap::new(), reply }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counts(&self, arrival: &Arrival) -> bool {
        self.order.schedule.counted().contains(&arrival.at)
    }

    fn begin(&self, number: usize, arrival: Arrival) {
        if self.counts(&arrival) {
            self.state().open.insert(number, arrival);
        }
    }

    fn end(&self, number: usize, arrival: Arrival, outcome: Result<(), String>) {
        let since_start = now_nanos().saturating_sub(self.order.start);
        let mut state = self.state();
        state.open.remove(&number);
        if outcome.is_ok() && self.order.schedule.counted().contains(&since_start) {
            state.reply.completed_wire_bytes += rpc_wire_bytes(arrival.length);
        }
        if !self.counts(&arrival) {
            return;
        }
        match outcome {
            Ok(()) => self.record(&mut state.reply, arrival, since_start),
            Err(why) => {
                state.reply.errors += 1;
                state.reply.first_error.get_or_insert(why);
            }
        }
    }

    fn record(&self, reply: &mut LoadReply, arrival: Arrival, since_start: u64) {
        let nanos = since_start.saturating_sub(arrival.at);
        reply.recorded.record(&self.order.classes, &self.order.base, arrival.length, nanos);
    }

    fn waiting(&self) -> usize {
        self.state().open.len()
    }

    /// Messages that are still open count with the time that they have waited, so that a transport does not look better for never answering.
    fn result(&self, now: u64) -> LoadReply {
        let mut state = self.state();
        let open = std::mem::take(&mut state.open);
        let mut reply = std::mem::take(&mut state.reply);
        reply.unfinished = open.len() as u64;
        for arrival in open.into_values() {
            self.record(&mut reply, arrival, now.saturating_sub(self.order.start));
        }
        reply
    }
}
