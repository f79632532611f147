//! Runs a race: builds and proves the rack, then lets the transports take turns under the same arrivals.

use crate::control::{Answer, Connections, LoadReply, Order, Reply, Target, Transport, TransportCounters};
use crate::cpu::{CpuMeter, CpuUse, Spinners};
use crate::load::{LoadOrder, Schedule, calibrate};
use crate::machine::Machine;
use crate::plan::RacePlan;
use crate::progress::Progress;
use crate::proof::{Proof, prove};
use crate::rack::{PortUse, Rack, RackShape};
use crate::report::{
    Header, IdlePoint, RaceReport, RaceTransport, SCHEMA_VERSION, SwitchUse, WorkloadReport, class_reports, verdict,
};
use crate::stats::{BaseLine, Class, ClassKind, Recorded, classes_of};
use crate::sys::now_nanos;
use crate::tcp;
use anyhow::{Result, bail};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Time before messages count, in which queues and windows settle; ns.
const WARM_UP: u64 = 2_500_000_000;

/// Time for which the load goes on after that, so that the last messages that count meet the same load; ns.
const COOL_DOWN: u64 = 1_500_000_000;

/// Longest wait for the last responses; ns.
const DRAIN: u64 = 8_000_000_000;

/// Time between an order and its beginning, in which all hosts hear of it; ns.
const HEARING: u64 = 300_000_000;

/// Time for each length on the idle rack; ns.
const IDLE_EACH: u64 = 300_000_000;

/// Connections opened to each server before a run.
const CONNECTIONS_BEFOREHAND: usize = 4;

/// A run whose achieved load is less than this share of the offered is marked.
const ACHIEVED_ENOUGH: f64 = 0.97;

/// Time that building and proving a rack takes.
pub(crate) const PREPARATION: Duration = Duration::from_secs(6);

/// How long a race will take.
pub fn planned_time(plan: &RacePlan) -> Duration {
    let idle = idle_time() * idle_transports(plan).len() as u32;
    PREPARATION + idle + turn_time(plan) * plan.turns * plan.transports.len() as u32
}

fn idle_time() -> Duration {
    Duration::from_secs(5)
}

fn turn_time(plan: &RacePlan) -> Duration {
    let window = Duration::from_secs_f64(plan.seconds / f64::from(plan.turns));
    window + Duration::from_nanos(WARM_UP + COOL_DOWN + HEARING) + Duration::from_millis(1200)
}

/// Runs a race in this process's network namespace; see [`enter`](crate::enter).
///
/// A rack that fails its proof is no error: the report tells, and has no results.
///
/// # Errors
/// When the rack cannot be built, or one of its hosts ends.
pub fn race(plan: &RacePlan, command: &str, progress: &mut Progress) -> Result<RaceReport> {
    plan.check()?;
    let mut skipped = Vec::new();
    let transports = available(&plan.transports, &mut skipped)?;
    let _spinners = Spinners::start();
    let (mut rack, header) = prepare(&plan.rack, "homarus-compare", command, skipped, progress)?;
    let mut report = RaceReport {
        header,
        workload: WorkloadReport { name: plan.workload.name().to_owned(), mean_bytes: plan.workload.mean() },
        load: plan.load,
        seconds: plan.seconds,
        turns: plan.turns,
        seed: plan.seed,
        idle: Vec::new(),
        verdict: None,
        transports: Vec::new(),
    };
    if !report.header.proof.passed {
        return Ok(report);
    }
    let classes = classes_of(&plan.workload);
    let base = idle_base(&mut rack, plan, &classes, &mut report.idle, progress)?;
    let mut entrants: Vec<Entrant> = transports.iter().map(|_| Entrant::default()).collect();
    for turn in 0..plan.turns {
        let mut schedule = schedule(plan, turn);
        let offered = calibrate(&mut schedule, &plan.workload, &plan.rack, plan.load);
        for (transport, entrant) in transports.iter().zip(&mut entrants) {
            let which = if plan.turns > 1 { format!(" ({} of {})", turn + 1, plan.turns) } else { String::new() };
            progress.step(format!("{}{which}", transport.name()), turn_time(plan));
            let result = run(&mut rack, transport, &schedule, &classes, &base)?;
            entrant.add(result, offered);
        }
    }
    report.transports = transports
        .iter()
        .zip(&entrants)
        .map(|(transport, entrant)| entrant.report(transport, &plan.rack, &classes))
        .collect();
    report.verdict = verdict(&report.transports);
    Ok(report)
}

