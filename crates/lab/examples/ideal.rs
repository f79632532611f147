//! What ideal schedulers reach with the arrivals of `homarus compare`: how much better than fair sharing a transport can be at all.
//!
//!     cargo run --release -p homarus-lab --example ideal -- [SECONDS [FIRST_SEED [SEEDS]]]
//!
//! The defaults are 16 s and seed 1, as those of `homarus compare`; rack, workload and load are its defaults too. With several seeds the
//! quantiles of each are printed.

use anyhow::{Context, Result, ensure};
use homarus_lab::{IdealResult, Quantiles, RacePlan, RackShape, Scheduler, Transport, Workload, ideal};

const SCHEDULERS: [(&str, Scheduler); 3] = [
    ("shortest remaining first", Scheduler::ShortestRemaining),
    ("fair among messages (pool)", Scheduler::FairMessages),
    ("fair among connections (pipelined)", Scheduler::FairConnections),
];

fn main() -> Result<()> {
    let numbers: Vec<f64> = std::env::args()
        .skip(1)
        .map(|word| {
            word.parse().with_context(|| format!("'{word}' is no number: expected [SECONDS [FIRST_SEED [SEEDS]]]"))
        })
        .collect::<Result<_>>()?;
    ensure!(numbers.len() <= 3, "expected [SECONDS [FIRST_SEED [SEEDS]]], found {} numbers", numbers.len());
    let number = |index: usize, usual: f64| numbers.get(index).copied().unwrap_or(usual);
    let first = number(1, 1.0) as u64;
    for seed in first..first + number(2, 1.0) as u64 {
        let plan = RacePlan {
            rack: RackShape { hosts: 8, rate: 50_000_000, priorities: 8, buffer: 300_000 },
            workload: Workload::resolve("linux_w4")?,
            load: 0.8,
            seconds: number(0, 16.0),
            turns: 1,
            seed,
            transports: Transport::field(&["cubic"]),
        };
        println!("seed {seed}, {} s, linux_w4 at 80 % load, 8 hosts on 50 Mbit/s links; round trips", plan.seconds);
        println!("{:36}{:>26}{:>26}{:>8}", "", "shortest 10 %: P50, P99", "longest 1 %: P50, P99", "RPCs");
        for (name, scheduler) in SCHEDULERS {
            let IdealResult { shortest_10_percent, longest_1_percent, count } = ideal(&plan, scheduler)?;
            println!("{name:36}{:>26}{:>26}{count:>8}", show(shortest_10_percent), show(longest_1_percent));
        }
    }
    Ok(())
}

fn show(quantiles: Option<Quantiles>) -> String {
    quantiles.map_or("-".to_owned(), |q| format!("{:.2} ms, {:.2} ms", q.p50 / 1e3, q.p99 / 1e3))
}
