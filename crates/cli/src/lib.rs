//! The homarus command, and the trial protocol that `homarus bench` measures every transport by.

mod args;
mod bench;
mod call;
mod capture;
mod compare;
mod out;
mod runtime;
mod serve;
mod sim;
mod size;
mod sys;
pub mod trial;

use args::{Cli, Command};
use clap::Parser;
use std::io;
use std::panic;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// Runs the command that the process was started with. Exit codes: 0 done, 1 failed, 2 not understood.
pub fn main() -> ExitCode {
    if let Some(code) = homarus_lab::run_if_host() {
        return code;
    }
    panic::set_hook(Box::new(out::report_bug));
    let cli = Cli::parse();
    tracing_subscriber::fmt().with_env_filter(EnvFilter::from_default_env()).with_writer(std::io::stderr).init();
    match panic::catch_unwind(|| dispatch(&cli.command)) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => out::report(&error),
        Err(_reported) => ExitCode::FAILURE,
    }
}

fn dispatch(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => serve::run(args),
        Command::Call(args) => call::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Sim(args) => sim::run(args),
        Command::Dissect(args) => Ok(homarus_dissect::run(args, &mut io::stdout(), &mut io::stderr())?.into()),
        Command::BenchTrial(args) => trial::run(args, trial::OWN_TRANSPORTS).map(|()| ExitCode::SUCCESS),
    }
}
