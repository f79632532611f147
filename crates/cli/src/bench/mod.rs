//! `homarus bench`: what homarus costs beside plain UDP, TCP and other libraries, in one interleaved run.

mod link;
mod machine;
mod peers;
mod plan;
mod quiet;
mod record;
mod results;
mod runner;
mod table;

use crate::{out, sys};
use anyhow::{Context, Result, bail};
use clap::Args;
use homarus_lab::{Entered, enter};
use indicatif::{ProgressBar, ProgressStyle};
use link::Link;
use machine::Machine;
use plan::{Contender, Group, Offloads};
use quiet::Quiet;
use record::{Record, Settings, Table};
use results::{Run, Samples};
use runner::Runner;
use std::env;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

/// Compare homarus with UDP, TCP, quinn, tonic and tarpc on this machine
///
/// Every transport does the same jobs in turn, again and again (A B C, C B A, …), each time in a fresh pair of
/// processes: the client on one CPU, the server on another. Only the ratios within one run mean anything.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Fewer and shorter rounds: a first impression in a minute
    #[arg(long)]
    quick: bool,
    /// Rounds; the figures are medians over them [default: 5, with --quick 3]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Milliseconds measured in each trial [default: 700, with --quick 250]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(10..=600_000))]
    measure: Option<u64>,
    /// Between two network namespaces with a veth pair, with offloads on and then off, instead of over loopback
    #[arg(long)]
    veth: bool,
    /// Leave out quinn, tonic and tarpc
    #[arg(long)]
    no_peers: bool,
    /// Only what has TEXT in its title, such as 'round trip', 'spinning' or '1 MB'
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Write the record of the run, raw samples included, to FILE (- for standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl BenchArgs {
    fn settings(&self, client_cpu: usize, server_cpu: usize) -> Settings {
        let (rounds, measure_ms) = if self.quick { (3, 250) } else { (5, 700) };
        let measure_ms = self.measure.unwrap_or(measure_ms);
        Settings {
            rounds: self.rounds.unwrap_or(rounds),
            warmup_ms: (measure_ms / 5).clamp(20, 200),
            measure_ms,
            client_cpu,
            server_cpu,
        }
    }

    /// Opens the record's file before time is spent on measuring.
    fn open_record(&self) -> Result<Destination> {
        match &self.json {
            None => Ok(Destination::Nowhere),
            Some(path) if path.as_os_str() == "-" => Ok(Destination::StandardOutput),
            Some(path) => {
                File::options().write(true).create(true).truncate(false).open(path).map(Destination::File).with_context(
                    || format!("cannot write the record to {}: choose another file or folder", path.display()),
                )
            }
        }
    }

    fn groups(&self, offloads: Offloads) -> Result<Vec<Group>> {
        let mut groups = plan::groups(offloads);
        if let Some(text) = &self.only {
            let titles: Vec<_> = groups.iter().map(|group| group.title).collect();
            groups.retain(|group| group.title.to_lowercase().contains(&text.to_lowercase()));
            if groups.is_empty() {
                bail!("--only '{text}' selects nothing: give a part of one of these: {}", titles.join("; "));
            }
        }
        Ok(groups)
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: &BenchArgs) -> Result<ExitCode> {
    args.groups(Offloads::On)?;
    let file = args.open_record()?;
    if args.veth
        && let Entered::Finished(code) = enter()?
    {
        return Ok(code);
    }
    let cpus = sys::allowed_cpus().context("cannot find out which CPUs this process may use")?;
    let (Some(&client_cpu), Some(&server_cpu)) = (cpus.first(), cpus.get(1).or(cpus.first())) else {
        bail!("this process may use no CPU at all");
    };
    let settings = args.settings(client_cpu, server_cpu);
    let own = env::current_exe().context("cannot find this program's own file")?;
    let mut skipped = Vec::new();
    let peers = match args.no_peers {
        true => Err("quinn, tonic and tarpc are skipped, as --no-peers asks".to_owned()),
        false => peers::find(&own),
    };
    let peers = peers.map_err(|why| skipped.push(why)).ok();
    if client_cpu == server_cpu {
        out::note("only one CPU may be used: client and server share it, and no ratio is what it would be with two");
    }
    if cfg!(debug_assertions) {
        out::note("this program is not optimised: build it with `cargo build --release`");
    }
    for why in &skipped {
        out::note(why);
    }
    let link = if args.veth { Link::veth()? } else { Link::Loopback };
    let runner = Runner { link, own, peers, client_cpu, server_cpu };

    let quiet = Quiet::start(if client_cpu == server_cpu { &cpus[..1] } else { &cpus[..2] })?;
    let measures = quiet.measures();
    let tables = crate::runtime::block_on(measure(args, &runner, &settings))?;
    drop(quiet);

    let record = Record {
        schema: record::SCHEMA,
        program: "homarus bench",
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("HOMARUS_COMMIT"),
        optimised: !cfg!(debug_assertions),
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        command: env::args().collect(),
        machine: Machine::look(cpus.len()),
        settings,
        quiet: measures,
        skipped,
        tables,
    };
    report(file, &record)
}

/// Where the record goes.
enum Destination {
    Nowhere,
    StandardOutput,
    File(File),
}

fn report(to: Destination, record: &Record) -> Result<ExitCode> {
    let json = serde_json::to_string_pretty(record)? + "\n";
    let to_stdout = matches!(to, Destination::StandardOutput);
    match to {
        Destination::Nowhere => {}
        Destination::StandardOutput => out::print(&json)?,
        Destination::File(mut file) => {
            // What an earlier run left, where it is a file that can be cut.
            let _ = file.set_len(0);
            file.write_all(json.as_bytes()).context("cannot write the record")?;
        }
    }
    let mut failed = false;
    for (at, table) in record.tables.iter().enumerate() {
        if !to_stdout {
            out::print(if at == 0 { "" } else { "\n" })?;
            out::print(&heading(record, table))?;
            out::print(&table::render(&table.rows))?;
        }
        for samples in &table.samples {
            if let Some(why) = samples.failure() {
                failed = true;
                out::note(&format!("{} failed: {why}", name(&samples.contender)));
            }
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn heading(record: &Record, table: &Table) -> String {
    let Settings { rounds, measure_ms, .. } = record.settings;
    let Machine { cpu, kernel, cpus, .. } = &record.machine;
    let offloads = match table.offloads {
        Offloads::On => "on",
        Offloads::Off => "off",
    };
    format!(
        "{}, offloads {offloads}: medians of {rounds} interleaved rounds of {measure_ms} ms; {cpus} CPUs ({cpu}), Linux {kernel}; built from {}\n\n",
        table.link,
        record.commit.unwrap_or("an unknown commit"),
    )
}

/// Measures everything, a table for each state of the link.
async fn measure(args: &BenchArgs, runner: &Runner, settings: &Settings) -> Result<Vec<Table>> {
    let mut planned = Vec::new();
    for &offloads in runner.link.offloads() {
        let groups = args.groups(offloads)?;
        let mut contenders = plan::contenders(&groups);
        contenders.retain(|contender| runner.peers.is_some() || !contender.is_peer());
        planned.push((offloads, groups, contenders));
    }
    let trials: usize = planned.iter().map(|(_, _, contenders)| contenders.len()).sum();
    let bar = progress(trials as u64 * u64::from(settings.rounds));
    let mut tables = Vec::new();
    for (offloads, groups, contenders) in planned {
        runner.link.set_offloads(offloads)?;
        let samples = interleave(runner, contenders, settings, &bar).await;
        tables.push(Table { link: runner.link.name(), offloads, rows: results::rows(&groups, &samples), samples });
    }
    bar.finish_and_clear();
    Ok(tables)
}

/// Runs all contenders in turn, round after round, every other round backwards.
async fn interleave(
    runner: &Runner,
    contenders: Vec<Contender>,
    settings: &Settings,
    bar: &ProgressBar,
) -> Vec<Samples> {
    let mut samples: Vec<_> = contenders.into_iter().map(|contender| Samples { contender, runs: Vec::new() }).collect();
    for round in 0..settings.rounds {
        let count = samples.len();
        for turn in 0..count {
            let samples = &mut samples[if round % 2 == 0 { turn } else { count - 1 - turn }];
            let contender = samples.contender;
            bar.set_message(name(&contender));
            let spec = contender.spec(runner.link.mtu(), settings.warmup_ms, settings.measure_ms);
            samples.runs.push(match runner.run(&contender, &spec).await {
                Ok(outcome) => Run::Measured(outcome),
                Err(error) => Run::Failed(out::paragraph(&error)),
            });
            bar.inc(1);
        }
    }
    samples
}

fn progress(trials: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} trials, {eta} left   {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(trials).with_style(style)
}

fn name(contender: &Contender) -> String {
    let Contender { transport, mode, job } = contender;
    let job = match job {
        crate::trial::Job::Rtt => "round trips",
        crate::trial::Job::Rate => "small RPCs",
        crate::trial::Job::Bulk => "long messages",
    };
    let mode = match mode {
        crate::trial::Mode::Blocking => "blocking",
        crate::trial::Mode::Spin => "spinning",
        crate::trial::Mode::Tokio => "tokio",
    };
    format!("{job} over {transport}, {mode}")
}
