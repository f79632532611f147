//! Proves a rack before anything is measured on it.

use crate::control::{FloodOrder, Order, PingOrder, Reply};
use crate::cpu::CpuMeter;
use crate::rack::{Rack, RackShape};
use crate::stats::Histogram;
use crate::sys::now_nanos;
use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

/// What the rack was found to do, and whether that is what it should.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// Whether every check held. A race on a rack that fails is void.
    pub passed: bool,
    /// What did not hold, one sentence each.
    pub failures: Vec<String>,
    /// Rate of the slowest and the fastest link while all links were flooded in both directions at once, over the rate set.
    pub slowest_link: f64,
    /// See `slowest_link`.
    pub fastest_link: f64,
    /// Round trip of 100 bytes in a UDP datagram on the idle rack, µs.
    pub idle_p50_us: f64,
    /// See `idle_p50_us`.
    pub idle_p99_us: f64,
    /// The same, at the highest priority, against a flood of the lowest that keeps the receiver's link full; absent where the
    /// switch has one priority.
    pub flooded_high_p50_us: Option<f64>,
    /// See `flooded_high_p50_us`.
    pub flooded_high_p90_us: Option<f64>,
    /// The same at the flood's own priority, which shows that its queue was full.
    pub flooded_low_p50_us: Option<f64>,
    /// Share of the processors' time left over while all links were flooded.
    pub cpu_left: f64,
}

/// How long each flood lasts, ns.
const FLOOD: u64 = 1_000_000_000;

/// How far a link's rate may be from what was set.
const RATE_TOLERANCE: f64 = 0.05;

/// Least share of processor time that must be left while all links are full.
const CPU_NEEDED: f64 = 0.05;

const PINGS: u32 = 100;

/// Runs the checks. A failed one is told in the result; only a rack that cannot be used at all is an error.
pub(crate) fn prove(rack: &mut Rack) -> Result<Proof> {
    let shape = rack.shape().clone();
    let idle = ping(rack, 1, true, 2_000_000)?;
    let meter = CpuMeter::start(rack)?;
    let rates = ring(rack)?;
    let cpu_left = meter.finish(rack)?.left;
    let (slowest, fastest) =
        rates.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &rate| (low.min(rate), high.max(rate)));
    let mut proof = Proof {
        passed: true,
        failures: Vec::new(),
        slowest_link: slowest,
        fastest_link: fastest,
        idle_p50_us: micros(&idle, 0.5),
        idle_p99_us: micros(&idle, 0.99),
        flooded_high_p50_us: None,
        flooded_high_p90_us: None,
        flooded_low_p50_us: None,
        cpu_left,
    };
    if shape.priorities > 1 && shape.hosts >= 4 {
        let (high, low) = under_flood(rack)?;
        proof.flooded_high_p50_us = Some(micros(&high, 0.5));
        proof.flooded_high_p90_us = Some(micros(&high, 0.9));
        proof.flooded_low_p50_us = Some(micros(&low, 0.5));
    }
    proof.failures = failures(&proof, &shape);
    proof.passed = proof.failures.is_empty();
    Ok(proof)
}

fn failures(proof: &Proof, shape: &RackShape) -> Vec<String> {
    let mut failures = Vec::new();
    let hint = "close other programs, or take fewer --hosts or a lower --rate";
    if proof.slowest_link < 1.0 - RATE_TOLERANCE || proof.fastest_link > 1.0 + RATE_TOLERANCE {
        failures.push(format!(
            "with all links full they carried {:.0} to {:.0} % of the rate set, expected 95 to 105 %: {hint}",
            proof.slowest_link * 100.0,
            proof.fastest_link * 100.0
        ));
    }
    if proof.cpu_left < CPU_NEEDED {
        failures.push(format!(
            "with all links full {:.0} % of the processors' time was left, expected at least {:.0} %: {hint}",
            proof.cpu_left * 100.0,
            CPU_NEEDED * 100.0
        ));
    }
    let packet = shape.packet_nanos() as f64 / 1000.0;
    if let (Some(high), Some(low)) = (proof.flooded_high_p90_us, proof.flooded_low_p50_us) {
        // Before its turn a ping waits for the packet that is being sent and for what the shaper lets through at once.
        let burst = shape.nanos_of(shape.burst()) as f64 / 1000.0;
        let allowed = proof.idle_p50_us + 2.0 * packet + burst + 500.0;
        if high > allowed {
            failures.push(format!(
                "the highest priority took {high:.0} µs against a flood of the lowest, expected at most {allowed:.0} µs: {hint}"
            ));
        }
        let full = shape.nanos_of(u64::from(shape.buffer)) as f64 / 1000.0;
        if low < full / 2.0 {
            failures.push(format!(
                "the flood's own priority took {low:.0} µs, expected at least {:.0} µs with a full buffer",
                full / 2.0
            ));
        }
    }
    failures
}

