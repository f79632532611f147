//! Makes a noisy machine quieter for the length of a run.

use crate::sys;
use anyhow::{Context, Result};
use serde::Serialize;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

const AUTOGROUP: &str = "/proc/self/autogroup";
/// Nice value of the scheduling group during a run.
const RAISED: i32 = -10;

/// Undone when dropped.
pub(super) struct Quiet {
    spinners: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    restore: Option<String>,
    measures: Measures,
}

/// What could be done.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Measures {
    /// CPUs that an idle-class thread keeps from halting.
    pub(super) idle_spinners: usize,
    /// Whether the processes' scheduling group is ahead of others.
    pub(super) autogroup_raised: bool,
}

impl Quiet {
    /// Starts an idle-class spinner on each of `cpus`, so that virtual CPUs do not halt, and raises the autogroup.
    pub(super) fn start(cpus: &[usize]) -> Result<Quiet> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut quiet = Quiet {
            spinners: Vec::new(),
            stop,
            restore: None,
            measures: Measures { idle_spinners: cpus.len(), autogroup_raised: false },
        };
        for &cpu in cpus {
            let stop = quiet.stop.clone();
            let spinner = thread::Builder::new()
                .name(format!("idle {cpu}"))
                .spawn(move || spin(cpu, &stop))
                .context("a thread could not be started")?;
            quiet.spinners.push(spinner);
        }
        quiet.raise_autogroup();
        Ok(quiet)
    }

    pub(super) fn measures(&self) -> Measures {
        self.measures
    }

    /// Nice values do not reach across autogroups, of which each terminal session has one.
    fn raise_autogroup(&mut self) {
        let Ok(before) = fs::read_to_string(AUTOGROUP) else { return };
        let Some((_, nice)) = before.trim().rsplit_once(' ') else { return };
        if nice.parse().is_ok_and(|nice: i32| nice <= RAISED) {
            self.measures.autogroup_raised = true;
        } else if fs::write(AUTOGROUP, RAISED.to_string()).is_ok() {
            self.measures.autogroup_raised = true;
            self.restore = Some(nice.to_owned());
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(nice) = self.restore.take() {
            // Nobody is left to hear of a failure, and the group ends with the session.
            let _ = fs::write(AUTOGROUP, nice);
        }
        self.stop.store(true, Ordering::Relaxed);
        for spinner in self.spinners.drain(..) {
            let _ = spinner.join();
        }
    }
}

fn spin(cpu: usize, stop: &AtomicBool) {
    // A spinner that is not idle-class, or not where it belongs, would do harm.
    if sys::pin(cpu).and_then(|()| sys::become_idle_class()).is_err() {
        return;
    }
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..1024 {
            std::hint::spin_loop();
        }
    }
}
