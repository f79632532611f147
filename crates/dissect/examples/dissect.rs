//! The library's command alone: `cargo run -p homarus-dissect --example dissect -- FILE`.

use clap::Parser;
use homarus_dissect::DissectArgs;
use std::io::{stderr, stdout};
use std::process::ExitCode;

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    args: DissectArgs,
}

fn main() -> ExitCode {
    match homarus_dissect::run(&Command::parse().args, &mut stdout(), &mut stderr()) {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
