use super::{Happening, Net};
use crate::kernel::{Failure, Request};
use homarus_proto::{IncomingRpc, Instant, RpcError};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Who makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The modelled host.
    Kernel,
    /// The endpoint.
    Homarus,
}

/// One RPC to be.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Who makes it.
    pub from: Side,
    /// When, after the beginning.
    pub after: Duration,
    /// Bytes of the request.
    pub request: u32,
    /// Bytes of the response.
    pub response: u32,
    /// Time between them.
    pub service: Duration,
    /// Whom it addresses, if not the other side's first address and port.
    pub to: Option<SocketAddr>,
}

impl Call {
    /// A call at once that is answered at once.
    pub fn new(from: Side, request: u32, response: u32) -> Call {
        Call { from, after: Duration::ZERO, request, response, service: Duration::ZERO, to: None }
    }
}

/// How an RPC ended for its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With the response that was given.
    Intact,
    /// With something else.
    Garbled,
    /// The endpoint gave an error.
    Homarus(RpcError),
    /// The model gave an error.
    Kernel(Failure),
}

/// A response that is being thought about.
enum Waiting {
    Kernel(Request),
    Homarus(IncomingRpc),
}

/// Applications on both sides that exchange RPCs, and their books.
pub struct Play {
    /// The link and its ends.
    pub net: Net,
    calls: Vec<Call>,
    began: Instant,
    /// Which call has a client's id.
    by_id: BTreeMap<(bool, u64), usize>,
    waiting: Vec<Option<(usize, Waiting)>>,
    /// How each call ended, as often as it did.
    pub outcomes: Vec<Vec<Outcome>>,
    /// How often each request was executed.
    pub executions: Vec<u32>,
    faults: Vec<String>,
}

impl Play {
    /// Nothing has happened yet.
    pub fn new(net: Net, calls: Vec<Call>) -> Play {
        let mut play = Play {
            began: net.now(),
            net,
            by_id: BTreeMap::new(),
            waiting: Vec::new(),
            outcomes: vec![Vec::new(); calls.len()],
            executions: vec![0; calls.len()],
            faults: Vec::new(),
            calls,
        };
        for (index, call) in play.calls.iter().enumerate() {
            play.net.alarm(play.began + call.after, index);
        }
        play
    }

    /// Lets everything happen that happens within `time`; ends early once all calls have ended and nobody holds anything
    /// any more.
    pub fn run(&mut self, time: Duration) {
        let end = self.began + time;
        while !self.is_over() {
            let step = self.net.now() + Duration::from_millis(1);
            match self.net.next(step.min(end)) {
                Some(happening) => self.see_to(happening),
                None if self.net.now() >= end => break,
                None => {}
            }
        }
        self.net.endpoint.check_invariants();
    }

    fn is_over(&self) -> bool {
        let view = self.net.endpoint.view();
        let held = self.net.kernel.held();
        self.outcomes.iter().all(|outcomes| !outcomes.is_empty())
            && view.client_rpcs + view.server_rpcs + held.0 + held.1 == 0
    }

    fn see_to(&mut self, happening: Happening) {
        match happening {
            Happening::Alarm(token) if token < self.calls.len() => self.make_call(token),
            Happening::Alarm(token) => self.respond(token - self.calls.len()),
            Happening::KernelRequest(request, message) => {
                self.take_request(Side::Homarus, request.id, &message, Waiting::Kernel(request));
            }
            Happening::Request(rpc, message) => {
                self.take_request(Side::Kernel, rpc.id(), message.as_slice(), Waiting::Homarus(rpc));
            }
            Happening::KernelResponse(id, result) => {
                self.take_response(Side::Kernel, id, result.map_err(Outcome::Kernel));
            }
            Happening::Response(rpc, result) => {
                let result = result.map(|message| message.into_bytes().to_vec()).map_err(Outcome::Homarus);
                self.take_response(Side::Homarus, rpc.as_u64(), result);
            }
        }
    }

    fn make_call(&mut self, index: usize) {
        let call = self.calls[index];
        let message = contents(2 * index, call.request);
        let id = match call.from {
            Side::Kernel => {
                let to = call.to.unwrap_or(self.net.endpoint_address());
                self.net.kernel_calls(to, message)
            }
            Side::Homarus => {
                let to = call.to.unwrap_or(self.net.kernel_address());
                self.net.endpoint_calls(to, message).as_u64()
            }
        };
        self.by_id.insert((call.from == Side::Kernel, id), index);
    }

