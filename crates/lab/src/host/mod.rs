//! A host process: takes orders from its standard input, one a line, and answers each on its standard output.

mod flood;
mod idle;
mod incast;
mod ping;
mod transport;

use crate::control::{LoadReply, Order, Reply};
use crate::cpu::ThreadTime;
use crate::load::generate;
use crate::rack::{QueueReader, RackShape, configure_host};
use anyhow::{Context, Result};
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use transport::OpenTransport;

/// Runs a host until its standard input ends.
pub(crate) fn run() -> Result<()> {
    if crate::sys::become_real_time().is_err() {
        crate::sys::raise_priority(-10);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start tokio")?;
    let (lines, orders) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                return;
            }
        }
        // The controller has gone: nothing is left to do, and nobody to tell.
        std::process::exit(0);
    });
    runtime.block_on(obey(orders))
}

async fn obey(mut orders: mpsc::UnboundedReceiver<String>) -> Result<()> {
    let mut host = Host::default();
    while let Some(line) = orders.recv().await {
        let reply = match serde_json::from_str(&line) {
            Ok(order) => host.carry_out(order).await.unwrap_or_else(|error| Reply::Failed(format!("{error:#}"))),
            Err(error) => Reply::Failed(format!("not an order: {error}")),
        };
        let mut text = serde_json::to_vec(&reply).context("cannot write a reply")?;
        text.push(b'\n');
        let mut out = std::io::stdout().lock();
        out.write_all(&text).and_then(|()| out.flush()).context("cannot reply")?;
    }
    Ok(())
}

/// What a host has at the moment.
#[derive(Default)]
struct Host {
    place: Option<Place>,
    proof: Option<ping::EchoServers>,
    transport: Option<OpenTransport>,
    probe: Option<incast::Probe>,
}

/// Where in which rack it is.
#[derive(Clone)]
struct Place {
    shape: RackShape,
    index: usize,
    interface: u32,
}

impl Host {
    async fn carry_out(&mut self, order: Order) -> Result<Reply> {
        match order {
            Order::SetUp { shape, index } => {
                let interface = configure_host(&shape, index)?;
                self.proof = Some(ping::EchoServers::start(index)?);
                self.place = Some(Place { shape, index, interface });
                Ok(Reply::Done)
            }
            Order::Open { transport, servers, answer } => {
                let place = self.place()?;
                self.transport = Some(OpenTransport::open(&transport, &place, servers, answer).await?);
                Ok(Reply::Done)
            }
            Order::Connect { to } => {
                self.transport()?.client().connect(&to).await?;
                Ok(Reply::Done)
            }
            Order::Close => {
                let transport = self.transport.take().context("no transport is open")?;
                Ok(Reply::Closed(transport.close().await?))
            }
            Order::Flood(order) => flood::flood(self.place()?.index, order).await,
            Order::Ping(order) => ping::ping(self.place()?.index, order).await,
            Order::Idle { to, lengths, nanos_each } => {
                idle::measure(self.transport()?.client(), to, &lengths, nanos_each).await.map(Reply::Idle)
            }
            Order::Load(order) => {
                let place = self.place()?;
                let (peak, watching) = watch_own_queue(place.interface)?;
                let result = generate(Arc::clone(self.transport()?.client()), place.index, order).await;
                watching.abort();
                let (host_queue_peak, host_queue_drops) = *peak.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(Reply::Load(Box::new(LoadReply { host_queue_peak, host_queue_drops, ..result? })))
            }
            Order::Incast { servers, reply, rounds } => {
                incast::rounds(self.transport()?.client(), &servers, reply, rounds).await
            }
            Order::StartProbe { to, length, period } => {
                self.probe = Some(incast::Probe::start(Arc::clone(self.transport()?.client()), to, length, period)?);
                Ok(Reply::Done)
            }
            Order::Usage => {
                let ThreadTime { ran, waited } = ThreadTime::of_this_thread()?;
                Ok(Reply::Usage { ran, waited })
            }
            Order::StopProbe => self.probe.take().context("no probe is running")?.stop().await,
        }
    }

    fn place(&self) -> Result<Place> {
        self.place.clone().context("the host is not set up yet")
    }

    fn transport(&self) -> Result<&OpenTransport> {
        self.transport.as_ref().context("no transport is open")
    }
}

/// Peak of a queue, bytes, and packets dropped by it.
type PeakAndDrops = Arc<Mutex<(u64, u64)>>;

/// Looks at the host's own queue every 5 ms.
fn watch_own_queue(interface: u32) -> Result<(PeakAndDrops, tokio::task::JoinHandle<()>)> {
    let seen = PeakAndDrops::default();
    let mut reader = QueueReader::open()?;
    let before = reader.read(interface)?.drops;
    let shared = Arc::clone(&seen);
    let task = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        while let Ok(state) = reader.read(interface) {
            {
                let mut seen = shared.lock().unwrap_or_else(PoisonError::into_inner);
                *seen = (seen.0.max(state.backlog), state.drops - before);
            }
            ticks.tick().await;
        }
    });
    Ok((seen, task))
}
