//! The open-loop workload: each host calls hosts at random, at times that do not depend on how the transport fares.

mod arrivals;
mod generator;
mod timer;

pub(crate) use arrivals::{Arrivals, calibrate, planned_rpcs, rpc_wire_bytes};
pub(crate) use generator::generate;
pub(crate) use timer::Timer;

use crate::stats::{BaseLine, Class};
use serde::{Deserialize, Serialize};

/// The schedule of a run, the same for every transport. Times in ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Schedule {
    /// Seed of all hosts' arrivals.
    pub(crate) seed: u64,
    /// Hosts in the rack.
    pub(crate) hosts: usize,
    /// Text of the distribution of message lengths.
    pub(crate) workload: String,
    /// Mean time between two arrivals at one host.
    pub(crate) mean_gap: f64,
    /// The load builds up for so long before messages count.
    pub(crate) warm_up: u64,
    /// Messages that arrive within this time count.
    pub(crate) window: u64,
    /// The load goes on for so long after that.
    pub(crate) cool_down: u64,
    /// Then messages of the window that have no response yet are waited for, but no longer than this.
    pub(crate) drain: u64,
}

impl Schedule {
    /// Time from the start until the last message is sent.
    pub(crate) fn sending(&self) -> u64 {
        self.warm_up + self.window + self.cool_down
    }

    /// When messages count, from the start.
    pub(crate) fn counted(&self) -> std::ops::Range<u64> {
        self.warm_up..self.warm_up + self.window
    }
}

/// One host's part in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoadOrder {
    pub(crate) schedule: Schedule,
    /// When it starts, monotonic ns.
    pub(crate) start: u64,
    /// What is counted together.
    pub(crate) classes: Vec<Class>,
    /// What slowdowns are measured against.
    pub(crate) base: BaseLine,
}