/// Builds and proves a rack; `skipped` are the transports that cannot run here.
pub(crate) fn prepare(
    shape: &RackShape,
    schema: &str,
    command: &str,
    skipped: Vec<String>,
    progress: &mut Progress,
) -> Result<(Rack, Header)> {
    progress.step("building and proving the rack".to_owned(), PREPARATION);
    let unix_time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut rack = Rack::build(shape)?;
    let mut proof: Option<Proof> = None;
    // A burst of other work on the machine may spoil one attempt.
    for _ in 0..3 {
        let attempt = prove(&mut rack)?;
        let passed = attempt.passed;
        proof = Some(attempt);
        if passed {
            break;
        }
    }
    let Some(proof) = proof else { bail!("the rack was not proved") };
    let header = Header {
        schema: schema.to_owned(),
        schema_version: SCHEMA_VERSION,
        homarus_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command.to_owned(),
        unix_time,
        machine: Machine::here(),
        rack: shape.clone(),
        proof,
        skipped,
    };
    Ok((rack, header))
}

/// The transports that can run here; the others are named in `skipped`.
pub(crate) fn available(transports: &[Transport], skipped: &mut Vec<String>) -> Result<Vec<Transport>> {
    let known = tcp::available_congestion_controls()?;
    let mut available = Vec::new();
    for transport in transports {
        match transport {
            Transport::Tcp { congestion, .. } if !tcp::can_use(congestion) => skipped.push(format!(
                "{}: this kernel has no {congestion}; it has {}",
                transport.name(),
                known.join(", ")
            )),
            _ => available.push(transport.clone()),
        }
    }
    if available.is_empty() {
        bail!("none of the transports can run here: {}", skipped.join("; "));
    }
    Ok(available)
}

/// The transports whose idle round trips make up the base line: homarus, and TCP in the first way that takes part.
fn idle_transports(plan: &RacePlan) -> Vec<Transport> {
    let homa = plan.transports.iter().find(|transport| transport.is_homa());
    let tcp = plan.transports.iter().find(|transport| !transport.is_homa());
    homa.into_iter().chain(tcp).cloned().collect()
}

/// Measures the idle rack: for each length the lowest round trip of any transport.
fn idle_base(
    rack: &mut Rack,
    plan: &RacePlan,
    classes: &[Class],
    points: &mut Vec<IdlePoint>,
    progress: &mut Progress,
) -> Result<BaseLine> {
    let mut lengths: Vec<u32> = classes.iter().map(|class| class.greatest).collect();
    lengths.push(plan.workload.smallest());
    lengths.sort_unstable();
    lengths.dedup();
    let server = Target { host: 1, server: 0 };
    let mut base = BaseLine::default();
    let mut of = |homa: bool| -> Result<Option<BaseLine>> {
        let Some(transport) = idle_transports(plan).into_iter().find(|transport| transport.is_homa() == homa) else {
            return Ok(None);
        };
        if !available(std::slice::from_ref(&transport), &mut Vec::new()).is_ok_and(|found| !found.is_empty()) {
            return Ok(None);
        }
        progress.step(format!("idle round trips of {}", transport.name()), idle_time());
        open(rack, &transport, 1, Answer::Echo)?;
        rack.done(|host| (host == 0).then(|| Order::Connect { to: vec![server] }))?;
        let order = Order::Idle { to: server, lengths: lengths.clone(), nanos_each: IDLE_EACH };
        let Reply::Idle(measured) = rack.ask(0, &order)? else { bail!("expected the idle round trips") };
        close(rack)?;
        base = base.lower_of(&measured);
        Ok(Some(measured))
    };
    let (homa, tcp) = (of(true)?, of(false)?);
    let micros = |line: &Option<BaseLine>, bytes| line.as_ref().map(|line| line.at(bytes) / 1000.0);
    points.extend(lengths.iter().map(|&bytes| IdlePoint {
        bytes,
        homa_us: micros(&homa, bytes),
        tcp_us: micros(&tcp, bytes),
        base_us: base.at(bytes) / 1000.0,
    }));
    Ok(base)
}

