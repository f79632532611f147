//! Hosts, links, switch ports and one virtual clock.

mod bounds;
mod clock;
mod fate;
mod host;
mod link;
mod packet;
mod schedule;
mod sight;
mod trace;
mod world;

pub use clock::Clock;
pub use fate::{Fate, Judge};
pub use host::{HostId, HostSpec, host_at};
pub use link::LinkSpec;
pub use packet::Packet;
pub use sight::{Observer, Sight};
pub use trace::TraceHash;
pub use world::{Occurrence, World};