    fn take_request(&mut self, from: Side, id: u64, message: &[u8], waiting: Waiting) {
        let Some(index) = self.by_id.get(&(from == Side::Kernel, id)).copied() else {
            return self.faults.push(format!("a request with the id {id:x} that nobody made"));
        };
        self.executions[index] += 1;
        if *message != contents(2 * index, self.calls[index].request) {
            self.faults.push(format!("the request of call {index} came garbled"));
        }
        self.net.alarm(self.net.now() + self.calls[index].service, self.calls.len() + self.waiting.len());
        self.waiting.push(Some((index, waiting)));
    }

    fn respond(&mut self, number: usize) {
        let Some((index, waiting)) = self.waiting[number].take() else { return };
        let message = contents(2 * index + 1, self.calls[index].response);
        match waiting {
            Waiting::Kernel(request) => self.net.kernel_responds(request, message),
            Waiting::Homarus(rpc) => self.net.endpoint_responds(rpc, message),
        }
    }

    fn take_response(&mut self, from: Side, id: u64, result: Result<Vec<u8>, Outcome>) {
        let Some(index) = self.by_id.get(&(from == Side::Kernel, id)).copied() else {
            return self.faults.push(format!("a response with the id {id:x} that nobody waits for"));
        };
        self.outcomes[index].push(match result {
            Ok(message) if message == contents(2 * index + 1, self.calls[index].response) => Outcome::Intact,
            Ok(_) => Outcome::Garbled,
            Err(outcome) => outcome,
        });
    }

    /// All that was wrong besides the outcomes: what Linux would have dropped or not have sent, what ended twice or was
    /// executed twice by the endpoint, what is still held.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = self.faults.clone();
        let drops = self.net.kernel.drops().iter().filter(|drop| !drop.why.is_harmless());
        faults.extend(first_of_each(drops, |drop| drop.kind).map(|(drop, more)| format!("Linux drops {drop:?}{more}")));
        let firsts = first_of_each(self.net.kernel.breaches().iter(), |breach| breach.rule);
        faults.extend(firsts.map(|(breach, more)| format!("Linux would not send {breach:?}{more}")));
        for (index, call) in self.calls.iter().enumerate() {
            let (ends, executions) = (self.outcomes[index].len(), self.executions[index]);
            if ends != 1 {
                faults.push(format!("call {index} ended {ends} times: {call:?}"));
            }
            // Linux forgets what it has executed, and executes a late copy again; homarus does not.
            if executions > 1 && call.from == Side::Kernel {
                faults.push(format!("homarus executed call {index} {executions} times: {call:?}"));
            }
        }
        let (view, held) = (self.net.endpoint.view(), self.net.kernel.held());
        if view.client_rpcs + view.server_rpcs + view.send_buffer + view.receive_buffer > 0 {
            faults.push(format!("homarus still holds {view:?}"));
        }
        if held != (0, 0) {
            faults.push(format!("the kernel still holds {} requests and {} responses", held.0, held.1));
        }
        faults
    }

    /// The same, and every call that did not end with its response.
    pub fn faults_and_failures(&self) -> Vec<String> {
        let mut faults = self.faults();
        for (index, outcomes) in self.outcomes.iter().enumerate() {
            if outcomes.iter().any(|outcome| *outcome != Outcome::Intact) {
                faults.push(format!("call {index} ended with {outcomes:?}: {:?}", self.calls[index]));
            }
        }
        faults
    }

    /// Panics unless nothing was wrong and every call ended with its response.
    pub fn expect_all_intact(&self) {
        self.expect_none(&self.faults_and_failures());
    }

    /// Panics unless nothing was wrong but the outcomes.
    pub fn expect_no_faults(&self) {
        self.expect_none(&self.faults());
    }

    fn expect_none(&self, faults: &[String]) {
        assert!(faults.is_empty(), "{}\n{}", self.net.trace(), faults.join("\n"));
    }
}

/// The first thing of each sort, and how many more there were.
fn first_of_each<'a, T: 'a, K: PartialEq>(
    things: impl Iterator<Item = &'a T>,
    sort: impl Fn(&T) -> K,
) -> impl Iterator<Item = (&'a T, String)> {
    let mut first: Vec<(&T, u32)> = Vec::new();
    for thing in things {
        match first.iter_mut().find(|(known, _)| sort(known) == sort(thing)) {
            Some((_, more)) => *more += 1,
            None => first.push((thing, 0)),
        }
    }
    first.into_iter().map(|(thing, more)| (thing, format!(" and {more} more")))
}

/// Contents by which a wrong place, message or direction would be noticed.
pub fn contents(key: usize, length: u32) -> Vec<u8> {
    let mut state = (key as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut bytes = Vec::with_capacity(length as usize + 8);
    while bytes.len() < length as usize {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length as usize);
    bytes
}