/// The arrivals of a turn, but for the mean gap between them, which [`calibrate`] finds.
pub(crate) fn schedule(plan: &RacePlan, turn: u32) -> Schedule {
    Schedule {
        seed: plan.seed.wrapping_add(u64::from(turn) << 32),
        hosts: plan.rack.hosts,
        workload: plan.workload.to_csv(),
        mean_gap: 0.0,
        warm_up: WARM_UP,
        window: (plan.seconds / f64::from(plan.turns) * 1e9) as u64,
        cool_down: COOL_DOWN,
        drain: DRAIN,
    }
}

/// Starts a transport on every host.
pub(crate) fn open(rack: &mut Rack, transport: &Transport, servers: u16, answer: Answer) -> Result<()> {
    rack.done(|_| Some(Order::Open { transport: transport.clone(), servers, answer }))
}

/// Ends it and sums what the hosts counted.
pub(crate) fn close(rack: &mut Rack) -> Result<TransportCounters> {
    let mut sum = TransportCounters::default();
    for reply in rack.ask_each(|_| Some(Order::Close))? {
        let Reply::Closed(counters) = reply else { bail!("expected a closed transport, found {reply:?}") };
        sum.retransmitted_packets += counters.retransmitted_packets;
        sum.connections += counters.connections;
    }
    // What is still in the queues leaves them.
    std::thread::sleep(Duration::from_millis(300));
    Ok(sum)
}

/// What one turn of a transport gave.
struct Turn {
    hosts: Vec<LoadReply>,
    ports: Vec<PortUse>,
    counters: TransportCounters,
    cpu: CpuUse,
    window: u64,
}

fn run(
    rack: &mut Rack,
    transport: &Transport,
    schedule: &Schedule,
    classes: &[Class],
    base: &BaseLine,
) -> Result<Turn> {
    let hosts = rack.shape().hosts;
    open(rack, transport, 1, Answer::Echo)?;
    rack.done(|host| Some(Order::Connect { to: everybody_else(host, hosts, transport) }))?;
    let start = now_nanos() + HEARING;
    let counted = start + schedule.counted().start..start + schedule.counted().end;
    let watch = rack.watch(counted)?;
    let meter = CpuMeter::start(rack)?;
    let order = LoadOrder { schedule: schedule.clone(), start, classes: classes.to_vec(), base: base.clone() };
    let replies = rack.ask_each(|_| Some(Order::Load(order.clone())))?;
    let cpu = meter.finish(rack)?;
    let ports = watch.finish()?;
    let counters = close(rack)?;
    let hosts = replies.into_iter().map(|reply| match reply {
        Reply::Load(reply) => Ok(*reply),
        other => bail!("expected the result of a run, found {other:?}"),
    });
    Ok(Turn { hosts: hosts.collect::<Result<_>>()?, ports, counters, cpu, window: schedule.window })
}

/// The server of each other host, as often as connections to it are to be opened.
fn everybody_else(host: usize, hosts: usize, transport: &Transport) -> Vec<Target> {
    let each = match transport {
        Transport::Tcp { connections: Connections::Pool, .. } => CONNECTIONS_BEFOREHAND,
        _ => 1,
    };
    let others = (0..hosts).filter(|&other| other != host);
    others.flat_map(|host| std::iter::repeat_n(Target { host, server: 0 }, each)).collect()
}

/// A transport's turns, summed up.
#[derive(Default)]
struct Entrant {
    recorded: Recorded,
    turns: u32,
    window: u64,
    offered: f64,
    completed_wire_bytes: u64,
    sent_wire_bytes: u64,
    errors: u64,
    first_error: Option<String>,
    unfinished: u64,
    counters: TransportCounters,
    switch: SwitchUse,
    host_queue_peak: u64,
    host_queue_drops: u64,
    /// Share of the time that the host which waited most had to wait for a processor.
    waited_for_cpu: f64,
    cpu_left: f64,
}

