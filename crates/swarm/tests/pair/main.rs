//! A few endpoints, one virtual clock, and links with rates, delays and faults.

mod incast;
mod limits;
mod links;
mod loss;
mod restart;
mod schedule;
mod stage;
