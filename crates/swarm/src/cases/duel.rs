//! Two endpoints, and somebody who decides for every packet whether and when it arrives.

use crate::content::Message;
use homarus_proto::{CallOptions, Config, Endpoint, Event, IncomingRpc, Instant, Payload, RpcError, RpcId, Transmit};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Steps after which two endpoints on a good network must have finished.
const PATIENCE: usize = 100_000;

/// Time after which nothing may be left, beyond the end of the last request.
const AFTERMATH: Duration = Duration::from_secs(120);

/// A request and its response.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// Which of the two is the client, 0 or 1.
    pub client: usize,
    /// What it sends.
    pub request: Message,
    /// What it gets.
    pub response: Message,
}

/// How a duel begins.
#[derive(Clone, Debug)]
pub struct DuelPlan {
    /// Of both endpoints.
    pub config: Config,
    /// Requests made at the beginning.
    pub exchanges: Vec<Exchange>,
}

/// A packet under way.
#[derive(Clone, Debug)]
struct Flying {
    to: usize,
    transmit: Transmit,
}

/// The endpoints, the packets between them, and the books.
#[derive(Debug)]
pub struct Duel {
    ends: [Endpoint; 2],
    now: Instant,
    flying: Vec<Flying>,
    exchanges: HashMap<(usize, RpcId), Exchange>,
    executed: HashMap<(usize, u64), u32>,
    outcomes: HashMap<(usize, RpcId), Result<(), RpcError>>,
    held: Vec<(usize, IncomingRpc)>,
    /// Whether servers answer by themselves.
    answers: bool,
    config: Config,
    scratch: Vec<u8>,
}

impl Duel {
    /// Panics if the configuration is not valid.
    pub fn new(plan: &DuelPlan) -> Duel {
        let end = |seed| Endpoint::new(plan.config.clone(), 4_000, seed).expect("a valid configuration");
        let mut duel = Duel {
            ends: [end(1), end(2)],
            now: Instant::from_nanos(1_000_000_000),
            flying: Vec::new(),
            exchanges: HashMap::new(),
            executed: HashMap::new(),
            outcomes: HashMap::new(),
            held: Vec::new(),
            answers: true,
            config: plan.config.clone(),
            scratch: Vec::new(),
        };
        for exchange in &plan.exchanges {
            duel.call(*exchange);
        }
        duel
    }

    /// Packets under way.
    pub fn flying(&self) -> usize {
        self.flying.len()
    }

    /// Whether servers answer at once (as at first), or only when told to.
    pub fn set_answers(&mut self, answers: bool) {
        self.answers = answers;
    }

    /// Starts a request; bounds may refuse it.
    pub fn call(&mut self, exchange: Exchange) {
        let client = exchange.client;
        let payload = exchange.request.payload();
        let now = self.now;
        let sent = self.ends[client].send_request(now, address(1 - client), payload, CallOptions::default());
        if let Ok(id) = sent {
            let old = self.exchanges.insert((client, id), exchange);
            assert!(old.is_none(), "an id is used once");
        }
        self.settle(client);
    }

    /// Gives a request up: `number` chooses among all ever made.
    pub fn cancel(&mut self, number: usize) {
        let mut keys: Vec<_> = self.exchanges.keys().copied().collect();
        keys.sort_unstable();
        let Some(&(client, id)) = keys.get(number % keys.len().max(1)) else { return };
        let outstanding = self.ends[client].cancel(self.now, id);
        assert_eq!(outstanding, !self.outcomes.contains_key(&(client, id)), "{id:?}");
        if outstanding {
            self.exchanges.remove(&(client, id));
        }
        self.settle(client);
    }

    /// Lets a packet arrive.
    pub fn deliver(&mut self, index: usize) {
        let packet = self.flying.remove(index);
        self.hand_over(packet);
    }

    /// Loses a packet.
    pub fn drop_packet(&mut self, index: usize) {
        self.flying.remove(index);
    }

    /// Lets a packet arrive and keeps a copy under way.
    pub fn duplicate(&mut self, index: usize) {
        let packet = self.flying[index].clone();
        self.hand_over(packet);
    }

    fn hand_over(&mut self, packet: Flying) {
        let Flying { to, transmit } = packet;
        let from = address(1 - to);
        // Discards are the endpoint's own affair; what counts is how the RPCs end.
        let _ = match transmit.payload {
            Payload::Phantom(len) => self.ends[to].handle_phantom(self.now, from, transmit.header(), len),
            Payload::Bytes(ref payload) => {
                self.scratch.clear();
                self.scratch.extend_from_slice(transmit.header());
                self.scratch.extend_from_slice(payload);
                self.ends[to].handle_packet(self.now, from, &self.scratch)
            }
        };
        self.settle(to);
    }

    /// Answers one of the requests that servers hold.
    pub fn answer(&mut self, number: usize) {
        if self.held.is_empty() {
            return;
        }
        let (server, rpc) = self.held.swap_remove(number % self.held.len());
        self.respond(server, rpc);
        self.settle(server);
    }

