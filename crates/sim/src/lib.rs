//! A deterministic packet-level simulator of whole clusters: Homa, which is the real protocol core, beside its rivals.

mod agenda;
mod cluster;
pub mod load;
pub mod net;
mod published;
pub mod report;
pub mod run;
pub mod scenario;
mod time;
pub mod transport;

pub use agenda::Agenda;
pub use cluster::{Application, Cluster, Wishes};
pub use published::{Published, published};
pub use time::{Rate, Time};
