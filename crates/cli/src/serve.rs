//! `homarus serve`: answers every request with its own contents.

use crate::{out, runtime, size};
use anyhow::{Context, Result};
use clap::Args;
use homarus::{Endpoint, Metrics};
use serde::Serialize;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval};

/// Answer every request with its own contents (echo), until Ctrl-C
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address to serve on: ADDRESS:PORT; 0.0.0.0 or [::] for all interfaces, port 0 for any free one
    #[arg(default_value = "127.0.0.1:4000")]
    address: String,
    /// Seconds between two lines of statistics while requests come; 0 for none
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    stats: u64,
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
    Listening { address: SocketAddr },
    /// Since the line before.
    Stats(Served),
    /// Since the start.
    Total(Served),
}

/// What was done in some time.
#[derive(Serialize)]
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
    fn between(before: &Metrics, after: &Metrics, time: Duration) -> Served {
        let (earlier, later) = (&before.stats, &after.stats);
        Served {
            seconds: time.as_secs_f64(),
            requests: later.requests_received - earlier.requests_received,
            bytes_received: later.bytes_received - earlier.bytes_received,
            bytes_sent: later.bytes_sent - earlier.bytes_sent,
            packets_received: later.packets_received - earlier.packets_received,
            packets_sent: later.packets_sent - earlier.packets_sent,
            resends: later.resends_sent - earlier.resends_sent,
            packets_resent: later.data_resent - earlier.data_resent,
            peers: after.view.peers,
            held: after.view.server_rpcs,
        }
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
    let endpoint = Endpoint::bind(&args.address).await?;
    Line::Listening { address: endpoint.local_addr() }.print(args.json)?;
    let start = Instant::now();
    tokio::select! {
        result = print_stats(args, &endpoint) => result?,
        signal = runtime::interrupt() => signal?,
        () = answer(&endpoint) => {}
    }
    let total = Served::between(&Metrics::default(), &endpoint.metrics(), start.elapsed());
    tokio::select! {
        ended = endpoint.shutdown(GRACE) => if let Err(error) = ended {
            out::note(&error.to_string());
        },
        () = answer(&endpoint) => {}
        // Asked twice.
        signal = runtime::interrupt() => signal?,
    }
    Line::Total(total).print(args.json)
}

async fn answer(endpoint: &Endpoint) {
    let requests = endpoint.requests();
    while let Some(request) = requests.recv().await {
        let message = request.message().clone();
        if let Err(error) = request.respond(message) {
            tracing::debug!(%error, "a request was not answered");
        }
    }
}

/// Prints what happened since the line before, if anything did.
async fn print_stats(args: &ServeArgs, endpoint: &Endpoint) -> Result<()> {
    if args.stats == 0 {
        return std::future::pending().await;
    }
    let mut ticks = interval(Duration::from_secs(args.stats));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    let mut before = (Instant::now(), endpoint.metrics());
    loop {
        ticks.tick().await;
        let now = (Instant::now(), endpoint.metrics());
        let served = Served::between(&before.1, &now.1, now.0 - before.0);
        if served.requests > 0 {
            Line::Stats(served).print(args.json)?;
        }
        before = now;
    }
}