fn micros(nanos: &Histogram, quantile: f64) -> f64 {
    nanos.at(quantile).map_or(f64::INFINITY, |nanos| nanos as f64 / 1000.0)
}

/// Floods from each host to the next, all at once; the rate at which each receives, over the rate set.
fn ring(rack: &mut Rack) -> Result<Vec<f64>> {
    let hosts = rack.shape().hosts;
    let from = now_nanos() + 20_000_000;
    let until = from + FLOOD;
    let replies = rack.ask_each(|host| Some(Order::Flood(FloodOrder { to: Some((host + 1) % hosts), from, until })))?;
    let rate_of = |reply| match reply {
        Reply::Flooded { packets, nanos } if nanos > 0 => {
            let bits = (packets - 1) * crate::wire::FULL_FRAME * 8;
            Ok(bits as f64 / (nanos as f64 / 1e9) / rack.shape().rate as f64)
        }
        Reply::Flooded { .. } => Ok(0.0),
        other => bail!("expected the result of a flood, found {other:?}"),
    };
    replies.into_iter().map(rate_of).collect()
}

/// Pings from the last host to host 1, one every `period` ns.
fn ping(rack: &mut Rack, to: usize, high: bool, period: u64) -> Result<Histogram> {
    let from = now_nanos() + 5_000_000;
    let order = Order::Ping(PingOrder { to, high, from, count: PINGS, period });
    round_trips(rack.ask(rack.shape().hosts - 1, &order)?)
}

fn round_trips(reply: Reply) -> Result<Histogram> {
    let Reply::RoundTrips { nanos, lost: _ } = reply else { bail!("expected round trips, found {reply:?}") };
    let mut histogram = Histogram::default();
    nanos.iter().for_each(|&nanos| histogram.record(nanos));
    Ok(histogram)
}

/// Round trips to host 0 at the highest and at the lowest priority while hosts 1 and 2 flood it.
fn under_flood(rack: &mut Rack) -> Result<(Histogram, Histogram)> {
    let mut results = Vec::new();
    for high in [true, false] {
        let from = now_nanos() + 20_000_000;
        let until = from + FLOOD;
        // The buffer takes a while to fill: two senders fill it at the rate at which it drains.
        let filled = from + 2 * rack.shape().nanos_of(u64::from(rack.shape().buffer));
        let period = (until.saturating_sub(filled + 50_000_000)).max(FLOOD / 2) / u64::from(PINGS);
        let last = rack.shape().hosts - 1;
        let replies = rack.ask_each(|host| match host {
            0 => Some(Order::Flood(FloodOrder { to: None, from, until })),
            1 | 2 => Some(Order::Flood(FloodOrder { to: Some(0), from, until })),
            _ if host == last => Some(Order::Ping(PingOrder { to: 0, high, from: filled, count: PINGS, period })),
            _ => None,
        })?;
        let Some(reply) = replies.into_iter().last() else { bail!("no host has answered") };
        results.push(round_trips(reply)?);
    }
    match <[Histogram; 2]>::try_from(results) {
        Ok([high, low]) => Ok((high, low)),
        Err(_) => bail!("two floods have not two results"),
    }
}
