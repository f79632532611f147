//! What the user reads.

mod json;
mod line;
mod text;

pub(crate) use json::Json;
pub(crate) use text::Text;

use crate::decode::Item;
use crate::file::Format;
use crate::rpcs::{Rpc, RpcKey};
use crate::summary::Summary;
use std::io;

/// The frame that something stands in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The frame's number.
    pub(crate) frame: u64,
    /// Nanoseconds since 1970.
    pub(crate) time: Option<u64>,
    /// Nanoseconds since the file's first frame, or since the RPC's first packet in a timeline.
    pub(crate) since: Option<u64>,
    /// Nanoseconds since the RPC's packet before, in a timeline.
    pub(crate) gap: Option<u64>,
    /// Digits of the seconds that the file knows.
    pub(crate) digits: usize,
}

/// A way to show what is found.
pub(crate) trait Report {
    /// The file can be read.
    fn start(&mut self, file: &str, format: Format) -> io::Result<()>;
    /// A packet, or what else of Homa stands in a frame.
    fn item(&mut self, place: &Place, item: &Item, rpc: Option<(&RpcKey, &Rpc)>) -> io::Result<()>;
    /// How an RPC stands at the end of its timeline.
    fn rpc(&mut self, key: &RpcKey, rpc: &Rpc) -> io::Result<()>;
    /// Totals below a list of packets.
    fn totals(&mut self, summary: &Summary) -> io::Result<()>;
    /// The summary.
    fn summary(&mut self, summary: &Summary) -> io::Result<()>;
}
