//! Peers that keep to no rule: calls end rightly all the same, and memory stays within its bounds.

mod common;
#[path = "common/puppet.rs"]
mod puppet;

use common::{LOCAL, echo, eventually_blocking, pattern, run, serve};
use homarus::{Bytes, CallOptions, Config, Endpoint, Error, RpcError, blocking};
use homarus_proto::wire::{ACK_LEN, Header, Packet};
use puppet::{Puppet, data};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Longer than any machine needs for one thing.
const LONG: Duration = Duration::from_secs(30);
/// Whole packets of contents that fit every path.
const PACKET: usize = 1000;

/// Short-lived suspicion, small buffers.
fn strict() -> Config {
    Config {
        dead_after: Duration::from_secs(1),
        max_send_buffer: 1 << 20,
        max_receive_buffer: 1 << 20,
        max_message_len: 1 << 20,
        max_client_rpcs: 500,
        max_server_rpcs: 500,
        max_peers: 500,
        ..Config::default()
    }
}

fn client() -> blocking::Endpoint {
    blocking::Endpoint::builder().config(strict()).bind_blocking(LOCAL).expect("bind")
}

fn is_empty(endpoint: &blocking::Endpoint) {
    let view = endpoint.metrics().view;
    let held = (view.client_rpcs, view.server_rpcs, view.send_buffer, view.receive_buffer, view.incoming);
    assert_eq!(held, (0, 0, 0, 0, 0));
}

/// Calls `puppet` with `message` while `play` moves it; `play` runs until it returns.
fn played(
    endpoint: &blocking::Endpoint,
    mut puppet: Puppet,
    message: &Bytes,
    options: CallOptions,
    play: impl FnOnce(&mut Puppet) + Send,
) -> Result<Bytes, Error> {
    let addr = puppet.addr();
    thread::scope(|scope| {
        scope.spawn(move || play(&mut puppet));
        endpoint.call_with(addr, message, options)
    })
}

#[test]
fn a_peer_that_never_grants_and_says_nothing() {
    let endpoint = client();
    let result = played(&endpoint, Puppet::new(), &pattern(300_000, 1), CallOptions::default(), |puppet| {
        puppet.recv_data();
    });
    // The socket of the puppet may be gone by the time that it is asked again.
    assert!(matches!(result, Err(Error::Rpc(RpcError::PeerDead { .. } | RpcError::Unreachable(_)))), "{result:?}");
    is_empty(&endpoint);
}

#[test]
fn a_peer_that_never_grants_and_is_busy_for_ever() {
    let endpoint = client();
    let deadline = Some(Duration::from_millis(2500));
    let done = AtomicBool::new(false);
    let mut puppet = Puppet::new();
    let addr = puppet.addr();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if let Some((header, _)) = puppet.recv(Duration::from_millis(50))
                    && matches!(header.packet, Packet::Resend { .. })
                {
                    puppet.send(endpoint.local_addr(), header.sender_id | 1, Packet::Busy, &[]);
                }
            }
        });
        let result = endpoint.call_with(addr, pattern(300_000, 2), CallOptions { deadline });
        done.store(true, Ordering::Relaxed);
        let late = matches!(result, Err(Error::Rpc(RpcError::ServerBusy { .. } | RpcError::Deadline { .. })));
        assert!(late, "{result:?}");
    });
    is_empty(&endpoint);
}

/// The puppet takes a whole request, sends these grants when it has heard of it, and answers.
fn takes_all(puppet: &mut Puppet, to: std::net::SocketAddr, grants: &[u32], answer: &[u8]) -> Vec<u8> {
    let (first, fields, contents) = puppet.recv_data();
    let id = first.sender_id | 1;
    let whole = fields.message_length as usize;
    let mut got: Vec<Option<u8>> = vec![None; whole];
    let mut take = |offset: usize, contents: &[u8]| {
        for (place, byte) in got[offset..].iter_mut().zip(contents) {
            *place = Some(*byte);
        }
        got.iter().position(Option::is_none)
    };
    let mut missing = take(first.data_offset(&fields) as usize, &contents);
    for offset in grants {
        puppet.send(to, id, Packet::Grant { offset: *offset, priority: 0 }, &[]);
    }
    let started = Instant::now();
    while let Some(offset) = missing {
        assert!(started.elapsed() < LONG, "the request never became whole");
        match puppet.recv(Duration::from_millis(20)) {
            Some((header, contents)) => {
                if let Packet::Data(fields) = header.packet {
                    missing = take(header.data_offset(&fields) as usize, &contents);
                }
            }
            None => {
                // No more at a time than the socket holds.
                let length = (whole - offset).min(20_000) as i32;
                puppet.send(to, id, Packet::Resend { offset: offset as u32, length, priority: 7 }, &[]);
            }
        }
    }
    puppet.send_data(to, id, answer.len(), 0, answer);
    got.into_iter().flatten().collect()
}

