use super::violation::{Violation, violated};
use crate::net::HostId;
use crate::scenario::CallPlan;
use homarus_proto::{Instant, Payload, RpcError};
use std::collections::{HashMap, HashSet};

/// How far a request has come, as its client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// It has had its outcome.
    Ended,
    /// The client cancelled it: no outcome may follow.
    Cancelled,
    /// The client's process has died.
    Orphan,
}

/// A request that was accepted for sending.
#[derive(Clone, Copy, Debug)]
struct Call {
    plan: CallPlan,
    /// By the client's endpoint, which never goes backwards.
    begun: Instant,
    state: State,
    /// Whether some server has given its endpoint the response.
    answered: bool,
}

/// A request by its client and its id on the wire.
pub(super) type Key = (HostId, u64);

/// The books on every request: who asked what of whom, who executed it, and how it ended.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    calls: HashMap<Key, Call>,
    /// Requests executed, by server and incarnation of its process.
    executed: HashSet<(HostId, u32, Key)>,
    /// Ids that hostile packets bore: anything may come of these.
    tainted: HashSet<u64>,
    /// Whether a server may have forgotten what it executed.
    forgetful: bool,
    open: usize,
    /// Requests that ended well.
    pub(super) succeeded: u64,
    /// Requests that ended with an error.
    pub(super) failed: u64,
    /// Bytes of requests and responses delivered to applications.
    pub(super) delivered_bytes: u64,
}

impl Ledger {
    pub(super) fn new(forgetful: bool) -> Ledger {
        Ledger { forgetful, ..Ledger::default() }
    }

    /// Requests without outcome.
    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// What a client still waits for.
    pub(super) fn plan(&self, key: Key) -> Option<&CallPlan> {
        self.calls.get(&key).map(|call| &call.plan)
    }

    pub(super) fn taint(&mut self, id: u64) {
        self.tainted.insert(id & !1);
    }

    pub(super) fn is_tainted(&self, id: u64) -> bool {
        self.tainted.contains(&(id & !1))
    }

    pub(super) fn called(&mut self, key: Key, plan: CallPlan, now: Instant) -> Result<(), Violation> {
        let call = Call { plan, begun: now, state: State::Open, answered: false };
        self.open += 1;
        match self.calls.insert(key, call) {
            Some(_) => violated(format!("host {} used the id {:#x} twice", key.0, key.1)),
            None => Ok(()),
        }
    }

    /// A client cancelled a request; `outstanding` is what its endpoint says of it.
    pub(super) fn cancelled(&mut self, key: Key, outstanding: bool) -> Result<(), Violation> {
        let Some(call) = self.calls.get_mut(&key) else { return Ok(()) };
        match (call.state, outstanding) {
            (State::Open, true) => {
                call.state = State::Cancelled;
                self.open -= 1;
                Ok(())
            }
            (State::Open, false) => violated(format!("{key:?} is open, but was not outstanding when cancelled")),
            (_, true) => violated(format!("{key:?} has ended, but was outstanding when cancelled")),
            (_, false) => Ok(()),
        }
    }

    /// A process died, and with it the requests that it had outstanding.
    pub(super) fn died(&mut self, host: HostId) {
        for (_, call) in self.calls.iter_mut().filter(|((client, _), _)| *client == host) {
            if call.state == State::Open {
                call.state = State::Orphan;
                self.open -= 1;
            }
        }
    }

    /// A request reached the application of a server.
    pub(super) fn executed(
        &mut self,
        server: HostId,
        incarnation: u32,
        key: Key,
        message: &Payload,
    ) -> Result<(), Violation> {
        let first = self.executed.insert((server, incarnation, key));
        if self.is_tainted(key.1) {
            return Ok(());
        }
        let Some(call) = self.calls.get(&key) else {
            return violated(format!("host {server} executed {key:?}, which nobody asked for"));
        };
        if !first && !self.forgetful {
            return violated(format!("host {server} executed {key:?} twice"));
        }
        if call.plan.to != server {
            return violated(format!("host {server} executed {key:?}, which was meant for host {}", call.plan.to));
        }
        if !call.plan.request.is(message) {
            return violated(format!("the request {key:?} reached host {server} with other contents"));
        }
        self.delivered_bytes += message.len() as u64;
        Ok(())
    }

    /// A server answered a request.
    pub(super) fn answered(&mut self, key: Key) {
        if let Some(call) = self.calls.get_mut(&key) {
            call.answered = true;
        }
    }

    /// A request ended. Gives its plan and when it began, for a judgement of its outcome.
    pub(super) fn ended(
        &mut self,
        key: Key,
        result: &Result<Payload, RpcError>,
    ) -> Result<(CallPlan, Instant), Violation> {
        let tainted = self.is_tainted(key.1);
        let Some(call) = self.calls.get_mut(&key) else {
            return violated(format!("an outcome for {key:?}, which was never accepted"));
        };
        if call.state != State::Open {
            return violated(format!("an outcome for {key:?}, which is {:?} already", call.state));
        }
        call.state = State::Ended;
        self.open -= 1;
        match result {
            Ok(payload) if !tainted => {
                if !call.answered {
                    return violated(format!("a response to {key:?}, which no server has answered"));
                }
                if !call.plan.response.is(payload) {
                    return violated(format!("the response to {key:?} has other contents"));
                }
                self.succeeded += 1;
                self.delivered_bytes += payload.len() as u64;
            }
            Ok(_) => self.succeeded += 1,
            Err(_) => self.failed += 1,
        }
        Ok((call.plan, call.begun))
    }

    /// Requests without outcome, for a message.
    pub(super) fn open_keys(&self) -> Vec<Key> {
        let open = self.calls.iter().filter(|(_, call)| call.state == State::Open);
        let mut keys: Vec<Key> = open.map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys
    }
}
