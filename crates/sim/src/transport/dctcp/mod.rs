//! DCTCP (RFC 8257): TCP that reduces its window by the share of bytes that switches have marked. All but this share and its
//! echo is [`tcp`](super::tcp)'s.

mod echo;
mod marks;

pub(super) use echo::MarkedRuns;
pub(super) use marks::Marks;

use super::tcp::{Congestion, TcpSetup};

/// Weight of the latest round trip in the estimate: 1/16 (RFC 8257 §4.2).
pub const G: f64 = 1.0 / 16.0;

/// Bytes that wait at a 10 Gbit/s port when marking begins: 65 full frames, as in the DCTCP paper (SIGCOMM'10 §3.5).
pub const K_10G: u64 = 65 * 1_538;

/// [`TcpSetup::LINUX`] with DCTCP.
pub const SETUP: TcpSetup = TcpSetup { congestion: Congestion::Dctcp { g: G }, ecn: true, ..TcpSetup::LINUX };
