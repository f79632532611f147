use crate::bench::BenchArgs;
use crate::call::CallArgs;
use crate::compare::CompareArgs;
use crate::serve::ServeArgs;
use crate::sim::SimArgs;
use crate::trial::TrialArgs;
use clap::{Parser, Subcommand};
use homarus_dissect::DissectArgs;

/// Request/response messages with low tail latency over ordinary UDP: the Homa transport in user space
#[derive(Debug, Parser)]
#[command(
    name = "homarus",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(after_help = "Set RUST_LOG=debug (or =homarus=trace) to see what happens inside.\n\
    Exit codes: 0 done, 1 failed, 2 command line not understood.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Compare(CompareArgs),
    Serve(ServeArgs),
    Call(CallArgs),
    Bench(BenchArgs),
    Sim(SimArgs),
    Dissect(DissectArgs),
    /// One end of a trial of `homarus bench`
    #[command(hide = true)]
    BenchTrial(TrialArgs),
}
