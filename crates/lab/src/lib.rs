//! Races Homa against its peers with real packets on a rack of network namespaces.
//!
//! A program that runs races calls [`run_if_host`] first thing: each host of a rack is that program, started again. Then
//! [`enter`] moves it into a network namespace, and [`race`] or [`incast`] builds the rack, proves it, and returns a report
//! that [`race_table`], [`race_page`] and [`race_image`] show.

mod client;
mod control;
mod cpu;
mod homa;
mod host;
mod ideal;
mod incast;
mod load;
mod machine;
mod payload;
mod plan;
mod progress;
mod proof;
mod race;
mod rack;
mod report;
mod server;
mod stats;
mod sys;
mod tcp;
mod wire;

pub use control::{Connections, Transport};
pub use homarus_workloads::Workload;
pub use ideal::{IdealResult, Scheduler, ideal};
pub use incast::{incast, planned_incast_time};
pub use machine::Machine;
pub use plan::{IncastPlan, RacePlan};
pub use progress::Progress;
pub use proof::Proof;
pub use race::{planned_time, race};
pub use rack::{Entered, RackShape, enter};
pub use report::*;
pub use wire::message_bytes;

use std::process::ExitCode;

/// Runs a host of a rack if this process was started as one; then the caller exits with the code returned.
pub fn run_if_host() -> Option<ExitCode> {
    if std::env::args_os().nth(1)? != rack::HOST_ARGUMENT {
        return None;
    }
    Some(match host::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("a host of the rack has failed: {error:#}");
            ExitCode::FAILURE
        }
    })
}
