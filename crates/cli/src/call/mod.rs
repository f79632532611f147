//! `homarus call`: sends requests to an echo service and measures the round trips.

mod caller;
mod report;

use crate::{capture, out, runtime, size};
use anyhow::{Context, Result, bail};
use caller::Caller;
use clap::Args;
use homarus::blocking::{self, Spin};
use homarus::{Address, CallOptions, Capture, Endpoint, Stats};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::Report;
use serde::Serialize;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Call an echo service such as `homarus serve`, verify what comes back, and show the round trips
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The service: HOST:PORT over UDP, homa://HOST:PORT over IP for a host that runs the Linux Homa module,
    /// kernel://HOST:PORT by the module in this host's own kernel
    #[arg(value_name = "ADDR")]
    address: Address,
    /// Bytes in each request, such as 100, 64k, 1MB, 256KiB
    #[arg(long, default_value = "100", value_parser = size::parse)]
    size: u32,
    /// Calls in all
    #[arg(long, short = 'n', default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// Calls in flight at a time
    #[arg(long, short, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    concurrency: u32,
    /// Seconds after which a call without an answer fails [default: the transport's, 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    deadline: Option<Duration>,
    /// Use the blocking API, a thread for each call in flight, asleep while it waits
    #[arg(long)]
    blocking: bool,
    /// Use the blocking API and never sleep: shortest round trips, a busy CPU
    #[arg(long, conflicts_with = "blocking")]
    spin: bool,
    /// Go on when a call fails
    #[arg(long)]
    keep_going: bool,
    /// Write what is sent and received to a file, for Wireshark or `homarus dissect`
    #[arg(long, value_name = "FILE.pcapng")]
    capture: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Most threads that blocking calls may use.
const MOST_THREADS: u32 = 1000;
/// A run that takes longer gets a progress bar.
const LONG: Duration = Duration::from_secs(1);

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero())
        .ok_or_else(|| format!("'{text}' is no time: expected seconds, such as 2 or 0.5"))
}

/// Which API calls are made through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Api {
    Async,
    Blocking,
    Spin,
}

impl CallArgs {
    fn api(&self) -> Api {
        match (self.blocking, self.spin) {
            (true, _) => Api::Blocking,
            (_, true) => Api::Spin,
            _ => Api::Async,
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: &CallArgs) -> Result<ExitCode> {
    if args.api() != Api::Async && args.concurrency > MOST_THREADS {
        bail!(
            "{} blocking calls at a time need as many threads: at most {MOST_THREADS}, or leave out --blocking and --spin",
            args.concurrency
        );
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MOST_THREADS as usize + 1)
        .build()
        .context("the tokio runtime did not start")?
        .block_on(call(args))
}

async fn call(args: &CallArgs) -> Result<ExitCode> {
    let server = args.address.resolve().await?;
    let capture = capture::create(args.capture.as_deref())?;
    let caller = Arc::new(Caller::new(args.size, args.count, args.keep_going, CallOptions { deadline: args.deadline }));
    let mut workers = JoinSet::new();
    let start = Instant::now();
    let endpoint = Started::new(args, server, capture.as_ref(), &caller, &mut workers).await?;

    let mut interrupted = false;
    let mut interrupt = pin!(runtime::interrupt());
    let bar = progress(args.count);
    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    loop {
        tokio::select! {
            ended = workers.join_next() => match ended {
                None => break,
                Some(ended) => ended.context("a caller failed")?,
            },
            signal = &mut interrupt, if !interrupted => {
                signal?;
                interrupted = true;
                caller.stop();
                endpoint.close();
            }
            _ = ticks.tick() => show_progress(&bar, caller.done(), start),
        }
    }
    bar.finish_and_clear();
    capture::flush(capture.as_ref());

    let tally = caller.tally();
    let server = Address::new(args.address.carrier(), server).to_string();
    let report = Report::new(args, server, &tally, &endpoint.stats(), start.elapsed(), interrupted);
    out::print(&if args.json { report.json()? } else { report.text() })?;
    match interrupted {
        true => Err(runtime::Interrupted.into()),
        false if tally.failures.is_empty() => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::FAILURE),
    }
}

/// The endpoint of a run whose workers are at work.
enum Started {
    Async(Endpoint),
    Blocking(blocking::Endpoint),
}

impl Started {
    async fn new(
        args: &CallArgs,
        server: SocketAddr,
        capture: Option<&Capture>,
        caller: &Arc<Caller>,
        workers: &mut JoinSet<()>,
    ) -> Result<Started> {
        let any: IpAddr = match server {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let any = Address::new(args.address.carrier(), SocketAddr::new(any, 0));
        let mut builder = Endpoint::builder();
        if let Some(capture) = capture {
            builder = builder.capture(capture.clone());
        }
        if args.api() == Api::Async {
            let endpoint = builder.bind_address(&any).await?;
            for _ in 0..args.concurrency {
                let (caller, client) = (caller.clone(), endpoint.client(server));
                workers.spawn(async move { caller.call_async(&client).await });
            }
            return Ok(Started::Async(endpoint));
        }
        let spin = if args.spin { Spin::Always } else { Spin::Never };
        let endpoint = builder.spin(spin).bind_address_blocking(&any)?;
        for _ in 0..args.concurrency {
            let (caller, client) = (caller.clone(), endpoint.client(server));
            workers.spawn_blocking(move || caller.call_blocking(&client));
        }
        Ok(Started::Blocking(endpoint))
    }

    fn stats(&self) -> Stats {
        match self {
            Started::Async(endpoint) => endpoint.metrics().stats,
            Started::Blocking(endpoint) => endpoint.metrics().stats,
        }
    }

    /// Ends all calls.
    fn close(&self) {
        match self {
            Started::Async(endpoint) => endpoint.close(),
            Started::Blocking(endpoint) => endpoint.close(),
        }
    }
}

fn progress(calls: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} calls, {msg}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(calls), ProgressDrawTarget::hidden()).with_style(style)
}

fn show_progress(bar: &ProgressBar, done: u64, start: Instant) {
    if bar.is_hidden() && start.elapsed() > LONG {
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
    bar.set_position(done);
    bar.set_message(format!("{:.0}/s", done as f64 / start.elapsed().as_secs_f64()));
}
