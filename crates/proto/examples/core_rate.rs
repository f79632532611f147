//! How fast the core alone is: two endpoints back to back in memory, both ends on one core.
//!
//! Prints small RPCs per second with 64 outstanding, and the cost of one with 100 and with 100,000 outstanding:
//! `core_rate [RPCS]`. With `core_rate RPCS OUTSTANDING` it does only that, for tools that count instructions. What an
//! idle RPC takes of memory says the example `idle_memory`.

use homarus_proto::{CallOptions, Config, Endpoint, Event, Instant, Payload};
use std::net::SocketAddr;
use std::time::{Duration, Instant as Clock};

/// Outstanding RPCs that are many.
const MANY: usize = 100_000;
/// Measurements of few and of many, in turn; the best of each counts.
const ROUNDS: usize = 4;

struct World {
    client: Endpoint,
    server: Endpoint,
    client_addr: SocketAddr,
    server_addr: SocketAddr,
    now: Instant,
    packet: Vec<u8>,
    message: Payload,
}

impl World {
    fn new() -> World {
        let config = Config::default();
        World {
            client: Endpoint::new(config.clone(), 40_000, 1).expect("valid"),
            server: Endpoint::new(config, 4000, 2).expect("valid"),
            client_addr: ([10, 0, 0, 1], 40_000).into(),
            server_addr: ([10, 0, 0, 2], 4000).into(),
            now: Instant::ZERO,
            packet: Vec::new(),
            message: Payload::from(vec![7; 100]),
        }
    }

    fn send(&mut self) {
        let sent = self.client.send_request(self.now, self.server_addr, self.message.clone(), CallOptions::default());
        sent.expect("there is room");
    }

    /// One exchange of everything that waits on both sides; returns how many RPCs ended.
    fn turn(&mut self) -> usize {
        self.now += Duration::from_micros(10);
        deliver(&mut self.client, &mut self.server, self.client_addr, self.now, &mut self.packet);
        while let Some(event) = self.server.poll_event() {
            if let Event::Request { rpc, message } = event {
                self.server.send_response(self.now, rpc, message).expect("the client waits");
            }
        }
        deliver(&mut self.server, &mut self.client, self.server_addr, self.now, &mut self.packet);
        let mut ended = 0;
        while let Some(event) = self.client.poll_event() {
            if let Event::Response { result, .. } = event {
                result.expect("a response");
                ended += 1;
            }
        }
        for endpoint in [&mut self.client, &mut self.server] {
            if endpoint.poll_timeout().is_some_and(|at| at <= self.now) {
                endpoint.handle_timeout(self.now);
            }
        }
        ended
    }

    /// Nanoseconds an RPC, with `outstanding` at any time.
    fn run(&mut self, rpcs: usize, outstanding: usize) -> f64 {
        for _ in 0..outstanding {
            self.send();
        }
        let begin = Clock::now();
        let mut ended = 0;
        while ended < rpcs {
            let now_ended = self.turn();
            ended += now_ended;
            for _ in 0..now_ended {
                self.send();
            }
        }
        let nanos = begin.elapsed().as_nanos() as f64 / ended as f64;
        while self.client.view().client_rpcs > 0 {
            self.turn();
        }
        nanos
    }
}

fn deliver(from: &mut Endpoint, to: &mut Endpoint, source: SocketAddr, now: Instant, packet: &mut Vec<u8>) {
    while let Some(transmit) = from.poll_transmit(now) {
        packet.clear();
        packet.extend_from_slice(transmit.header());
        packet.extend_from_slice(transmit.payload.as_slice());
        to.handle_datagram(now, source, packet);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|arg| arg.parse().expect("expected RPCS and OUTSTANDING"));
    let rpcs = arguments.next().unwrap_or(2_000_000);
    let mut world = World::new();
    if let Some(outstanding) = arguments.next() {
        let nanos = world.run(rpcs, outstanding);
        println!("{outstanding} outstanding: {nanos:.0} ns");
        return;
    }
    world.run(rpcs / 10, 64);
    let nanos = world.run(rpcs, 64);
    println!("64 outstanding: {:.2} M RPC/s, {nanos:.0} ns each", 1e3 / nanos);
    let mut crowded = World::new();
    // What is measured is not how memory grows.
    crowded.run(MANY, MANY);
    let (mut few, mut many) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        few = few.min(world.run(rpcs / ROUNDS, 100));
        many = many.min(crowded.run(rpcs / ROUNDS, MANY));
    }
    println!("100 outstanding: {few:.0} ns; 100,000 outstanding: {many:.0} ns; ratio {:.2}", many / few);
}
