//! The receiver's half: incoming messages, grants, and the cutoffs of unscheduled priorities.

mod arrivals;
mod cutoffs;
mod gaps;
mod granter;
mod message;

pub(crate) use arrivals::Arrivals;
pub(crate) use cutoffs::{Cutoffs, unscheduled_priority};
pub(crate) use granter::{GrantRank, Granter};
pub(crate) use message::{Accepted, Incoming, Patience};
