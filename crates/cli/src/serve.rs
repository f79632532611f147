//! `homarus serve`: answers every request with its own contents.

use crate::{capture, out, runtime, size};
use anyhow::{Context, Result};
use clap::Args;
use homarus::{Address, Capture, Endpoint, Metrics};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

/// Answer every request with its own contents (echo), until Ctrl-C
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Addresses to serve on: HOST:PORT over UDP, homa://HOST:PORT over IP for hosts that run the Linux Homa module,
    /// kernel://HOST:PORT by the module in this host's own kernel;
    /// 0.0.0.0 or [::] for all interfaces, port 0 for any free one
    #[arg(value_name = "ADDRESS", default_value = "127.0.0.1:4000")]
    addresses: Vec<Address>,
    /// Seconds between two lines of statistics while requests come; 0 for none
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    stats: u64,
    /// Write what is sent and received to a file, for Wireshark or `homarus dissect`
    #[arg(long, value_name = "FILE.pcapng")]
    capture: Option<PathBuf>,
    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Time that requests in flight get to be answered once the user wants to stop.
const GRACE: Duration = Duration::from_secs(5);

/// What is printed.
#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "event")]
enum Line {
    /// Ready for requests.
    Listening { address: String },
    /// Since the line before.
    Stats(Served),
    /// Since the start.
    Total(Served),
}

/// What was done in some time.
#[derive(Default, Serialize)]
struct Served {
    seconds: f64,
    requests: u64,
    bytes_received: u64,
    bytes_sent: u64,
    packets_received: u64,
    packets_sent: u64,
    /// RESEND packets sent, because packets of requests were missing.
    resends: u64,
    /// DATA packets of answers sent again.
    packets_resent: u64,
    /// Peers known now.
    peers: usize,
    /// Requests held now: arriving, or with a response not yet acknowledged.
    held: usize,
}

impl Served {
    /// By all endpoints together.
    fn between(before: &[Metrics], after: &[Metrics], time: Duration) -> Served {
        let mut served = Served { seconds: time.as_secs_f64(), ..Served::default() };
        for (before, after) in before.iter().zip(after) {
            let (earlier, later) = (&before.stats, &after.stats);
            served.requests += later.requests_received - earlier.requests_received;
            served.bytes_received += later.bytes_received - earlier.bytes_received;
            served.bytes_sent += later.bytes_sent - earlier.bytes_sent;
            served.packets_received += later.packets_received - earlier.packets_received;
            served.packets_sent += later.packets_sent - earlier.packets_sent;
            served.resends += later.resends_sent - earlier.resends_sent;
            served.packets_resent += later.data_resent - earlier.data_resent;
            served.peers += after.view.peers;
            served.held += after.view.server_rpcs;
        }
        served
    }

    fn describe(&self) -> String {
        let mut text = format!(
            "{} requests in {:.1} s ({:.0}/s), {} in, {} out, {} peers, {} held",
            self.requests,
            self.seconds,
            self.requests as f64 / self.seconds,
            size::show(self.bytes_received as f64),
            size::show(self.bytes_sent as f64),
            self.peers,
            self.held
        );
        if self.resends + self.packets_resent > 0 {
            text += &format!("; {} packets sent again, {} asked for again", self.packets_resent, self.resends);
        }
        text
    }
}

impl Line {
    fn print(&self, json: bool) -> Result<()> {
        let line = match self {
            _ if json => serde_json::to_string(self)?,
            Line::Listening { address } => format!("echo service on {address} (Ctrl-C ends it)"),
            Line::Stats(served) => served.describe(),
            Line::Total(served) => format!("served {}", served.describe()),
        };
        out::print(&(line + "\n"))
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: &ServeArgs) -> Result<ExitCode> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the tokio runtime did not start")?
        .block_on(serve(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(args: &ServeArgs) -> Result<()> {
    let capture = capture::create(args.capture.as_deref())?;
    let mut endpoints = Vec::new();
    for address in &args.addresses {
        let mut builder = Endpoint::builder();
        if let Some(capture) = &capture {
            builder = builder.capture(capture.clone());
        }
        let endpoint = builder.bind_address(address).await?;
        let bound = Address::new(address.carrier(), endpoint.local_addr());
        Line::Listening { address: bound.to_string() }.print(args.json)?;
        endpoints.push(endpoint);
    }
    let start = Instant::now();
    let mut answering: JoinSet<()> = endpoints.iter().cloned().map(answer).collect();
    tokio::select! {
        result = print_stats(args, &endpoints, capture.as_ref()) => result?,
        signal = runtime::interrupt() => signal?,
        _ = answering.join_next() => {}
    }
    let before = vec![Metrics::default(); endpoints.len()];
    let total = Served::between(&before, &metrics(&endpoints), start.elapsed());
    tokio::select! {
        () = shut_down(endpoints) => {}
        // Asked twice.
        signal = runtime::interrupt() => signal?,
    }
    capture::flush(capture.as_ref());
    Line::Total(total).print(args.json)
}

async fn shut_down(endpoints: Vec<Endpoint>) {
    let end = |endpoint: Endpoint| async move { endpoint.shutdown(GRACE).await };
    let mut ending: JoinSet<_> = endpoints.into_iter().map(end).collect();
    while let Some(ended) = ending.join_next().await {
        if let Ok(Err(error)) = ended {
            out::note(&error.to_string());
        }
    }
}

fn metrics(endpoints: &[Endpoint]) -> Vec<Metrics> {
    endpoints.iter().map(Endpoint::metrics).collect()
}

async fn answer(endpoint: Endpoint) {
    let requests = endpoint.requests();
    while let Some(request) = requests.recv().await {
        let message = request.message().clone();
        if let Err(error) = request.respond(message) {
            tracing::debug!(%error, "a request was not answered");
        }
    }
}

/// Prints what happened since the line before, if anything did.
async fn print_stats(args: &ServeArgs, endpoints: &[Endpoint], capture: Option<&Capture>) -> Result<()> {
    if args.stats == 0 {
        return std::future::pending().await;
    }
    let mut ticks = interval(Duration::from_secs(args.stats));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    let mut before = (Instant::now(), metrics(endpoints));
    loop {
        ticks.tick().await;
        let now = (Instant::now(), metrics(endpoints));
        capture::flush(capture);
        let served = Served::between(&before.1, &now.1, now.0 - before.0);
        if served.requests > 0 {
            Line::Stats(served).print(args.json)?;
        }
        before = now;
    }
}
