//! The best that a transport can do: RPCs one at a time on an idle rack.

use crate::client::Client;
use crate::control::Target;
use crate::payload::Payload;
use crate::stats::BaseLine;
use crate::sys::now_nanos;
use anyhow::{Result, ensure};

/// Fewest and most RPCs of one length.
const FEWEST: u32 = 3;
const MOST: u32 = 100;

/// The least round trip of each length.
pub(super) async fn measure(client: &Client, to: Target, lengths: &[u32], nanos_each: u64) -> Result<BaseLine> {
    let payload = Payload::new(lengths.iter().copied().max().unwrap_or(0));
    let mut points = Vec::new();
    for &length in lengths {
        let begin = now_nanos();
        let mut best = u64::MAX;
        let mut done = 0;
        while done < FEWEST || (done < MOST && now_nanos() - begin < nanos_each) {
            let sent = now_nanos();
            let response = client.call(to, payload.message(length)).await?;
            best = best.min(now_nanos() - sent);
            ensure!(response.len() == length as usize, "{} bytes came back for {length}", response.len());
            done += 1;
        }
        points.push((length, best));
    }
    Ok(BaseLine { points })
}