    /// Rejects one of them.
    pub fn reject(&mut self, number: usize) {
        if self.held.is_empty() {
            return;
        }
        let (server, rpc) = self.held.swap_remove(number % self.held.len());
        self.ends[server].reject(self.now, rpc);
        self.settle(server);
    }

    fn respond(&mut self, server: usize, rpc: IncomingRpc) {
        let client = 1 - server;
        let asked = self.exchanges.iter().find(|((end, id), _)| *end == client && id.as_u64() == rpc.id());
        let response = asked.map_or(Message::Phantom(1), |(_, exchange)| exchange.response);
        // A refusal means that the client is gone or that a bound is met; the client hears of it or not.
        let _ = self.ends[server].send_response(self.now, rpc, response.payload());
    }

    /// When the next timer is due.
    pub fn next_timer(&self) -> Option<Instant> {
        self.ends.iter().filter_map(Endpoint::poll_timeout).min()
    }

    /// Lets time pass, at most to the next timer, and handles that.
    pub fn wait(&mut self, most: Duration) {
        let limit = self.now + most;
        let due = self.next_timer().unwrap_or(limit).max(self.now);
        self.now = due.min(limit);
        for end in 0..2 {
            self.ends[end].handle_timeout(self.now);
            self.settle(end);
            let next = self.ends[end].poll_timeout();
            assert!(next.is_none_or(|at| at > self.now), "a timer is due after it was handled");
        }
    }

    /// Takes what an endpoint has to say.
    fn settle(&mut self, end: usize) {
        while let Some(event) = self.ends[end].poll_event() {
            match event {
                Event::Request { rpc, message } => self.request(end, rpc, &message),
                Event::Response { rpc, result } => self.response(end, rpc, result),
            }
        }
        let mut sent = 0;
        while let Some(transmit) = self.ends[end].poll_transmit(self.now) {
            assert_eq!(transmit.to, address(1 - end));
            self.flying.push(Flying { to: 1 - end, transmit });
            sent += 1;
            assert!(sent < PATIENCE, "polling for packets does not end");
        }
        let view = self.ends[end].view();
        assert!(view.client_rpcs <= self.config.max_client_rpcs && view.server_rpcs <= self.config.max_server_rpcs);
        assert!(view.receive_buffer <= self.config.max_receive_buffer);
        assert!(view.send_buffer <= self.config.max_send_buffer);
        assert!(view.peers <= self.config.max_peers);
    }

    fn request(&mut self, server: usize, rpc: IncomingRpc, message: &Payload) {
        let client = 1 - server;
        let times = self.executed.entry((client, rpc.id())).or_default();
        *times += 1;
        assert_eq!(*times, 1, "request {:#x} is executed once", rpc.id());
        let asked = self.exchanges.iter().find(|((end, id), _)| *end == client && id.as_u64() == rpc.id());
        if let Some((_, exchange)) = asked {
            assert!(exchange.request.is(message), "the request arrives as it was sent");
        }
        if self.answers {
            self.respond(server, rpc);
        } else {
            self.held.push((server, rpc));
        }
    }

    fn response(&mut self, client: usize, rpc: RpcId, result: Result<Payload, RpcError>) {
        let exchange = self.exchanges.get(&(client, rpc)).expect("an outcome of a request that was made");
        if let Ok(message) = &result {
            assert!(exchange.response.is(message), "the response arrives as it was sent");
        }
        let old = self.outcomes.insert((client, rpc), result.map(drop));
        assert!(old.is_none(), "{rpc:?} has one outcome");
    }

    /// A good network from now on: everything must end, and be forgotten.
    pub fn finish(&mut self) {
        self.answers = true;
        while !self.held.is_empty() {
            self.answer(0);
        }
        for _ in 0..PATIENCE {
            if !self.flying.is_empty() {
                self.deliver(0);
            } else if self.outcomes.len() < self.exchanges.len() {
                self.wait(AFTERMATH);
            } else {
                return self.check_forgotten();
            }
        }
        panic!("{} of {} requests have ended", self.outcomes.len(), self.exchanges.len());
    }

    fn check_forgotten(&mut self) {
        let end = self.now + AFTERMATH;
        for _ in 0..PATIENCE {
            if !self.flying.is_empty() {
                self.deliver(0);
            } else if self.now < end && self.next_timer().is_some() {
                self.wait(end.saturating_since(self.now));
            } else {
                break;
            }
        }
        for end in &self.ends {
            end.check_invariants();
            let view = end.view();
            let held = (view.client_rpcs, view.server_rpcs, view.receive_buffer, view.send_buffer, view.incoming);
            assert_eq!(held, (0, 0, 0, 0, 0), "everything is forgotten: {view:?}");
        }
    }

    /// Whether every request has had its response.
    pub fn all_succeeded(&self) -> bool {
        self.outcomes.len() == self.exchanges.len() && self.outcomes.values().all(Result::is_ok)
    }

    /// The outcomes so far, for a message.
    pub fn outcomes(&self) -> Vec<String> {
        let mut outcomes: Vec<String> = self.outcomes.iter().map(|outcome| format!("{outcome:?}")).collect();
        outcomes.sort_unstable();
        outcomes
    }
}

/// Where an endpoint lives.
fn address(end: usize) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, end as u8 + 1), 4_000))
}
