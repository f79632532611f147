//! What goes wrong outside: closed ports, dead peers, restarts, loss.

mod common;

use common::{LOCAL, echo, echo_server, pattern, run, serve};
use homarus::{Config, Endpoint, Error, PacketIo, RpcError, UdpConfig, Unreachable};
use homarus_io::{Received, UdpIo};
use homarus_proto::Transmit;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tokio::task::JoinSet;

#[test]
fn a_closed_port_is_reported() {
    run(async {
        let closed = UdpSocket::bind(LOCAL).expect("bind").local_addr().expect("address");
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        // Much later than ICMP tells.
        let patient = Config::default().dead_after;
        let started = std::time::Instant::now();
        let error = client.call(closed, "anybody?").await.expect_err("nobody");
        assert!(matches!(error, Error::Rpc(RpcError::Unreachable(Unreachable::Port))), "{error:?}");
        assert!(started.elapsed() < patient);
    });
}

#[test]
fn a_dead_peer_is_given_up() {
    run(async {
        // It has a socket and never reads it.
        let dead = UdpSocket::bind(LOCAL).expect("bind");
        let config = Config { dead_after: Duration::from_millis(300), ..Config::default() };
        let client = Endpoint::builder().config(config).bind(LOCAL).await.expect("bind");
        let error = client.call(dead.local_addr().expect("address"), "hello?").await.expect_err("dead");
        assert!(matches!(error, Error::Rpc(RpcError::PeerDead { .. })), "{error:?}");
        assert_eq!(client.metrics().view.client_rpcs, 0);
    });
}

#[test]
fn a_server_that_restarts_loses_no_call_silently() {
    run(async {
        let (mut server, addr) = echo_server().await;
        let client = Endpoint::bind(LOCAL).await.expect("bind").client(addr);
        let mut callers = JoinSet::new();
        for seed in 0..8 {
            let client = client.clone();
            callers.spawn(async move {
                let mut ended = (0, 0);
                for round in 0..200 {
                    let sent = pattern(3000, seed * 1000 + round);
                    match client.call(&sent).await {
                        Ok(got) => {
                            assert!(got == sent);
                            ended.0 += 1;
                        }
                        Err(Error::Rpc(_)) => {
                            ended.1 += 1;
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                        Err(other) => panic!("{other:?}"),
                    }
                }
                ended
            });
        }
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            server.close();
            server.closed().await;
            server = Endpoint::bind(addr).await.expect("the port is free");
            serve(&server, echo);
        }
        let mut answered = 0;
        while let Some(ended) = callers.join_next().await {
            let (ok, failed) = ended.expect("contents");
            assert_eq!(ok + failed, 200);
            answered += ok;
        }
        assert!(answered > 800, "only {answered} of 1600 calls were answered");
    });
}

type SendBatch = dyn FnMut(&mut UdpIo, &[Transmit]) -> io::Result<usize> + Send;

/// A socket whose sending and failing the test decides.
struct Faulty {
    io: UdpIo,
    send: Box<SendBatch>,
    broken: Arc<AtomicBool>,
}

impl PacketIo for Faulty {
    fn local_addr(&self) -> SocketAddr {
        self.io.local_addr()
    }

    fn send(&mut self, batch: &[Transmit]) -> io::Result<usize> {
        (self.send)(&mut self.io, batch)
    }

    fn recv(&mut self, sink: &mut dyn FnMut(Received<'_>)) -> io::Result<usize> {
        if self.broken.load(Ordering::Relaxed) {
            return Err(io::Error::other("pulled out"));
        }
        self.io.recv(sink)
    }

    fn device_queue(&self) -> Option<u64> {
        self.io.device_queue()
    }

    fn path_mtu(&self, peer: SocketAddr) -> usize {
        self.io.path_mtu(peer)
    }

    fn receive_capacity(&self) -> u32 {
        self.io.receive_capacity()
    }
}

fn faulty(
    broken: &Arc<AtomicBool>,
    send: impl FnMut(&mut UdpIo, &[Transmit]) -> io::Result<usize> + Send + 'static,
) -> (Faulty, OwnedFd) {
    let io = UdpIo::bind(LOCAL.parse().expect("address"), UdpConfig::default()).expect("bind");
    let ready = io.as_fd().try_clone_to_owned().expect("duplicate");
    (Faulty { io, send: Box::new(send), broken: Arc::clone(broken) }, ready)
}

/// One packet in twenty that leaves is lost.
fn lossy(seed: u64) -> Endpoint {
    let mut dice = seed;
    let (io, ready) = faulty(&Arc::default(), move |io, batch| {
        for packet in batch {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if dice >> 33 > (1 << 31) / 20 {
                io.send(std::slice::from_ref(packet))?;
            }
        }
        Ok(batch.len())
    });
    Endpoint::builder().run(io, ready).expect("endpoint")
}

/// Every other time the socket is full, and else it takes one packet.
fn reluctant() -> (Faulty, OwnedFd) {
    let mut full = false;
    faulty(&Arc::default(), move |io, batch| {
        full = !full;
        if full { Ok(0) } else { io.send(&batch[..1]) }
    })
}

#[test]
fn a_full_socket_gets_the_rest_later() {
    run(async {
        let (io, ready) = reluctant();
        let server = Endpoint::builder().run(io, ready).expect("endpoint");
        serve(&server, echo);
        let (io, ready) = reluctant();
        let client = Endpoint::builder().run(io, ready).expect("endpoint");
        let sent = pattern(500_000, 5);
        assert!(client.call(server.local_addr(), &sent).await.expect("call") == sent);
    });
}

#[test]
fn a_full_socket_gets_the_rest_later_from_a_blocking_endpoint() {
    let (io, ready) = reluctant();
    let server = Endpoint::builder().run_blocking(io, ready).expect("endpoint");
    let addr = server.local_addr();
    thread::scope(|scope| {
        scope.spawn(|| server.serve(|request| request.respond(pattern(500_000, 6))));
        let (io, ready) = reluctant();
        let client = Endpoint::builder().run_blocking(io, ready).expect("endpoint");
        assert!(client.call(addr, pattern(500_000, 5)).expect("call") == pattern(500_000, 6));
        server.close();
    });
}

#[test]
fn a_broken_socket_ends_everything_and_says_why() {
    run(async {
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        let addr = server.local_addr();
        let requests = server.requests();
        let broken = Arc::default();
        let (io, ready) = faulty(&broken, |io, batch| io.send(batch));
        let client = Endpoint::builder().run(io, ready).expect("endpoint");
        let call = tokio::spawn({
            let client = client.client(addr);
            async move { client.call("hold").await }
        });
        let request = requests.recv().await.expect("request");
        broken.store(true, Ordering::Relaxed);
        request.respond("never read").expect("respond");
        let error = call.await.expect("task").expect_err("broken");
        assert!(matches!(error, Error::Socket(_)), "{error:?}");
        assert!(error.to_string().contains("pulled out"), "{error}");
        assert!(matches!(client.call(addr, "again").await, Err(Error::Socket(_))));
        client.closed().await;
    });
}

#[test]
fn loss_is_repaired() {
    run(async {
        let server = lossy(1);
        serve(&server, echo);
        let client = lossy(2).client(server.local_addr());
        let mut calls = JoinSet::new();
        for seed in 0..100 {
            let client = client.clone();
            calls.spawn(async move {
                let sent = pattern(seed as usize * 1500, seed);
                assert!(client.call(&sent).await.expect("call") == sent);
            });
        }
        while let Some(ended) = calls.join_next().await {
            ended.expect("contents");
        }
    });
}
