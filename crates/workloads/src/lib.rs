//! Message-size distributions of the published Homa workloads, and sampling from them.
//!
//! ```
//! use homarus_workloads::Workload;
//!
//! let workload: Workload = "linux_w4".parse().unwrap();
//! assert_eq!(workload.largest(), 1_000_000);
//! let shortest_tenth = workload.quantile(0.1);
//! assert!(shortest_tenth < 400);
//! ```
//!
//! Nothing here needs an operating system but [`Workload::from_file`] and [`Workload::resolve`].

mod builtin;
mod csv;
mod file;
mod workload;

pub use csv::CsvError;
pub use file::LoadError;
pub use workload::{Step, UnknownWorkload, Workload};
