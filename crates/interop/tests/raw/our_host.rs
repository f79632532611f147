//! Our host: an endpoint on the driver for raw sockets.

use crate::plan::{
    AT_ONCE, HANG, NUMBER, call_of, is_response, modelled_address, our_address, request, response, word,
};
use homarus_interop::net::as_linux_peer;
use homarus_io::{PacketIo, RawConfig, RawIo, Received};
use homarus_proto::{CallOptions, Endpoint, Event, Instant, Transmit};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::Duration;

/// An endpoint, its driver, and packets that the driver has not taken yet.
struct Host {
    began: std::time::Instant,
    endpoint: Endpoint,
    io: RawIo,
    outgoing: VecDeque<Transmit>,
}

impl Host {
    fn now(&self) -> Instant {
        Instant::from_nanos(1 + self.began.elapsed().as_nanos() as u64)
    }

    /// Once around: packets in, time, packets out.
    fn turn(&mut self) {
        let now = self.now();
        let endpoint = &mut self.endpoint;
        let came = self.io.recv(&mut |received| match received {
            // What is of no use is counted.
            Received::Datagram { from, bytes } => drop(endpoint.handle_packet(now, from, bytes)),
            Received::Unreachable { peer, why } => endpoint.handle_unreachable(now, peer, why),
            Received::PathMtu { peer, mtu } => endpoint.set_path_mtu(peer, mtu),
        });
        let came = came.expect("the driver receives");
        if endpoint.poll_timeout().is_some_and(|at| at <= now) {
            endpoint.handle_timeout(now);
        }
        if endpoint.wants_device_queue()
            && let Some(bytes) = self.io.device_queue()
        {
            endpoint.report_device_queue(now, bytes);
        }
        while self.outgoing.len() < 64
            && let Some(transmit) = endpoint.poll_transmit(now)
        {
            self.outgoing.push_back(transmit);
        }
        let taken = self.io.send(self.outgoing.make_contiguous()).expect("the driver sends");
        self.outgoing.drain(..taken);
        if came == 0 && taken == 0 {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

pub(crate) fn run(stage: &Path) {
    let io = RawIo::bind(our_address(), RawConfig::default()).expect("a raw socket");
    let config = homarus_proto::Config { mtu: io.path_mtu(modelled_address()), ..as_linux_peer() };
    let endpoint = Endpoint::new(config, our_address().port(), 11).expect("a valid configuration");
    let mut host = Host { began: std::time::Instant::now(), endpoint, io, outgoing: VecDeque::new() };
    host.endpoint.set_max_incoming(host.io.receive_capacity());
    std::fs::write(word(stage, "ours-is-up"), "").expect("word is left");
    let (mut calls, mut made, mut ended) = (BTreeMap::new(), 0, 0);
    let is_over = |host: &Host| {
        let view = host.endpoint.view();
        word(stage, "modelled-is-done").exists() && view.client_rpcs + view.server_rpcs == 0
    };
    while ended < NUMBER || !is_over(&host) {
        assert!(host.began.elapsed() < HANG, "{ended} calls of {made} have ended: {:?}", host.endpoint.view());
        // Before the other host is up, its namespace would say that it does not take the protocol.
        while word(stage, "modelled-is-up").exists() && made < NUMBER && calls.len() < AT_ONCE {
            let now = host.now();
            let rpc = host.endpoint.send_request(now, modelled_address(), request(made), CallOptions::default());
            calls.insert(rpc.expect("an accepted request"), made);
            made += 1;
        }
        host.turn();
        while let Some(event) = host.endpoint.poll_event() {
            match event {
                Event::Request { rpc, message } => {
                    let call = call_of(message.as_slice()).expect("a request as it was sent");
                    let now = host.now();
                    host.endpoint.send_response(now, rpc, response(call)).expect("an accepted response");
                }
                Event::Response { rpc, result } => {
                    let call = calls.remove(&rpc).expect("one response to each request");
                    let message = result.expect("a response");
                    assert!(is_response(call, message.as_slice()), "the response to call {call} came garbled");
                    ended += 1;
                }
            }
        }
    }
    // The other side may still hold responses whose acks wait here for a packet to ride on: it asks for them.
    std::fs::write(word(stage, "ours-is-done"), "").expect("word is left");
    while !word(stage, "modelled-is-over").exists() {
        assert!(host.began.elapsed() < HANG, "the modelled host does not end");
        host.turn();
    }
    println!("our host: {ended} calls in {:?}", host.began.elapsed());
}