impl Entrant {
    fn add(&mut self, turn: Turn, offered: f64) {
        self.turns += 1;
        self.window += turn.window;
        self.offered += offered;
        self.cpu_left += turn.cpu.left;
        self.waited_for_cpu = self.waited_for_cpu.max(turn.cpu.waited);
        self.counters.retransmitted_packets += turn.counters.retransmitted_packets;
        self.counters.connections = self.counters.connections.max(turn.counters.connections);
        for port in &turn.ports {
            self.sent_wire_bytes += port.wire_bytes;
            self.switch.drops += port.drops;
            self.switch.queue_peak_bytes = self.switch.queue_peak_bytes.max(port.peak);
            self.switch.queue_mean_bytes += port.mean / turn.ports.len() as f64;
        }
        for host in turn.hosts {
            self.recorded.merge(&host.recorded);
            self.completed_wire_bytes += host.completed_wire_bytes;
            self.errors += host.errors;
            self.first_error = self.first_error.take().or(host.first_error);
            self.unfinished += host.unfinished;
            self.host_queue_peak = self.host_queue_peak.max(host.host_queue_peak);
            self.host_queue_drops += host.host_queue_drops;
        }
    }

    fn report(&self, transport: &Transport, shape: &RackShape, classes: &[Class]) -> RaceTransport {
        let turns = f64::from(self.turns.max(1));
        let capacity = shape.rate as f64 / 8.0 * shape.hosts as f64 * self.window as f64 / 1e9;
        let class = |kind| class_reports(kind, classes, &self.recorded.classes);
        let only = |kind| class(kind).swap_remove(0);
        let switch = SwitchUse { queue_mean_bytes: self.switch.queue_mean_bytes / turns, ..self.switch.clone() };
        let mut result = RaceTransport {
            id: transport.id(),
            name: transport.name(),
            offered_load: self.offered / turns,
            achieved_load: self.completed_wire_bytes as f64 / capacity,
            link_use: self.sent_wire_bytes as f64 / capacity,
            marks: Vec::new(),
            errors: self.errors,
            unfinished: self.unfinished,
            retransmitted_packets: self.counters.retransmitted_packets,
            connections: self.counters.connections,
            switch,
            host_queue_peak_bytes: self.host_queue_peak,
            host_queue_drops: self.host_queue_drops,
            cpu_left: self.cpu_left / turns,
            waited_for_cpu: self.waited_for_cpu,
            all: only(ClassKind::All),
            shortest_10_percent: only(ClassKind::Shortest),
            longest_1_percent: only(ClassKind::Longest),
            buckets: class(ClassKind::Bucket),
        };
        result.marks = self.marks(&result, shape);
        result
    }

    fn marks(&self, result: &RaceTransport, shape: &RackShape) -> Vec<String> {
        let mut marks = Vec::new();
        if result.achieved_load < ACHIEVED_ENOUGH * result.offered_load {
            marks.push(format!(
                "achieved {:.1} % load where {:.1} % were offered",
                result.achieved_load * 100.0,
                result.offered_load * 100.0
            ));
        }
        if result.errors > 0 {
            let first = self.first_error.as_deref().unwrap_or("of unknown kind");
            marks.push(format!("{} RPCs failed, the first: {first}", result.errors));
        }
        if result.unfinished > 0 {
            marks.push(format!("{} RPCs had not ended when the run was over", result.unfinished));
        }
        if result.cpu_left < 0.05 {
            marks.push(format!(
                "only {:.0} % of the processors' time was left: this machine was the bottleneck, not the links",
                result.cpu_left * 100.0
            ));
        }
        if result.waited_for_cpu > 0.10 {
            marks.push(format!(
                "a host waited {:.0} % of the time for a processor: other programs disturbed the run",
                result.waited_for_cpu * 100.0
            ));
        }
        if result.switch.queue_peak_bytes > u64::from(shape.buffer) {
            marks.push(format!(
                "a switch port held {} bytes over all priorities, more than the {} that each may hold",
                result.switch.queue_peak_bytes, shape.buffer
            ));
        }
        marks
    }
}
