//! Captures of Homa, read: what `homarus dissect` runs.
//!
//! [`run`] is the command. Its parts are of use alone: [`Capture`] reads pcap and pcapng as a stream, [`decode()`] finds
//! Homa in a frame, on IP protocol 146 or inside UDP, and [`Rpcs`] follows RPCs. All fields stand in one [`table`], from
//! which the text, the JSON and the [dissector for Wireshark](dissector) are made; how a packet is read is
//! `homarus-proto`'s business.

mod args;
pub mod decode;
mod error;
mod file;
mod lua;
pub mod net;
mod ranges;
mod report;
mod rpcs;
mod run;
mod split;
mod summary;
pub mod table;
mod units;

pub use args::DissectArgs;
#[doc(inline)]
pub use decode::decode;
pub use error::{DissectError, FileError};
pub use file::{Capture, Format, Frame, MAX_RECORD, ReadError};
pub use lua::dissector;
pub use net::sum::Checksum;
pub use rpcs::{Change, Message, Rpc, RpcKey, Rpcs, acked};
pub use run::{Outcome, dissect, run};
pub use split::is_plausible;
pub use summary::{Incomplete, LISTED, Spread, Summary};
