//! RPC libraries that homarus is measured against, each in its best configuration: quinn, tonic, tarpc.
//!
//! `homarus bench` starts this program for the trials of those libraries. They speak the same trial protocol as
//! homarus's own transports, so that every library is measured alike.

mod any_server;
mod quinn_streams;
mod tarpc_tcp;
mod tcp;
mod tonic_unary;

use clap::Parser;
use homarus_cli::trial::{self, Mode, Spec, Transport, TrialArgs};
use std::process::ExitCode;

/// Runs one end of a trial for `homarus bench`
#[derive(Parser)]
#[command(name = "homarus-peers", version = trial::VERSION)]
struct Arguments {
    #[command(flatten)]
    trial: TrialArgs,
}

const TRANSPORTS: &[Transport] = &[
    Transport { name: "quinn", serve: quinn_streams::serve, drive: quinn_streams::drive },
    Transport { name: "tonic", serve: tonic_unary::serve, drive: tonic_unary::drive },
    Transport { name: "tarpc", serve: tarpc_tcp::serve, drive: tarpc_tcp::drive },
];

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match only_tokio(&arguments.trial.spec).and_then(|()| trial::run(&arguments.trial, TRANSPORTS)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("homarus-peers: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn only_tokio(spec: &Spec) -> anyhow::Result<()> {
    anyhow::ensure!(spec.mode == Mode::Tokio, "these libraries wait in tokio only: give --mode tokio");
    Ok(())
}
