//! What ideal schedulers would reach with the arrivals of a race: a bound to judge results by.
//!
//! The model is a fluid one. It knows the capacity of each host's uplink and downlink and the wire bytes of each message, and nothing
//! else: no packets, no latency, no loss, no lengths learnt late. A scheduler decides anew whenever a message arrives or ends how
//! fast each message flows; a response begins when its request has arrived whole. No transport can be expected to do better than
//! the scheduler that it approximates.

mod rates;

use crate::load::{Schedule, calibrate, planned_rpcs, rpc_wire_bytes};
use crate::plan::RacePlan;
use crate::race::schedule;
use crate::report::Quantiles;
use crate::stats::{ClassKind, Histogram, classes_of};
use anyhow::Result;

pub use rates::Scheduler;

/// Round trips under an ideal scheduler, µs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdealResult {
    /// Of the shortest 10 % of messages. Absent if no message counted.
    pub shortest_10_percent: Option<Quantiles>,
    /// Of the longest 1 %. Absent if no message counted.
    pub longest_1_percent: Option<Quantiles>,
    /// RPCs that counted.
    pub count: u64,
}

/// A message under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Flow {
    /// Wire bytes that have not arrived yet.
    remaining: f64,
    from: usize,
    to: usize,
    response: bool,
    /// Rises with the time at which messages began.
    number: u64,
    rpc: usize,
}

/// Plays the arrivals that [`race`](crate::race) would have for this plan; its transports do not matter.
///
/// Unlike a race it waits for every message that counts, however long that takes.
///
/// # Errors
/// When the plan is out of range.
pub fn ideal(plan: &RacePlan, scheduler: Scheduler) -> Result<IdealResult> {
    plan.check()?;
    let classes = classes_of(&plan.workload);
    let class = |kind| classes.iter().find(|class| class.kind == kind);
    let (shortest, longest) = (class(ClassKind::Shortest), class(ClassKind::Longest));
    let (mut short, mut long, mut count) = (Histogram::default(), Histogram::default(), 0);
    for turn in 0..plan.turns {
        let mut schedule = schedule(plan, turn);
        calibrate(&mut schedule, &plan.workload, &plan.rack, plan.load);
        play(plan, &schedule, scheduler, |length, nanos| {
            count += 1;
            if shortest.is_some_and(|class| class.contains(length)) {
                short.record(nanos);
            }
            if longest.is_some_and(|class| class.contains(length)) {
                long.record(nanos);
            }
        });
    }
    Ok(IdealResult {
        shortest_10_percent: Quantiles::of(&short, 1000.0),
        longest_1_percent: Quantiles::of(&long, 1000.0),
        count,
    })
}

/// Less than this is nothing, bytes: sums of fractions are not exact.
const NOTHING: f64 = 1e-4;

/// Calls `ended` with length and round trip (ns) of each RPC that counts.
fn play(plan: &RacePlan, schedule: &Schedule, scheduler: Scheduler, mut ended: impl FnMut(u32, u64)) {
    let rpcs = planned_rpcs(schedule, &plan.workload);
    let capacity = plan.rack.rate as f64 / 8e9;
    let mut flows: Vec<Flow> = Vec::new();
    let (mut now, mut next, mut number) = (0.0, 0, 0);
    while next < rpcs.len() || !flows.is_empty() {
        let rates = scheduler.rates(&mut flows, plan.rack.hosts, capacity);
        let arrival = rpcs.get(next).map_or(f64::INFINITY, |(_, arrival)| arrival.at as f64);
        let until = flows.iter().zip(&rates).fold(arrival, |soonest, (flow, rate)| match *rate > 0.0 {
            true => soonest.min(now + flow.remaining / rate),
            false => soonest,
        });
        for (flow, rate) in flows.iter_mut().zip(&rates) {
            flow.remaining -= rate * (until - now);
        }
        now = until;
        let mut begin = |flows: &mut Vec<Flow>, rpc: usize, response: bool| {
            let (host, arrival) = rpcs[rpc];
            let (from, to) = if response { (arrival.to, host) } else { (host, arrival.to) };
            let remaining = rpc_wire_bytes(arrival.length) as f64 / 2.0;
            number += 1;
            flows.push(Flow { remaining, from, to, response, number, rpc });
        };
        for flow in flows.extract_if(.., |flow| flow.remaining < NOTHING).collect::<Vec<_>>() {
            let (_, arrival) = rpcs[flow.rpc];
            if !flow.response {
                begin(&mut flows, flow.rpc, true);
            } else if schedule.counted().contains(&arrival.at) {
                ended(arrival.length, now as u64 - arrival.at);
            }
        }
        while rpcs.get(next).is_some_and(|(_, arrival)| arrival.at as f64 <= now) {
            begin(&mut flows, next, false);
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rack::RackShape;
    use crate::wire::message_bytes;
    use homarus_workloads::Workload;

    fn plan(workload: Workload, load: f64, seconds: f64) -> RacePlan {
        let rack = RackShape { hosts: 8, rate: 50_000_000, priorities: 8, buffer: 300_000 };
        RacePlan { rack, workload, load, seconds, turns: 1, seed: 1, transports: vec!["homa".parse().unwrap()] }
    }

    const ALL: [Scheduler; 3] = [Scheduler::ShortestRemaining, Scheduler::FairMessages, Scheduler::FairConnections];

    #[test]
    fn a_message_alone_takes_its_bytes_at_the_link_rate() {
        let plan = plan(Workload::fixed(100_000), 0.01, 3.0);
        let alone = 2.0 * message_bytes(100_000) as f64 * 8.0 / 50.0;
        for scheduler in ALL {
            let found = ideal(&plan, scheduler).unwrap().longest_1_percent.unwrap().p50;
            assert!((found / alone - 1.0).abs() < 0.002, "{scheduler:?}: {found} µs for {alone}");
        }
    }

    #[test]
    fn only_the_shortest_first_lets_short_messages_pass() {
        let plan = plan(Workload::builtin("linux_w4").unwrap(), 0.8, 8.0);
        let [srpt, messages, connections] = ALL.map(|scheduler| ideal(&plan, scheduler).unwrap());
        assert_eq!((srpt.count, messages.count), (messages.count, connections.count));
        let p99 = |result: IdealResult| result.shortest_10_percent.unwrap().p99;
        assert!(p99(srpt) * 3.0 < p99(messages), "{srpt:?} {messages:?}");
        assert!(p99(messages) * 3.0 < p99(connections), "{messages:?} {connections:?}");
    }
}