#[test]
fn a_peer_that_grants_too_much() {
    let endpoint = client();
    let sent = pattern(300_000, 3);
    let to = endpoint.local_addr();
    let mut got = Vec::new();
    let grants = [u32::MAX, 0, 300_001, i32::MAX as u32];
    let result = played(&endpoint, Puppet::new(), &sent, CallOptions::default(), |puppet| {
        got = takes_all(puppet, to, &grants, b"thanks");
    });
    assert_eq!(&result.expect("an answer")[..], b"thanks");
    assert!(got == sent);
    is_empty(&endpoint);
}

/// Sends `message` as the answer in packets of one byte, in this order of their offsets.
fn one_byte_each(
    puppet: &Puppet,
    to: std::net::SocketAddr,
    id: u64,
    message: &[u8],
    order: impl Iterator<Item = usize>,
) {
    for (count, offset) in order.enumerate() {
        puppet.send_data(to, id, message.len(), offset, &message[offset..=offset]);
        if count % 100 == 99 {
            // Not faster than the endpoint reads.
            thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn a_peer_that_sends_packets_of_one_byte() {
    for scattered in [false, true] {
        let endpoint = client();
        let to = endpoint.local_addr();
        let answer = pattern(3000, 4);
        let result = played(&endpoint, Puppet::new(), &Bytes::from("?"), CallOptions::default(), |puppet| {
            let (request, _, _) = puppet.recv_data();
            let id = request.sender_id | 1;
            if scattered {
                // More gaps than are kept.
                one_byte_each(puppet, to, id, &answer, (0..answer.len()).step_by(2));
            }
            // Again, should the socket not hold them all.
            for _ in 0..500 {
                one_byte_each(puppet, to, id, &answer, 0..answer.len());
                if endpoint.metrics().view.client_rpcs == 0 {
                    break;
                }
            }
        });
        assert!(result.expect("an answer") == answer);
        is_empty(&endpoint);
    }
}

#[test]
fn a_peer_that_contradicts_itself() {
    let endpoint = client();
    let to = endpoint.local_addr();
    let answer = pattern(2 * PACKET, 5);
    let result = played(&endpoint, Puppet::new(), &Bytes::from("?"), CallOptions::default(), |puppet| {
        let (request, _, _) = puppet.recv_data();
        let id = request.sender_id | 1;
        puppet.send_data(to, id, answer.len(), 0, &answer[..PACKET]);
        // Another length; beyond the end; other contents for what has come; an answer to a question never asked.
        puppet.send_data(to, id, answer.len() * 2, PACKET, &answer[..PACKET]);
        puppet.send_data(to, id, answer.len(), 2 * PACKET, &answer[..PACKET]);
        puppet.send_data(to, id, answer.len(), 0, &[0; PACKET]);
        puppet.send_data(to, id ^ 0x1000, answer.len(), 0, &answer[..PACKET]);
        puppet.send(to, id, Packet::NeedAck, &[]);
        puppet.send_data(to, id, answer.len(), PACKET, &answer[PACKET..]);
    });
    assert!(result.expect("an answer") == answer);
    is_empty(&endpoint);
}

/// A server that answers every request with `answer`, on a thread of its own, until it is closed.
struct Server {
    endpoint: blocking::Endpoint,
    thread: Option<thread::JoinHandle<()>>,
}

impl Server {
    fn new(answer: &Bytes) -> Server {
        let endpoint = client();
        let (serving, answer) = (endpoint.clone(), answer.clone());
        let thread = thread::spawn(move || serving.serve(|request| request.respond(&answer)));
        Server { endpoint, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.endpoint.close();
        drop(self.thread.take().map(thread::JoinHandle::join));
    }
}

#[test]
fn clients_that_never_acknowledge() {
    let answer = pattern(50_000, 6);
    let server = Server::new(&answer);
    let to = server.endpoint.local_addr();
    let puppet = Puppet::new();
    for id in 1..=2000 {
        puppet.send_data(to, id * 2, 100, 0, &[1; 100]);
        let view = server.endpoint.metrics().view;
        assert!(view.send_buffer <= strict().max_send_buffer, "{view:?}");
        assert!(view.server_rpcs <= strict().max_server_rpcs, "{view:?}");
    }
    // Much waits for an ack now, and an honest client is served nonetheless once that is given up.
    eventually_blocking("they are given up", || server.endpoint.metrics().view.server_rpcs == 0);
    assert!(server.endpoint.metrics().stats.requests_received > 0);
    assert!(client().call(to, "hello").expect("call") == answer);
}

#[test]
fn clients_that_begin_and_never_go_on() {
    let answer = Bytes::from("yes");
    let server = Server::new(&answer);
    let to = server.endpoint.local_addr();
    let puppet = Puppet::new();
    for id in 1..=2000 {
        puppet.send_data(to, id * 2, 100_000, 0, &[1; PACKET]);
        let view = server.endpoint.metrics().view;
        assert!(view.receive_buffer <= strict().max_receive_buffer, "{view:?}");
        assert!(view.server_rpcs <= strict().max_server_rpcs, "{view:?}");
    }
    assert_eq!(&client().call(to, "short ones need no room").expect("call")[..], b"yes");
    eventually_blocking("they are given up", || server.endpoint.metrics().view.server_rpcs == 0);
    let view = server.endpoint.metrics().view;
    assert_eq!((view.receive_buffer, view.incoming), (0, 0));
}

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

/// Bytes that are nothing, or nearly a packet.
fn garbage(dice: &mut Dice, port: u16) -> Vec<u8> {
    let packet = match dice.roll() % 9 {
        0 => return (0..dice.roll() % 200).map(|_| dice.roll() as u8).collect(),
        1 => Packet::Grant { offset: dice.roll() as u32, priority: dice.roll() as u8 },
        2 => Packet::Resend { offset: dice.roll() as u32, length: dice.roll() as i32, priority: dice.roll() as u8 },
        3 => Packet::Unknown,
        4 => Packet::Busy,
        5 => Packet::NeedAck,
        6 => Packet::Cutoffs { cutoffs: [dice.roll() as u32; 8], version: dice.roll() as u16 },
        _ => Packet::Data(data((dice.roll() % (2 << 20)) as usize, (dice.roll() % (2 << 20)) as usize)),
    };
    let mut bytes = [0; ACK_LEN];
    let length = Header::new(1, port, dice.roll() % 64, packet).emit(&mut bytes);
    let mut bytes = bytes[..length].to_vec();
    bytes.extend((0..dice.roll() % 1200).map(|_| dice.roll() as u8));
    for _ in 0..dice.roll() % 4 {
        let at = dice.roll() as usize % bytes.len();
        bytes[at] = dice.roll() as u8;
    }
    let whole = !dice.roll().is_multiple_of(8);
    let kept = if whole { bytes.len() } else { dice.roll() as usize % bytes.len() };
    bytes.truncate(kept);
    bytes
}

#[test]
fn garbage_amid_good_calls() {
    run(async {
        let server = Endpoint::builder().config(strict()).bind(LOCAL).await.expect("bind");
        serve(&server, echo);
        let client = Endpoint::builder().config(strict()).bind(LOCAL).await.expect("bind");
        let done = Arc::new(AtomicBool::new(false));
        let mut throwers = Vec::new();
        for seed in 0..2 {
            let targets = [server.local_addr(), client.local_addr()];
            let done = Arc::clone(&done);
            throwers.push(thread::spawn(move || {
                let puppet = Puppet::new();
                let mut dice = Dice(seed);
                for round in 0..50_000 {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    let to = targets[round % 2];
                    puppet.send_raw(to, &garbage(&mut dice, to.port()));
                    if round % 16 == 0 {
                        thread::sleep(Duration::from_micros(500));
                    }
                }
            }));
        }
        let mut calls = JoinSet::new();
        for caller in 0..8 {
            let client = client.client(server.local_addr());
            calls.spawn(async move {
                for round in 0..100 {
                    let sent = pattern([100, 3_000, 60_000][round % 3], caller);
                    assert!(client.call(&sent).await.expect("call") == sent);
                }
            });
        }
        while let Some(ended) = calls.join_next().await {
            ended.expect("contents");
        }
        done.store(true, Ordering::Relaxed);
        throwers.into_iter().for_each(|thrower| thrower.join().expect("thrower"));
        for endpoint in [&server, &client] {
            let stats = endpoint.metrics().stats;
            let discarded: u64 = homarus_proto::Discard::ALL.into_iter().map(|why| stats.discarded(why)).sum();
            assert!(discarded > 0, "{stats:?}");
            common::eventually("what the garbage began is given up", || {
                let view = endpoint.metrics().view;
                view.client_rpcs + view.server_rpcs + view.receive_buffer + view.send_buffer == 0
            })
            .await;
        }
    });
}
