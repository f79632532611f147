//! Runs a subcommand's future until it ends or the user interrupts it.

use anyhow::{Context, Result};
use std::fmt;
use std::future::Future;
use tokio::signal::unix::{SignalKind, signal};

/// The user pressed Ctrl-C, or the process was asked to terminate.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// Runs `future` on a runtime of one thread; an interrupt drops it and is an error.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the tokio runtime did not start")?;
    runtime.block_on(async {
        tokio::select! {
            result = future => result,
            signal = interrupt() => signal.and(Err(Interrupted.into())),
        }
    })
}

/// Waits for Ctrl-C or SIGTERM.
pub(crate) async fn interrupt() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for signals")?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed.context("cannot wait for Ctrl-C"),
        _ = terminate.recv() => Ok(()),
    }
}
