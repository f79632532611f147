//! Runs the incast experiment: many servers answer one client at once, beside a probe from another host.

use crate::control::{Answer, Order, Reply, Target, Transport};
use crate::cpu::Spinners;
use crate::plan::IncastPlan;
use crate::progress::Progress;
use crate::race::{PREPARATION, available, close, open, prepare};
use crate::rack::Rack;
use crate::report::{IncastReport, IncastTransport, Quantiles};
use crate::stats::Histogram;
use crate::wire::message_bytes;
use anyhow::{Result, bail};
use std::time::Duration;

/// How long the experiment will take if every transport keeps the link full.
pub fn planned_incast_time(plan: &IncastPlan) -> Duration {
    PREPARATION + turn_time(plan) * plan.transports.len() as u32
}

/// Least time of a round, s: the responses' bytes at the link's rate.
fn ideal_round(plan: &IncastPlan) -> f64 {
    (message_bytes(plan.reply) * 8 * u64::from(plan.servers)) as f64 / plan.rack.rate as f64
}

fn turn_time(plan: &IncastPlan) -> Duration {
    Duration::from_secs_f64((ideal_round(plan) * 1.1 + 0.02) * f64::from(plan.rounds) + 1.0)
}

/// Runs the experiment in this process's network namespace; see [`enter`](crate::enter).
///
/// Host 0 is the client, the last host sends the probe to host 0, and the servers are spread over the hosts between.
///
/// # Errors
/// When the rack cannot be built, or one of its hosts ends. A transport that cannot finish is told of in the report.
pub fn incast(plan: &IncastPlan, command: &str, progress: &mut Progress) -> Result<IncastReport> {
    plan.check()?;
    let mut skipped = Vec::new();
    let transports = available(&plan.transports, &mut skipped)?;
    let _spinners = Spinners::start();
    let (mut rack, header) = prepare(&plan.rack, "homarus-compare-incast", command, skipped, progress)?;
    let mut report = IncastReport {
        header,
        servers: plan.servers,
        reply_bytes: plan.reply,
        rounds: plan.rounds,
        ideal_round_ms: ideal_round(plan) * 1000.0,
        probe_bytes: plan.probe,
        probe_period_ms: plan.probe_period_ms,
        transports: Vec::new(),
    };
    if !report.header.proof.passed {
        return Ok(report);
    }
    for transport in transports {
        progress.step(transport.name(), turn_time(plan));
        report.transports.push(run(&mut rack, &transport, plan)?);
    }
    Ok(report)
}

fn run(rack: &mut Rack, transport: &Transport, plan: &IncastPlan) -> Result<IncastTransport> {
    let last = plan.rack.hosts - 1;
    let server_hosts = last - 1;
    let each = usize::from(plan.servers).div_ceil(server_hosts) as u16;
    let servers: Vec<Target> = (0..usize::from(plan.servers))
        .map(|number| Target { host: 1 + number % server_hosts, server: (number / server_hosts) as u16 })
        .collect();
    let client = Target { host: 0, server: 0 };
    open(rack, transport, each, Answer::Sized)?;
    rack.done(|host| match host {
        0 => Some(Order::Connect { to: servers.clone() }),
        _ if host == last => Some(Order::Connect { to: vec![client] }),
        _ => None,
    })?;
    let watch = rack.watch(0..u64::MAX)?;
    let period = u64::from(plan.probe_period_ms) * 1_000_000;
    let probe = Order::StartProbe { to: client, length: plan.probe, period };
    rack.done(|host| (host == last).then(|| probe.clone()))?;
    let rounds = rack.ask(0, &Order::Incast { servers, reply: plan.reply, rounds: plan.rounds });
    let (mut rounds_ns, mut failure) = (Vec::new(), None);
    match rounds {
        Ok(Reply::Rounds { nanos }) => rounds_ns = nanos,
        Ok(other) => bail!("expected the rounds of an incast, found {other:?}"),
        Err(error) => failure = Some(format!("{error:#}")),
    }
    let Reply::RoundTrips { nanos: probe_ns, lost } = rack.ask(last, &Order::StopProbe)? else {
        bail!("expected the probe's round trips");
    };
    let ports = watch.finish()?;
    let counters = close(rack)?;
    Ok(IncastTransport {
        id: transport.id(),
        name: transport.name(),
        round_ms: Quantiles::of(&histogram(&rounds_ns), 1e6),
        probe_us: Quantiles::of(&histogram(&probe_ns), 1e3),
        probes: probe_ns.len() as u64,
        probes_lost: lost,
        retransmitted_packets: counters.retransmitted_packets,
        port_drops: ports[0].drops,
        port_queue_peak_bytes: ports[0].peak,
        failure,
    })
}

fn histogram(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}
