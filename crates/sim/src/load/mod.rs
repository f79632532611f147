//! What hosts send: workloads.

mod incast;
mod poisson;

pub use incast::Incast;
pub use poisson::{Poisson, PoissonPlan};
