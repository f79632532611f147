//! The model of the Linux module and a real endpoint, on a link in virtual time.
//!
//! [`Net`] moves packets and time; [`Play`] has both sides' applications exchange RPCs over it and keeps the books.

mod link;
mod play;
mod setup;
mod sight;

pub use link::Net;
pub use play::{Call, Outcome, Play, Side, contents};
pub use setup::{Happening, NetConfig, as_linux_peer};
pub use sight::{Fate, Judge, Sight};
