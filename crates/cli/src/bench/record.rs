//! The record of a run, as `--json` writes it. `benches/README.md` documents its form.

use super::machine::Machine;
use super::plan::Offloads;
use super::quiet::Measures;
use super::results::{Row, Samples};
use serde::Serialize;

/// Number of the record's form. It grows when a field changes its meaning or goes away.
pub(super) const SCHEMA: u32 = 1;

/// All of a run.
#[derive(Debug, Serialize)]
pub(super) struct Record {
    pub(super) schema: u32,
    pub(super) program: &'static str,
    pub(super) version: &'static str,
    /// What was built: commit, with `-dirty` if files differed; `None` if unknown.
    pub(super) commit: Option<&'static str>,
    /// Whether the program was optimised.
    pub(super) optimised: bool,
    /// UTC, RFC 3339.
    pub(super) date: String,
    /// Arguments of the command.
    pub(super) command: Vec<String>,
    pub(super) machine: Machine,
    pub(super) settings: Settings,
    pub(super) quiet: Measures,
    /// What was not measured, and why.
    pub(super) skipped: Vec<String>,
    pub(super) tables: Vec<Table>,
}

/// How trials were run.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Settings {
    pub(super) rounds: u32,
    pub(super) warmup_ms: u64,
    pub(super) measure_ms: u64,
    pub(super) client_cpu: usize,
    pub(super) server_cpu: usize,
}

/// What was measured over one link.
#[derive(Debug, Serialize)]
pub(super) struct Table {
    /// `loopback` or `veth`.
    pub(super) link: &'static str,
    pub(super) offloads: Offloads,
    pub(super) rows: Vec<Row>,
    /// Every trial.
    pub(super) samples: Vec<Samples>,
}
