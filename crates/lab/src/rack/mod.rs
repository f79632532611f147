//! The rack: hosts, each a process in a network namespace of its own, on one switch.
//!
//! No namespace has a name: each lives as long as the process in it, and the processes die with the one that started
//! them, however it ends. Nothing can be left behind.

mod address;
mod enter;
mod host_link;
mod iproute;
mod process;
mod queue;
mod switch;
mod watch;

pub(crate) use address::host_ip;
pub(crate) use enter::means;
pub use enter::{Entered, enter};
pub(crate) use host_link::configure_host;
pub(crate) use process::HOST_ARGUMENT;
pub(crate) use queue::QueueReader;
pub(crate) use watch::{PortUse, QueueWatch};

use crate::control::{Order, Reply};
use anyhow::{Result, bail};
use process::HostProcess;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use switch::Switch;

/// Shape of a rack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RackShape {
    /// Hosts, 2 to 64.
    pub hosts: usize,
    /// Rate of each link in each direction, bits per second on the wire (with preamble and gaps).
    pub rate: u64,
    /// Priority levels of each switch port, 1 to 8.
    pub priorities: u8,
    /// Bytes that a switch port can queue.
    pub buffer: u32,
}

impl RackShape {
    /// Time that a full-size packet takes on a link, ns.
    pub(crate) fn packet_nanos(&self) -> u64 {
        self.nanos_of(crate::wire::FULL_FRAME)
    }

    /// Time that `bytes` take on a link, ns.
    pub(crate) fn nanos_of(&self, bytes: u64) -> u64 {
        (u128::from(bytes) * 8_000_000_000 / u128::from(self.rate)) as u64
    }

    /// Bucket of the shapers, bytes: two packets, or what a link sends in 100 µs if that is more (timers are not exact).
    pub(crate) fn burst(&self) -> u64 {
        (self.rate / 8 / 10_000).max(2 * crate::wire::FULL_FRAME - 76)
    }
}

/// Hosts and switch, ready for use.
#[derive(Debug)]
pub(crate) struct Rack {
    shape: RackShape,
    hosts: Vec<HostProcess>,
    switch: Switch,
}

impl Rack {
    /// Builds the rack in this process's network namespace, which becomes the switch's.
    pub(crate) fn build(shape: &RackShape) -> Result<Rack> {
        let hosts: Vec<HostProcess> = (0..shape.hosts).map(HostProcess::start).collect::<Result<_>>()?;
        let pids: Vec<u32> = hosts.iter().map(HostProcess::pid).collect();
        let switch = Switch::build(shape, &pids)?;
        let mut rack = Rack { shape: shape.clone(), hosts, switch };
        rack.done(|index| Some(Order::SetUp { shape: shape.clone(), index }))?;
        Ok(rack)
    }

    /// Its shape.
    pub(crate) fn shape(&self) -> &RackShape {
        &self.shape
    }

    /// Gives one host an order and waits for the reply.
    pub(crate) fn ask(&mut self, host: usize, order: &Order) -> Result<Reply> {
        self.hosts[host].ask(order)
    }

    /// Gives each host the order that `order` makes for it, if any, and then waits for all replies; those of the hosts
    /// without an order are missing.
    pub(crate) fn ask_each(&mut self, order: impl Fn(usize) -> Option<Order>) -> Result<Vec<Reply>> {
        let orders: Vec<Option<Order>> = (0..self.hosts.len()).map(order).collect();
        for (host, order) in self.hosts.iter_mut().zip(&orders) {
            if let Some(order) = order {
                host.order(order)?;
            }
        }
        let asked = self.hosts.iter_mut().zip(&orders).filter(|(_, order)| order.is_some());
        asked.map(|(host, _)| host.reply()).collect()
    }

    /// The same for orders whose reply tells nothing.
    pub(crate) fn done(&mut self, order: impl Fn(usize) -> Option<Order>) -> Result<()> {
        for reply in self.ask_each(order)? {
            let Reply::Done = reply else { bail!("expected a host to be done, found {reply:?}") };
        }
        Ok(())
    }

    /// Starts to watch the switch's ports; bytes are counted within `window` (monotonic ns).
    pub(crate) fn watch(&self, window: Range<u64>) -> Result<QueueWatch> {
        QueueWatch::start(self.switch.ports(), window)
    }
}
