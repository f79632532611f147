//! What hosts send: workloads.

mod poisson;

pub use poisson::{Poisson, PoissonPlan};
