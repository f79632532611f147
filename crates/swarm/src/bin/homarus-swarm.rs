//! Plays random scenarios and tells which seeds break the protocol.

use clap::Parser;
use homarus_swarm::run::{Options, Report, Violation, run_seed};
use homarus_swarm::scenario::Scenario;
use indicatif::{ProgressBar, ProgressStyle};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Random scenarios for Homa endpoints in virtual time: each seed is a topology, a load and faults; then the network
/// heals, and everything must converge. Exits with 1 if any seed shows a violation.
#[derive(Parser)]
#[command(name = "homarus-swarm", version)]
struct Arguments {
    /// How many scenarios to play.
    #[arg(long, default_value_t = 1_000, conflicts_with = "seed")]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0, conflicts_with = "seed")]
    from: u64,
    /// Threads.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: u32,
    /// Stop after this many violations.
    #[arg(long, default_value_t = 10)]
    most: usize,
    /// Play the scenario of this seed only.
    #[arg(long)]
    seed: Option<u64>,
    /// Print everything that happens.
    #[arg(long, requires = "seed")]
    trace: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let good = match arguments.seed {
        Some(seed) => play_one(seed, arguments.trace),
        None => play_many(&arguments),
    };
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn play_one(seed: u64, narrate: bool) -> bool {
    if narrate {
        println!("{:#?}", Scenario::from_seed(seed));
    }
    match run_seed(seed, Options { narrate, plant: None }) {
        Ok(report) => {
            println!("seed {seed}: {report:?}");
            true
        }
        Err(violation) => {
            println!("seed {seed}: {violation}");
            false
        }
    }
}

/// Sums over all scenarios.
#[derive(Default)]
struct Totals {
    packets: u64,
    succeeded: u64,
    failed: u64,
    bytes: u64,
    violations: Vec<(u64, Violation)>,
}

impl Totals {
    fn add(&mut self, seed: u64, outcome: Result<Report, Violation>) {
        match outcome {
            Ok(report) => {
                self.packets += report.packets;
                self.succeeded += report.succeeded;
                self.failed += report.failed;
                self.bytes += report.delivered_bytes;
            }
            Err(violation) => self.violations.push((seed, violation)),
        }
    }
}

fn play_many(arguments: &Arguments) -> bool {
    let bar = progress_bar(arguments.seeds);
    let next = AtomicU64::new(arguments.from);
    let end = arguments.from.saturating_add(arguments.seeds);
    let totals = Mutex::new(Totals::default());
    let lock = || totals.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    std::thread::scope(|scope| {
        for _ in 0..arguments.jobs {
            scope.spawn(|| {
                while lock().violations.len() < arguments.most {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    let outcome = run_seed(seed, Options::default());
                    if let Err(violation) = &outcome {
                        bar.suspend(|| println!("{violation}\n  repeat with: homarus-swarm --seed {seed} --trace"));
                    }
                    lock().add(seed, outcome);
                    bar.inc(1);
                }
            });
        }
    });
    let played = bar.position();
    let seconds = bar.elapsed().as_secs_f64();
    bar.finish_and_clear();
    summarise(&lock(), played, seconds)
}

fn progress_bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} scenarios, {per_sec}, {eta} left");
    let bar = ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

fn summarise(totals: &Totals, played: u64, seconds: f64) -> bool {
    let Totals { packets, succeeded, failed, bytes, violations } = totals;
    println!(
        "{played} scenarios in {seconds:.1} s: {succeeded} requests succeeded, {failed} ended with an error, \
         {bytes} bytes delivered in {packets} packets; {} violations",
        violations.len()
    );
    violations.is_empty()
}
