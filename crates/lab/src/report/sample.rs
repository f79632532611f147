//! Reports with made-up numbers, for tests of how reports are shown.

use super::data::{
    ClassReport, Header, IdlePoint, IncastReport, IncastTransport, Quantiles, RaceReport, RaceTransport, SwitchUse,
    WorkloadReport,
};
use super::verdict::verdict;
use crate::machine::Machine;
use crate::proof::Proof;
use crate::rack::RackShape;

fn header(schema: &str) -> Header {
    Header {
        schema: schema.to_owned(),
        schema_version: super::SCHEMA_VERSION,
        homarus_version: "0.0.0".to_owned(),
        command: "homarus compare --workload 'a<b&c'".to_owned(),
        unix_time: 1,
        machine: Machine {
            kernel: "Linux 0".to_owned(),
            processor: "of a test".to_owned(),
            cores: 2,
            memory: 1_000_000_000,
            privilege: "as root".to_owned(),
        },
        rack: RackShape { hosts: 8, rate: 50_000_000, priorities: 8, buffer: 300_000 },
        proof: Proof {
            passed: true,
            failures: Vec::new(),
            slowest_link: 0.99,
            fastest_link: 1.01,
            idle_p50_us: 100.0,
            idle_p99_us: 200.0,
            flooded_high_p50_us: Some(300.0),
            flooded_high_p90_us: Some(400.0),
            flooded_low_p50_us: Some(48_000.0),
            cpu_left: 0.5,
        },
        skipped: Vec::new(),
    }
}

fn class(bytes: u32, count: u64, p50: f64, p99: f64) -> ClassReport {
    let quantiles = Some(Quantiles { p50, p99, p999: p99, max: p99 });
    ClassReport {
        least_bytes: bytes,
        greatest_bytes: bytes,
        mean_bytes: f64::from(bytes),
        count,
        rtt_us: quantiles,
        slowdown: quantiles,
    }
}

/// A transport whose short and long messages have these P50 and P99, µs.
fn transport(id: &str, name: &str, short: (f64, f64), long: (f64, f64)) -> RaceTransport {
    RaceTransport {
        id: id.to_owned(),
        name: name.to_owned(),
        offered_load: 0.8,
        achieved_load: 0.8,
        link_use: 0.8,
        marks: Vec::new(),
        errors: 0,
        unfinished: 0,
        retransmitted_packets: 0,
        connections: 0,
        switch: SwitchUse::default(),
        host_queue_peak_bytes: 0,
        host_queue_drops: 0,
        cpu_left: 0.5,
        waited_for_cpu: 0.0,
        all: class(100, 1050, short.0, long.1),
        shortest_10_percent: class(100, 1000, short.0, short.1),
        longest_1_percent: class(1_000_000, 50, long.0, long.1),
        buckets: vec![class(100, 1000, short.0, short.1), class(1_000_000, 50, long.0, long.1)],
    }
}

/// Homa is far better with short messages; a pipelined TCP has the lower P50 of the long ones.
pub(super) fn race() -> RaceReport {
    let mut bbr = transport("tcp-bbr-pool", "TCP bbr pool", (30_000.0, 400_000.0), (2e6, 4e6));
    bbr.marks.push("achieved 70.0 % load where 80.0 % were offered".to_owned());
    let transports = vec![
        transport("homa", "Homa", (1_000.0, 2_000.0), (1.5e6, 2.0e6)),
        transport("tcp-cubic-pipelined", "TCP cubic pipelined", (5_000.0, 900_000.0), (1.2e6, 2.5e6)),
        transport("tcp-cubic-pool", "TCP cubic pool", (10_000.0, 60_000.0), (1.8e6, 3.0e6)),
        bbr,
    ];
    RaceReport {
        header: header("homarus-compare"),
        workload: WorkloadReport { name: "a<b&c".to_owned(), mean_bytes: 1000.0 },
        load: 0.8,
        seconds: 25.0,
        turns: 1,
        seed: 1,
        idle: [(100, 50.0), (1_000_000, 3e5)]
            .map(|(bytes, base_us)| IdlePoint { bytes, homa_us: Some(base_us), tcp_us: Some(base_us), base_us })
            .into(),
        verdict: verdict(&transports),
        transports,
    }
}

/// Two transports that have finished and one that has not.
pub(super) fn incast() -> IncastReport {
    let quantiles = Some(Quantiles { p50: 1.0, p99: 2.0, p999: 3.0, max: 3.0 });
    let homa = IncastTransport {
        id: "homa".to_owned(),
        name: "Homa".to_owned(),
        round_ms: quantiles,
        probe_us: quantiles,
        probes: 10,
        probes_lost: 0,
        retransmitted_packets: 0,
        port_drops: 0,
        port_queue_peak_bytes: 0,
        failure: None,
    };
    let slow = IncastTransport {
        id: "tcp-cubic-pool".to_owned(),
        name: "TCP cubic pool".to_owned(),
        round_ms: quantiles,
        probe_us: Some(Quantiles { p50: 10.0, p99: 20.0, p999: 30.0, max: 30.0 }),
        ..homa.clone()
    };
    let failed = IncastTransport {
        id: "tcp-bbr-pool".to_owned(),
        name: "TCP bbr pool".to_owned(),
        round_ms: None,
        failure: Some("round 3 was not over".to_owned()),
        ..homa.clone()
    };
    IncastReport {
        header: header("homarus-compare-incast"),
        servers: 100,
        reply_bytes: 65_536,
        rounds: 5,
        ideal_round_ms: 1000.0,
        probe_bytes: 2048,
        probe_period_ms: 20,
        transports: vec![homa, slow, failed],
    }
}
