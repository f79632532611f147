//! The applications on the hosts.

use super::ledger::Key;
use super::violation::{Violation, violated};
use super::{Held, Run, Task};
use crate::content::Message;
use crate::net::HostId;
use crate::scenario::CallPlan;
use homarus_proto::{CallOptions, IncomingRpc, Payload, RpcError, RpcId, SendError};
use std::time::Duration;

/// What is answered to requests that no host has made, bytes.
const ANSWER_TO_STRANGERS: usize = 50;

/// After how long a server tries again to answer when its process is paused.
const RETRY: Duration = Duration::from_millis(10);

impl Run<'_> {
    pub(super) fn call(&mut self, index: usize) -> Result<(), Violation> {
        let plan = self.scenario.calls[index];
        if !self.world.is_running(plan.from) {
            return Ok(());
        }
        match self.send_request(plan)? {
            Ok(key) => {
                if let Some(after) = plan.cancel_after {
                    self.schedule(self.world.now() + after, Task::Cancel(key));
                }
                Ok(())
            }
            Err(why) => self.judge_refusal(&plan, &why),
        }
    }

    pub(super) fn send_request(&mut self, plan: CallPlan) -> Result<Result<Key, SendError>, Violation> {
        let options = CallOptions { deadline: plan.deadline };
        let sent = self.world.call(plan.from, plan.to, plan.request.payload(), options);
        self.say(|| format!("host {} calls {} with {:?}: {sent:?}", plan.from, plan.to, plan.request));
        match sent {
            Ok(id) => {
                let key = (plan.from, id.as_u64());
                let now = self.hosts[plan.from].see(self.world.local_time(plan.from));
                self.hosts[plan.from].remember(id);
                self.ledger.called(key, plan, now)?;
                Ok(Ok(key))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    /// Whether a request may have been refused for that reason.
    fn judge_refusal(&self, plan: &CallPlan, why: &SendError) -> Result<(), Violation> {
        let limit = self.world.config(plan.from).max_message_len as usize;
        let too_long = plan.request.len() > limit;
        let explained = match why {
            SendError::TooLong { .. } => too_long,
            SendError::Closed => self.hosts[plan.from].is_closed(),
            SendError::TooManyRpcs { .. } | SendError::TooManyPeers { .. } | SendError::BufferFull { .. } => {
                self.scenario.tight
            }
            SendError::Gone => false,
        };
        if explained { Ok(()) } else { violated(format!("{plan:?} was refused without reason: {why:?}")) }
    }

    pub(super) fn cancel(&mut self, key: Key) -> Result<(), Violation> {
        let (host, id) = key;
        let alive = self.world.is_running(host) && !self.hosts[host].is_closed();
        let Some(rpc) = self.hosts[host].rpc(id).filter(|_| alive) else { return Ok(()) };
        let outstanding = self.world.with(host, |endpoint, now| endpoint.cancel(now, rpc));
        self.say(|| format!("host {host} cancels {id:#x}: {outstanding}"));
        self.ledger.cancelled(key, outstanding)
    }

    pub(super) fn request(&mut self, host: HostId, rpc: IncomingRpc, message: Payload) -> Result<(), Violation> {
        let message = self.planted.change_request(message);
        let key = self.world.host_at(rpc.client()).map(|client| (client, rpc.id()));
        self.say(|| format!("host {host} is asked by {} ({:#x}): {} bytes", rpc.client(), rpc.id(), message.len()));
        if let Some(key) = key {
            let incarnation = self.hosts[host].incarnation();
            self.ledger.executed(host, incarnation, key, &message)?;
            if self.planted.executes_twice() {
                self.ledger.executed(host, incarnation, key, &message)?;
            }
        }
        if self.planted.forgets_request() {
            return Ok(());
        }
        if self.planted.loses_memory() {
            let seed = self.dice.number();
            self.world.restart(host, seed);
            return Ok(());
        }
        let manners = if self.healed { Default::default() } else { self.scenario.manners };
        if self.dice.chance(manners.refuse) {
            self.say(|| format!("host {host} rejects {:#x}", rpc.id()));
            self.world.with(host, |endpoint, now| endpoint.reject(now, rpc));
            return Ok(());
        }
        let ignored = self.dice.chance(manners.ignore);
        let number = self.next_held;
        self.next_held += 1;
        self.held.insert(number, Held { host, rpc, ignored });
        if ignored {
            return Ok(());
        }
        if manners.think.is_zero() {
            return self.answer(number);
        }
        let after = self.dice.time(manners.think);
        self.schedule(self.world.now() + after, Task::Answer(number));
        Ok(())
    }

    pub(super) fn answer(&mut self, number: u64) -> Result<(), Violation> {
        let Some(held) = self.held.get(&number) else { return Ok(()) };
        if !self.world.is_running(held.host) {
            self.schedule(self.world.now() + RETRY, Task::Answer(number));
            return Ok(());
        }
        let Some(Held { host, rpc, .. }) = self.held.remove(&number) else { return Ok(()) };
        let key = self.world.host_at(rpc.client()).map(|client| (client, rpc.id()));
        let plan = key.and_then(|key| self.ledger.plan(key));
        let response = plan.map_or(Message::real(rpc.id(), ANSWER_TO_STRANGERS), |plan| plan.response);
        let id = rpc.id();
        if let Some(key) = key {
            self.ledger.answered(key);
        }
        let sent = self.world.respond(host, rpc, response.payload());
        self.say(|| format!("host {host} answers {id:#x} with {response:?}: {sent:?}"));
        let explained = match &sent {
            Ok(()) | Err(SendError::Gone) => true,
            Err(SendError::TooLong { limit, .. }) => response.len() > *limit as usize,
            Err(SendError::BufferFull { .. }) => self.scenario.tight,
            Err(SendError::Closed) => self.hosts[host].is_closed(),
            Err(SendError::TooManyRpcs { .. } | SendError::TooManyPeers { .. }) => false,
        };
        if explained { Ok(()) } else { violated(format!("the answer to {id:#x} was refused without reason: {sent:?}")) }
    }

    pub(super) fn response(
        &mut self,
        host: HostId,
        rpc: RpcId,
        result: Result<Payload, RpcError>,
    ) -> Result<(), Violation> {
        let id = rpc.as_u64();
        self.say(|| match &result {
            Ok(payload) => format!("host {host} has the response to {id:#x}: {} bytes", payload.len()),
            Err(why) => format!("host {host} has an error for {id:#x}: {why:?}"),
        });
        let Some(result) = self.planted.change_outcome(result) else { return Ok(()) };
        let now = self.hosts[host].see(self.world.local_time(host));
        let (plan, begun) = self.ledger.ended((host, id), &result)?;
        self.hosts[host].forget(id);
        match result {
            Err(why) if !self.ledger.is_tainted(id) => {
                let dead_after = self.world.config(host).dead_after;
                self.excuses.accept(host, &plan, &why, now.saturating_since(begun), dead_after)
            }
            _ => Ok(()),
        }
    }
}
