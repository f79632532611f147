//! A deterministic packet-level simulator of whole clusters: Homa, which is the real protocol core, beside its rivals.

mod agenda;
mod cluster;
pub mod load;
pub mod net;
pub mod report;
pub mod run;
pub mod scenario;
mod time;
pub mod transport;

pub use agenda::Agenda;
pub use cluster::{Application, Cluster, Wishes};
pub use time::{Rate, Time};
