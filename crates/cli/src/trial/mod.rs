//! One measurement of one transport between two processes, the same for every transport.
//!
//! `homarus bench` starts a server process and then a client process of the same program, each on its own CPU. The
//! server prints `{"listening":ADDRESS}` and serves until its standard input closes. The client sends requests for
//! a given time and prints one [`Outcome`] as a line of JSON.

mod callers;
mod core;
mod homarus;
mod message;
mod meter;
mod tcp;
mod tokio_tcp;
mod tokio_udp;
mod udp;

pub use callers::call_concurrently;
pub use message::Message;
pub use meter::{Latency, Meter, Outcome};
pub use tcp::tune as tune_tcp;

use crate::sys;
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Version of the programs that run trials, and of the protocol between them and `homarus bench`: both must agree.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (trials 2)");

/// Which end of the measurement a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// Answers requests until standard input closes.
    Serve,
    /// Sends requests and prints what it measured.
    Drive,
}

/// How a process waits for the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Sleeps in the kernel.
    Blocking,
    /// Asks again and again without sleeping.
    Spin,
    /// Waits in a tokio runtime of one thread.
    Tokio,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Job {
    /// Round trips of an echo, one after the other.
    Rtt,
    /// Echoes per second with many outstanding.
    Rate,
    /// Long requests with an answer of 8 bytes; only the requests' bytes count.
    Bulk,
}

/// What one trial does.
#[derive(Clone, Copy, Debug, Args)]
pub struct Spec {
    /// How both processes wait
    #[arg(long, value_enum)]
    pub mode: Mode,
    /// What is measured
    #[arg(long, value_enum)]
    pub job: Job,
    /// Bytes in a request
    #[arg(long)]
    pub size: usize,
    /// Requests outstanding at a time
    #[arg(long, default_value_t = 1)]
    pub outstanding: usize,
    /// MTU of the link between both ends, bytes of IP packet
    #[arg(long, default_value_t = 1500)]
    pub mtu: usize,
    /// Milliseconds before the measurement begins
    #[arg(long, default_value_t = 100)]
    pub warmup_ms: u64,
    /// Milliseconds that are measured
    #[arg(long, default_value_t = 1000)]
    pub measure_ms: u64,
}

impl Spec {
    /// Time before the measurement begins.
    pub fn warmup(&self) -> Duration {
        Duration::from_millis(self.warmup_ms)
    }

    /// Time that is measured.
    pub fn measure(&self) -> Duration {
        Duration::from_millis(self.measure_ms)
    }

    /// Bytes in the answer to a request.
    pub fn answer_len(&self) -> usize {
        match self.job {
            Job::Rtt | Job::Rate => self.size,
            Job::Bulk => Message::STAMP,
        }
    }

    /// The answer to `request`.
    pub fn answer<'a>(&self, request: &'a [u8]) -> &'a [u8] {
        &request[..self.answer_len().min(request.len())]
    }
}

/// Arguments of the hidden subcommand that runs one end of a trial.
#[derive(Clone, Debug, Args)]
pub struct TrialArgs {
    /// Name of the transport
    pub transport: String,
    /// Which end this process is
    #[arg(value_enum)]
    pub role: Role,
    /// Address to serve on, or the server's address
    pub address: SocketAddr,
    /// CPU that this process stays on
    #[arg(long)]
    pub cpu: Option<usize>,
    /// What to do
    #[command(flatten)]
    pub spec: Spec,
}

/// One transport that trials can run over.
pub struct Transport {
    /// Its name on the command line.
    pub name: &'static str,
    /// Calls [`announce`], then answers requests forever.
    pub serve: fn(&Spec, SocketAddr) -> Result<()>,
    /// Sends requests to the server while the meter runs.
    pub drive: fn(&Spec, SocketAddr, Arc<Meter>) -> Result<()>,
}

/// The transports that this crate measures itself.
pub const OWN_TRANSPORTS: &[Transport] = &[
    Transport { name: "homarus", serve: homarus::serve, drive: homarus::drive },
    Transport {
        name: "core",
        serve: |_, _| bail!("the core alone needs no server: only drive it"),
        drive: |spec, _, meter| core::drive(spec, &meter),
    },
    Transport {
        name: "udp",
        serve: |spec, at| match spec.mode {
            Mode::Tokio => tokio_udp::serve(spec, at),
            Mode::Blocking | Mode::Spin => udp::serve(spec, at),
        },
        drive: |spec, server, meter| match spec.mode {
            Mode::Tokio => tokio_udp::drive(spec, server, &meter),
            Mode::Blocking | Mode::Spin => udp::drive(spec, server, &meter),
        },
    },
    Transport {
        name: "tcp",
        serve: |spec, at| match spec.mode {
            Mode::Tokio => tokio_tcp::serve(spec, at),
            Mode::Blocking | Mode::Spin => tcp::serve(spec, at),
        },
        drive: |spec, server, meter| match spec.mode {
            Mode::Tokio => tokio_tcp::drive(spec, server, &meter),
            Mode::Blocking | Mode::Spin => tcp::drive(spec, server, &meter),
        },
    },
];

/// Runs one end of a trial over one of `transports`.
pub fn run(args: &TrialArgs, transports: &[Transport]) -> Result<()> {
    let spec = &args.spec;
    let Some(transport) = transports.iter().find(|known| known.name == args.transport) else {
        let known: Vec<_> = transports.iter().map(|known| known.name).collect();
        bail!("no transport is called '{}': expected one of {}", args.transport, known.join(", "));
    };
    if spec.size < Message::SHORTEST {
        bail!("requests of {} bytes cannot be told apart: expected at least {}", spec.size, Message::SHORTEST);
    }
    if let Some(cpu) = args.cpu {
        sys::pin(cpu).with_context(|| format!("this process may not run on CPU {cpu}: choose another with --cpu"))?;
    }
    // Without the privilege the trial runs at normal priority, as all trials of that run do.
    let _ = sys::set_nice(-20);
    match args.role {
        Role::Serve => {
            end_with_standard_input();
            (transport.serve)(spec, args.address)
        }
        Role::Drive => {
            let meter = Arc::new(Meter::start(spec));
            (transport.drive)(spec, args.address, meter.clone())?;
            print_line(&meter.outcome(spec)?)
        }
    }
}

/// What a server prints when it is ready.
#[derive(Debug, Serialize, Deserialize)]
pub struct Listening {
    /// Where clients reach it.
    pub listening: SocketAddr,
}

/// Tells the parent process that the server is ready at `address`.
pub fn announce(address: SocketAddr) -> Result<()> {
    print_line(&Listening { listening: address })
}

/// A runtime of one thread: each end of a trial has one CPU.
pub fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("the tokio runtime did not start")
}

fn print_line(value: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).context("the parent process no longer reads")
}

/// Ends this process when the parent closes the pipe or dies, so that no server is ever left behind.
fn end_with_standard_input() {
    std::thread::spawn(|| {
        let mut sink = [0; 256];
        while matches!(std::io::stdin().read(&mut sink), Ok(1..)) {}
        std::process::exit(0);
    });
}
