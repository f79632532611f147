//! The homarus command.
use clap::Parser;
#[derive(Parser)]
struct T { #[command(flatten)] a: homarus_cli::trial::TrialArgs }
fn main() -> anyhow::Result<()> { homarus_cli::trial::run(&T::parse().a, homarus_cli::trial::OWN_TRANSPORTS) }
