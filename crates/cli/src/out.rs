//! What the user reads: results on standard output, remarks and errors on standard error.

use crate::runtime::Interrupted;
use anyhow::{Error, Result};
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::panic::PanicHookInfo;
use std::process::ExitCode;

/// Nobody reads standard output any longer, as when it is piped into `head`.
#[derive(Debug)]
struct ReaderGone;

impl fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nobody reads the output any longer")
    }
}

impl std::error::Error for ReaderGone {}

/// The command line asks for what cannot be.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Exit code of a command line that was not understood.
const USAGE: u8 = 2;

/// Prints results.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        Err(error) => Err(Error::new(error).context("cannot write to standard output")),
    }
}

/// Prints a remark that is no result. If even that fails there is nobody to tell.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "note: {text}");
}

/// Prints one clear paragraph about a failure, and says what to exit with.
pub(crate) fn report(error: &Error) -> ExitCode {
    if error.is::<ReaderGone>() {
        return ExitCode::SUCCESS;
    }
    let _ = match error.is::<Interrupted>() {
        true => writeln!(io::stderr(), "interrupted"),
        false => writeln!(io::stderr(), "error: {}", paragraph(error)),
    };
    if error.is::<Usage>() { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
}

/// An error with its causes, each said once: some errors tell their cause themselves.
pub(crate) fn paragraph(error: &Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text.is_empty() {
        true => cause,
        false if text.contains(&cause) => text,
        false => format!("{text}: {cause}"),
    })
}

/// Prints what a user can do about a bug of ours, instead of a backtrace.
pub(crate) fn report_bug(panic: &PanicHookInfo<'_>) {
    let payload = panic.payload();
    let what = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let place = panic.location().map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
    let _ = writeln!(
        io::stderr(),
        "error: homarus has a bug: {what}{place}. Please report it with the command that led to it and the output of \
         `homarus --version`."
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_was_told_already_is_not_repeated() {
        let error =
            Error::msg("address in use").context("cannot bind: address in use: take another").context("no server");
        assert_eq!(paragraph(&error), "no server: cannot bind: address in use: take another");
    }
}
