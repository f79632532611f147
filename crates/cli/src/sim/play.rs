//! Plays a scenario and shows what came of it.

use crate::out;
use anyhow::{Context, Result};
use clap::Args;
use homarus_sim::run::{self, Outcome};
use homarus_sim::scenario::{LoadPlan, Scenario};
use homarus_sim::{Published, published, report};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use rayon::prelude::*;
use serde::Serialize;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

/// Where results go.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// Write the results as JSON; `-`: to standard output instead of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The form of the JSON.
#[derive(Debug, Serialize)]
struct Record<'a> {
    schema: &'static str,
    version: &'static str,
    scenario: &'a Scenario,
    outcomes: &'a [Outcome],
}

/// Lets all transports of a scenario carry its load, side by side.
pub(crate) fn run(scenario: &Scenario, output: &Output) -> Result<ExitCode> {
    scenario.check().map_err(|e| out::Usage(e.to_string()))?;
    if let Some(file) = output.json.as_deref().filter(|file| file.as_os_str() != "-") {
        // Better now than when all has been simulated.
        let opened = fs::OpenOptions::new().append(true).create(true).open(file);
        opened.with_context(|| format!("cannot write {}: choose another file for --json", file.display()))?;
    }
    let outcomes = play(scenario)?;
    let json = output.json.as_deref();
    if json.is_none_or(|file| file.as_os_str() != "-") {
        let tables: Vec<String> =
            outcomes.iter().map(|outcome| report::table(outcome, &beside(scenario, outcome))).collect();
        out::print(&tables.join("\n"))?;
    }
    if let Some(file) = json {
        let record =
            Record { schema: "homarus-sim/1", version: env!("CARGO_PKG_VERSION"), scenario, outcomes: &outcomes };
        let text = serde_json::to_string_pretty(&record).context("cannot put the results into JSON")? + "\n";
        match file.as_os_str() == "-" {
            true => out::print(&text)?,
            false => fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Plays all transports, each with a progress bar.
pub(crate) fn play(scenario: &Scenario) -> Result<Vec<Outcome>> {
    let bars = MultiProgress::new();
    let style = ProgressStyle::with_template("{bar:30.cyan/dim} {percent:>3} %  {eta:>4} left  {per_sec}  {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let outcomes = scenario.transports.par_iter().map(|transport| {
        if !io::stderr().is_terminal() {
            out::note(&format!("{}: simulating {}", scenario.name, transport.label()));
        }
        let bar = bars.add(ProgressBar::new(1).with_style(style.clone()).with_message(transport.label()));
        let outcome = run::run(scenario, transport, &mut |done, all| {
            bar.set_length(all);
            bar.set_position(done);
        });
        bar.finish_and_clear();
        outcome
    });
    Ok(outcomes.collect::<Result<_, _>>()?)
}

/// What was published about this very scenario.
fn beside(scenario: &Scenario, outcome: &Outcome) -> Vec<Published> {
    let paper = scenario.cluster == Default::default() && scenario.switch == Default::default();
    match &scenario.load {
        LoadPlan::Poisson { load, echo: false, .. } if paper && (load - 0.8).abs() < 1e-9 => {
            scenario.workload().map_or_else(Vec::new, |workload| published(&workload, &outcome.transport))
        }
        _ => Vec::new(),
    }
}
