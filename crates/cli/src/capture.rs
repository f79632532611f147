//! What the subcommands with `--capture` do about its file.

use crate::out;
use anyhow::{Context, Result};
use homarus::Capture;
use std::path::Path;

/// The file that the user asked for, if any.
pub(crate) fn create(path: Option<&Path>) -> Result<Option<Capture>> {
    let Some(path) = path else { return Ok(None) };
    let application = concat!("homarus ", env!("CARGO_PKG_VERSION"));
    let capture = Capture::create(path, application);
    let explain = || format!("cannot write the capture {}: choose another file or folder", path.display());
    Ok(Some(capture.with_context(explain)?))
}

/// Writes out what is buffered, and says so once if packets could not be written.
pub(crate) fn flush(capture: Option<&Capture>) {
    let Some(capture) = capture else { return };
    capture.flush();
    if let Some(error) = capture.take_error() {
        let written = capture.counters().written;
        out::note(&format!("the capture ends after {written} packets: {error}; the traffic goes on"));
    }
}
