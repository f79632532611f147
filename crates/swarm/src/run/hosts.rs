//! What becomes of the processes on the hosts.

use super::violation::Violation;
use super::{Run, Task};
use crate::net::HostId;
use crate::scenario::Trouble;
use homarus_proto::{Instant, RpcId};
use std::collections::HashMap;

/// What the run knows of a host.
#[derive(Debug)]
pub(super) struct Condition {
    incarnation: u32,
    closed: bool,
    /// The trouble that its process has, by its number.
    trouble: Option<usize>,
    /// The latest time that its clock has shown to its endpoint.
    latest: Instant,
    /// Handles of outstanding requests, by id.
    rpcs: HashMap<u64, RpcId>,
}

impl Condition {
    pub(super) fn new(now: Instant) -> Condition {
        Condition { incarnation: 0, closed: false, trouble: None, latest: now, rpcs: HashMap::new() }
    }

    pub(super) fn incarnation(&self) -> u32 {
        self.incarnation
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Notes what the clock shows, and gives the time as an endpoint understands it: never backwards.
    pub(super) fn see(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.latest
    }

    pub(super) fn remember(&mut self, rpc: RpcId) {
        self.rpcs.insert(rpc.as_u64(), rpc);
    }

    pub(super) fn rpc(&self, id: u64) -> Option<RpcId> {
        self.rpcs.get(&id).copied()
    }

    pub(super) fn forget(&mut self, id: u64) {
        self.rpcs.remove(&id);
    }
}

impl Run<'_> {
    pub(super) fn begin_trouble(&mut self, index: usize) -> Result<(), Violation> {
        let plan = self.scenario.troubles[index];
        let host = plan.host;
        self.say(|| format!("host {host} suffers {:?}", plan.trouble));
        let now = self.world.now();
        match plan.trouble {
            Trouble::Jump(nanos) => {
                let before = self.world.local_time(host);
                self.hosts[host].see(before);
                self.world.jump_clock(host, nanos);
                return Ok(());
            }
            Trouble::Blackout(time) => {
                self.sky.borrow_mut().darken(self.world.address(host));
                self.schedule(now + time, Task::End(index));
                return Ok(());
            }
            Trouble::Mtu(mtu) => {
                for peer in 0..self.world.host_count() {
                    let peer = self.world.address(peer);
                    self.world.with(host, |endpoint, _| endpoint.set_path_mtu(peer, mtu));
                }
                return Ok(());
            }
            Trouble::Receive(bytes) => {
                self.world.with(host, |endpoint, _| endpoint.set_max_incoming(bytes));
                return Ok(());
            }
            _ => {}
        }
        if self.hosts[host].trouble.is_some() {
            return Ok(());
        }
        self.hosts[host].trouble = Some(index);
        let time = match plan.trouble {
            Trouble::Pause(time) => {
                self.world.pause(host);
                time
            }
            Trouble::Restart { after, icmp } => {
                self.world.kill(host, icmp);
                self.lose_memory(host);
                after
            }
            Trouble::Close(time) => {
                self.close(host)?;
                time
            }
            Trouble::Jump(_) | Trouble::Blackout(_) | Trouble::Mtu(_) | Trouble::Receive(_) => return Ok(()),
        };
        self.schedule(now + time, Task::End(index));
        Ok(())
    }

    pub(super) fn end_trouble(&mut self, index: usize) {
        let plan = self.scenario.troubles[index];
        if let Trouble::Blackout(_) = plan.trouble {
            self.sky.borrow_mut().lighten(self.world.address(plan.host));
        } else if self.hosts[plan.host].trouble == Some(index) {
            self.relieve(plan.host);
        }
    }

    /// Ends whatever trouble the process on a host has.
    pub(super) fn relieve(&mut self, host: HostId) {
        let Some(index) = self.hosts[host].trouble.take() else { return };
        self.say(|| format!("host {host} is well again"));
        match self.scenario.troubles[index].trouble {
            Trouble::Pause(_) => self.world.resume(host),
            _ => self.start_again(host),
        }
    }

    fn close(&mut self, host: HostId) -> Result<(), Violation> {
        self.hosts[host].closed = true;
        self.world.with(host, |endpoint, now| endpoint.close(now));
        let view = self.world.endpoint(host).view();
        super::heal::check_idle(host, &view)
    }

    fn start_again(&mut self, host: HostId) {
        self.lose_memory(host);
        let seed = self.dice.number();
        self.world.restart(host, seed);
    }

    /// The process is gone: nobody waits for its requests any more, and what it worked on is lost.
    fn lose_memory(&mut self, host: HostId) {
        self.ledger.died(host);
        self.held.retain(|_, held| held.host != host);
        let state = &mut self.hosts[host];
        state.rpcs.clear();
        state.closed = false;
        state.incarnation += 1;
    }
}
