//! The model of the Linux module and a real endpoint, on a link in virtual time.
//!
//! [`Net`] moves packets and time; [`Play`] has both sides' applications exchange RPCs over it and keeps the books.

mod link;
mod play;
mod sight;

pub use link::{Happening, Net, NetConfig, as_linux_peer};
pub use play::{Call, Outcome, Play, Side, contents};
pub use sight::{Fate, Judge, Sight};
