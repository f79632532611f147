//! The set-ups that were published.

use super::play::{self, Output};
use super::rivals::{Rival, choices};
use crate::size;
use anyhow::Result;
use clap::Args;
use homarus_sim::scenario::{ClusterPlan, Counting, HomaOptions, LoadPlan, Scenario, SwitchPlan, WireForm};
use std::process::ExitCode;

/// `homarus sim paper`.
#[derive(Debug, Args)]
pub(crate) struct PaperArgs {
    /// Message lengths: w1 to w5, or a length in bytes
    #[arg(long, default_value = "w4")]
    workload: String,
    /// Share of the hosts' links that is offered, by bytes on the wire
    #[arg(long, default_value_t = 0.8)]
    load: f64,
    /// Messages that count
    #[arg(long, default_value_t = 20_000)]
    messages: u64,
    /// Time before messages begin to count, µs
    #[arg(long, default_value_t = 20_000)]
    warm_up: u64,
    /// Everything random is drawn from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Messages that a receiver grants at the same time [default: as published: w1 1, w2 3, w3 4, others 7]
    #[arg(long)]
    overcommitment: Option<usize>,
    /// Priority levels, 1 to 8
    #[arg(long, default_value_t = 8)]
    priorities: u8,
    /// Who carries the load, comma-separated; srpt is the oracle that knows all
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = [Rival::Homa, Rival::Srpt])]
    transports: Vec<Rival>,
    #[command(flatten)]
    output: Output,
}

/// `homarus sim incast`.
#[derive(Debug, Args)]
pub(crate) struct IncastArgs {
    /// Requests outstanding at once
    #[arg(long, default_value_t = 100)]
    requests: u32,
    /// Bytes of each response, e.g. 10kB
    #[arg(long, default_value = "10kB", value_parser = size::parse)]
    size: u32,
    /// Times that the client asks
    #[arg(long, default_value_t = 10)]
    rounds: u64,
    /// Bytes that each switch port can queue, e.g. 500kB
    #[arg(long, default_value = "500kB", value_parser = size::parse)]
    buffer: u32,
    /// Who carries the load, comma-separated
    #[arg(
        long,
        value_delimiter = ',',
        value_enum,
        default_values_t = [Rival::Homa, Rival::HomaNoIncast, Rival::Tcp, Rival::Dctcp, Rival::Roce, Rival::Infiniband]
    )]
    transports: Vec<Rival>,
    /// Everything random is drawn from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

/// `homarus sim talk`.
#[derive(Debug, Args)]
pub(crate) struct TalkArgs {
    /// Share of the hosts' links that is offered, requests and responses together
    #[arg(long, default_value_t = 0.8)]
    load: f64,
    /// Message lengths: w1 to w5, linux_w1 to linux_w5, or a length in bytes
    #[arg(long, default_value = "linux_w4")]
    workload: String,
    /// RPCs that count
    #[arg(long, default_value_t = 20_000)]
    messages: u64,
    /// Time before RPCs begin to count, µs
    #[arg(long, default_value_t = 20_000)]
    warm_up: u64,
    /// Hosts, on one switch
    #[arg(long, default_value_t = 40)]
    hosts: u32,
    /// Rate of their links, Gbit/s
    #[arg(long, default_value_t = 25.0)]
    gbit: f64,
    /// Bytes that each switch port can queue, e.g. 1MB
    #[arg(long, default_value = "1MB", value_parser = size::parse)]
    buffer: u32,
    /// Who carries the load, comma-separated
    #[arg(
        long,
        value_delimiter = ',',
        value_enum,
        default_values_t = [Rival::Homa, Rival::Tcp, Rival::TcpPool, Rival::Dctcp]
    )]
    transports: Vec<Rival>,
    /// Everything random is drawn from it
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

/// Runs the paper's cluster.
pub(crate) fn run(args: &PaperArgs) -> Result<ExitCode> {
    let published = match args.workload.as_str() {
        "w1" => 1,
        "w2" => 3,
        "w3" => 4,
        _ => 7,
    };
    let homa = HomaOptions {
        overcommitment: args.overcommitment.unwrap_or(published),
        priorities: args.priorities,
        incast_optimisation: false,
        wire: WireForm::Paper,
        ..HomaOptions::default()
    };
    let scenario = Scenario {
        name: format!("the paper's cluster, {} at {:.0} % load", args.workload, args.load * 100.0),
        seed: args.seed,
        cluster: ClusterPlan::default(),
        switch: SwitchPlan::default(),
        load: LoadPlan::Poisson {
            workload: args.workload.clone(),
            load: args.load,
            messages: args.messages,
            warm_up_us: args.warm_up,
            echo: false,
            counting: Counting::Paper,
        },
        transports: choices(&args.transports, &homa),
    };
    play::run(&scenario, &args.output)
}

/// Runs an incast.
pub(crate) fn incast(args: &IncastArgs) -> Result<ExitCode> {
    let scenario = Scenario {
        name: format!("{} responses of {} bytes at once", args.requests, args.size),
        seed: args.seed,
        cluster: ClusterPlan::default(),
        switch: SwitchPlan { buffer: Some(u64::from(args.buffer)), ..SwitchPlan::default() },
        load: LoadPlan::Incast { requests: args.requests, size: args.size, rounds: args.rounds },
        transports: choices(&args.transports, &HomaOptions::default()),
    };
    play::run(&scenario, &args.output)
}

/// Runs echo RPCs on one switch, the setting of the talk and of the Linux papers.
pub(crate) fn talk(args: &TalkArgs) -> Result<ExitCode> {
    // As the Linux papers configure it for these links.
    let homa = HomaOptions { unscheduled: 60_000, overcommitment: 8, fifo_percent: 5, ..HomaOptions::default() };
    let scenario = Scenario {
        name: format!("echo of equal lengths, {} at {:.0} % load", args.workload, args.load * 100.0),
        seed: args.seed,
        // About 15 µs from process to process and back, most of it in the hosts' software.
        cluster: ClusterPlan {
            racks: 1,
            hosts_per_rack: args.hosts,
            spines: 0,
            host_gbit: args.gbit,
            fabric_gbit: args.gbit,
            link_ns: 0,
            switch_ns: 250,
            transmit_ns: 3_500,
            receive_ns: 3_500,
        },
        switch: SwitchPlan { buffer: Some(u64::from(args.buffer)), ..SwitchPlan::default() },
        load: LoadPlan::Poisson {
            workload: args.workload.clone(),
            load: args.load,
            messages: args.messages,
            warm_up_us: args.warm_up,
            echo: true,
            counting: Counting::Frames,
        },
        transports: choices(&args.transports, &homa),
    };
    play::run(&scenario, &args.output)
}
