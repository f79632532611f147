//! Plays a scenario and checks everything that must hold.

mod app;
mod catch;
mod forge;
mod heal;
mod hosts;
mod ledger;
mod narrator;
mod plant;
mod sky;
mod verdict;
mod violation;

use crate::dice::Dice;
use crate::net::{HostId, Occurrence, World};
use crate::scenario::{START, Scenario, Trouble};
use homarus_proto::{IncomingRpc, Instant};
use ledger::{Key, Ledger};
use plant::Planted;
use sky::{SharedSky, Sky};
use std::collections::HashMap;
use verdict::Excuses;

pub use catch::run_seed;
pub use plant::Plant;
pub use violation::Violation;

/// Choices for one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Print everything that happens.
    pub narrate: bool,
    /// A bug to plant, which the checks must find.
    pub plant: Option<Plant>,
}

/// What a run without violation amounted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Hash of all that happened.
    pub trace: u64,
    /// Packets that endpoints sent.
    pub packets: u64,
    /// Requests that ended well.
    pub succeeded: u64,
    /// Requests that ended with an error.
    pub failed: u64,
    /// Bytes delivered to applications.
    pub delivered_bytes: u64,
}

/// Something that the run itself has to do at some time.
#[derive(Clone, Copy, Debug)]
enum Task {
    Call(usize),
    Cancel(Key),
    Answer(u64),
    Begin(usize),
    End(usize),
}

/// A request that a server's application works on.
#[derive(Debug)]
struct Held {
    host: HostId,
    rpc: IncomingRpc,
    /// Its answer comes only when the network has healed.
    ignored: bool,
}

/// A run in progress.
struct Run<'a> {
    scenario: &'a Scenario,
    excuses: Excuses,
    world: World,
    sky: SharedSky,
    ledger: Ledger,
    dice: Dice,
    planted: Planted,
    tasks: Vec<Task>,
    held: HashMap<u64, Held>,
    next_held: u64,
    hosts: Vec<hosts::Condition>,
    healed: bool,
    narrate: bool,
}

/// Plays a scenario to its end. Panics of the endpoints pass through; [`run_seed`] catches them.
pub fn run(scenario: &Scenario, options: Options) -> Result<Report, Violation> {
    let mut run = Run::new(scenario, options);
    run.storm()?;
    run.heal()?;
    run.converge()?;
    run.probe()?;
    Ok(run.report())
}

/// Whether a server may forget what it has executed: if forged packets make it, or if its table of peers overflows while
/// the time that it remembers them for goes by in no time at all, or stands still for a client.
fn may_forget(scenario: &Scenario) -> bool {
    let remembered = scenario.hosts.iter().map(|host| host.config.dead_after).min().unwrap_or_default();
    let overflows = scenario.hosts.iter().any(|host| host.config.max_peers < scenario.hosts.len());
    let jumps = scenario.troubles.iter().any(|plan| match plan.trouble {
        Trouble::Jump(nanos) => u128::from(nanos.unsigned_abs()) >= remembered.as_nanos(),
        _ => false,
    });
    !scenario.weather.is_honest() || overflows && jumps
}

impl<'a> Run<'a> {
    fn new(scenario: &'a Scenario, options: Options) -> Run<'a> {
        let mut world = World::new();
        for spec in &scenario.hosts {
            world.add_host(spec.clone());
        }
        world.limit_packets(Run::packets_allowed(scenario));
        if options.narrate {
            world.set_observer(narrator::observer());
        }
        let sky = Sky::over(&mut world, scenario, options.plant);
        let hosts = (0..world.host_count()).map(|host| hosts::Condition::new(world.local_time(host))).collect();
        Run {
            scenario,
            excuses: Excuses::of(scenario),
            world,
            sky,
            ledger: Ledger::new(may_forget(scenario)),
            dice: Dice::new(scenario.seed, 3),
            planted: Planted::new(options.plant),
            tasks: Vec::new(),
            held: HashMap::new(),
            next_held: 0,
            hosts,
            healed: false,
            narrate: options.narrate,
        }
    }

    /// The load and all the faults.
    fn storm(&mut self) -> Result<(), Violation> {
        let scenario = self.scenario;
        for (index, plan) in scenario.calls.iter().enumerate() {
            self.schedule(plan.at, Task::Call(index));
        }
        for (index, plan) in scenario.troubles.iter().enumerate() {
            self.schedule(plan.at, Task::Begin(index));
        }
        debug_assert!(scenario.heal_at >= START);
        self.go_on(scenario.heal_at)
    }

    fn schedule(&mut self, at: Instant, task: Task) {
        self.world.alarm(at, self.tasks.len() as u64);
        self.tasks.push(task);
    }

    /// Plays until `limit`.
    fn go_on(&mut self, limit: Instant) -> Result<(), Violation> {
        while self.step(limit)? {}
        Ok(())
    }

    /// Plays until something concerns an application; false if nothing did before `limit`.
    fn step(&mut self, limit: Instant) -> Result<bool, Violation> {
        let Some(occurrence) = self.world.next(limit) else { return Ok(false) };
        for id in self.sky.borrow_mut().take_tainted() {
            self.ledger.taint(id);
        }
        match occurrence {
            Occurrence::Request { host, rpc, message } => self.request(host, rpc, message)?,
            Occurrence::Response { host, rpc, result } => self.response(host, rpc, result)?,
            Occurrence::Alarm(token) => self.perform(self.tasks[token as usize])?,
        }
        Ok(true)
    }

    fn perform(&mut self, task: Task) -> Result<(), Violation> {
        match task {
            Task::Call(index) => self.call(index),
            Task::Cancel(key) => self.cancel(key),
            Task::Answer(number) => self.answer(number),
            Task::Begin(index) => self.begin_trouble(index),
            Task::End(index) => {
                self.end_trouble(index);
                Ok(())
            }
        }
    }

    fn report(&self) -> Report {
        Report {
            trace: self.world.trace().value(),
            packets: self.world.packets_sent(),
            succeeded: self.ledger.succeeded,
            failed: self.ledger.failed,
            delivered_bytes: self.ledger.delivered_bytes,
        }
    }

    fn say(&self, what: impl FnOnce() -> String) {
        if self.narrate {
            narrator::tell(&format!("{} {}", narrator::time(self.world.now()), what()));
        }
    }
}
