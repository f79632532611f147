//! `homarus sim`: whole clusters, simulated packet by packet.

mod paper;
mod play;
mod rivals;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use homarus_sim::scenario::Scenario;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Simulate whole clusters, packet by packet
///
/// Homa is the real protocol core here, the same code that runs on sockets. The same seed gives the same results each time.
#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Run a scenario file
    Run(RunArgs),
    /// The Homa paper's cluster and definitions (SIGCOMM'18 §5.2), beside its published results
    Paper(paper::PaperArgs),
    /// Echo of equal lengths on one switch, Homa against TCP and DCTCP
    Talk(paper::TalkArgs),
    /// One client asks many servers, which answer all at once
    Incast(paper::IncastArgs),
}

#[derive(Debug, Args)]
struct RunArgs {
    /// The scenario, in TOML (docs/sim.md)
    file: PathBuf,
    #[command(flatten)]
    output: play::Output,
}

/// Runs what was asked for.
pub(crate) fn run(args: &SimArgs) -> Result<ExitCode> {
    match &args.what {
        What::Run(args) => {
            let text =
                fs::read_to_string(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?;
            let scenario =
                Scenario::from_toml(&text).map_err(|e| crate::out::Usage(format!("{}: {e}", args.file.display())))?;
            play::run(&scenario, &args.output)
        }
        What::Paper(args) => paper::run(args),
        What::Talk(args) => paper::talk(args),
        What::Incast(args) => paper::incast(args),
    }
}
