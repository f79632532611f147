use crate::net::Hop;
use crate::published::Published;
use crate::run::Outcome;
use std::fmt::Write;

/// From so many messages on a 99th percentile is held against a published one.
const COMPARABLE: u64 = 100;

/// An outcome as text. `published` stands beside what it can be held against.
pub fn table(outcome: &Outcome, published: &[Published]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_table(&mut text, outcome, published);
    text
}

fn write_table(text: &mut String, outcome: &Outcome, published: &[Published]) -> std::fmt::Result {
    let simulated = outcome.simulated_us / 1e3;
    writeln!(
        text,
        "{}: {simulated:.2} ms simulated, {} packet-hops, trace {}",
        outcome.transport, outcome.packet_hops, outcome.trace
    )?;
    if !outcome.finished {
        writeln!(text, "  NOT CARRIED: the load is more than this transport sustains; figures are of what was done")?;
    }
    if !outcome.ranges.is_empty() {
        let beside = if published.is_empty() { "" } else { "   published, ratio" };
        writeln!(
            text,
            "  {:16}{:>10}{:>10}{:>10}{:>14}{beside}",
            "slowdown of", "messages", "P50", "P99", "P99 by bin"
        )?;
    }
    for range in &outcome.ranges {
        write!(
            text,
            "  {:16}{:>10}{:>10.2}{:>10.2}{:>14.2}",
            range.what, range.count, range.p50, range.p99, range.p99_by_bin
        )?;
        let comparable = published.iter().filter(|_| range.count >= COMPARABLE);
        match comparable.into_iter().find(|published| published.what == range.what) {
            Some(found) => writeln!(text, "   {:>6.2}  {:.2}", found.p99_by_bin, range.p99_by_bin / found.p99_by_bin)?,
            None => writeln!(text)?,
        }
    }
    if let Some(rounds) = outcome.rounds {
        writeln!(
            text,
            "  {} rounds: median {:.1} µs, longest {:.1} µs, {:.2} Gbit/s",
            rounds.count, rounds.p50_us, rounds.longest_us, rounds.gbits
        )?;
    }
    if outcome.packet_hops == 0 {
        // The oracle's messages pass no queues.
        return Ok(());
    }
    writeln!(text, "  {:24}{:>12}{:>12}{:>8}{:>10}{:>10}", "hop", "mean queue", "longest", "used", "drops", "marked")?;
    for hop in &outcome.hops {
        writeln!(
            text,
            "  {:24}{:>10.0} B{:>10} B{:>6.1} %{:>10}{:>10}",
            name(hop.hop),
            hop.mean_queue,
            hop.longest_queue,
            hop.use_percent,
            hop.drops,
            hop.marked
        )?;
    }
    writeln!(
        text,
        "  receivers' links idle although something was on its way: {:.1} % of the time",
        outcome.wasted_percent
    )
}

fn name(hop: Hop) -> &'static str {
    match hop {
        Hop::HostUp => "host to rack switch",
        Hop::RackUp => "rack switch up",
        Hop::PodUp => "pod switch up",
        Hop::CoreDown => "core switch down",
        Hop::RackDown => "down to rack switch",
        Hop::HostDown => "rack switch to host",
    }
}
