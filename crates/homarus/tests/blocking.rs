//! The blocking API: threads that drive the endpoint themselves.

mod common;

use common::{Gate, LOCAL, eventually_blocking, pattern};
use homarus::blocking::{Endpoint, Spin};
use homarus::{CallOptions, Config, Error, Request, RpcError};
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

fn echo(request: Request) -> Result<(), Error> {
    let message = request.message().clone();
    request.respond(message)
}

fn echo_server(threads: usize) -> (Endpoint, SocketAddr) {
    let server = Endpoint::bind(LOCAL).expect("bind");
    let addr = server.local_addr();
    for _ in 0..threads {
        let server = server.clone();
        thread::spawn(move || server.serve(echo));
    }
    (server, addr)
}

#[test]
fn contents_come_back_whatever_their_length_and_however_one_waits() {
    for spin in [Spin::Never, Spin::For(Duration::from_micros(50)), Spin::Always] {
        let (server, addr) = echo_server(1);
        let client = Endpoint::builder().spin(spin).bind_blocking(LOCAL).expect("bind");
        for len in [0, 1, 1424, 40_001, 1_000_000] {
            let sent = pattern(len, len as u64);
            assert!(client.call(addr, &sent).expect("call") == sent, "{len} bytes, {spin:?}");
        }
        server.close();
    }
}

#[test]
fn twenty_megabytes() {
    let (server, addr) = echo_server(1);
    let client = Endpoint::bind(LOCAL).expect("bind");
    let sent = pattern(20_000_000, 20);
    assert!(client.call(addr, &sent).expect("call") == sent);
    server.close();
}

#[test]
fn many_threads_share_one_client() {
    for spin in [Spin::Never, Spin::default(), Spin::Always] {
        let (server, addr) = echo_server(2);
        let client = Endpoint::builder().spin(spin).bind_blocking(LOCAL).expect("bind").client(addr);
        thread::scope(|scope| {
            for seed in 0..16 {
                let client = client.clone();
                scope.spawn(move || {
                    for round in 0..50 {
                        let sent = pattern((seed * 50 + round) as usize * 10, seed * 50 + round);
                        assert!(client.call(&sent).expect("call") == sent);
                    }
                });
            }
        });
        server.close();
    }
}

#[test]
fn one_endpoint_is_client_and_server() {
    let (echo_server, echo_addr) = echo_server(1);
    let relay = Endpoint::bind(LOCAL).expect("bind");
    let onward = relay.client(echo_addr);
    let serving = relay.clone();
    thread::spawn(move || {
        serving.serve(|request| {
            let answer = onward.call(request.message())?;
            request.respond(answer)
        });
    });
    let client = Endpoint::bind(LOCAL).expect("bind");
    assert_eq!(&client.call(relay.local_addr(), "through").expect("call")[..], b"through");
    relay.close();
    echo_server.close();
}

#[test]
fn a_closed_port_and_a_dead_peer_are_reported() {
    let config = Config { dead_after: Duration::from_millis(300), ..Config::default() };
    let client = Endpoint::builder().config(config).bind_blocking(LOCAL).expect("bind");
    let closed = UdpSocket::bind(LOCAL).expect("bind").local_addr().expect("address");
    let error = client.call(closed, "anybody?").expect_err("nobody");
    assert!(matches!(error, Error::Rpc(RpcError::Unreachable(_))), "{error:?}");

    let dead = UdpSocket::bind(LOCAL).expect("bind");
    let error = client.call(dead.local_addr().expect("address"), "hello?").expect_err("dead");
    assert!(matches!(error, Error::Rpc(RpcError::PeerDead { .. })), "{error:?}");
}

#[test]
fn a_deadline_shorter_than_what_the_leader_sleeps_for() {
    let server = Endpoint::bind(LOCAL).expect("bind");
    let addr = server.local_addr();
    let client = Endpoint::builder().spin(Spin::Never).bind_blocking(LOCAL).expect("bind");
    let gate = &Gate::default();
    thread::scope(|scope| {
        // Leads, asleep, for longer than the other may wait.
        let patient = scope.spawn(|| client.call(addr, "patient"));
        let (to_test, from_server) = mpsc::channel();
        let serving = server.clone();
        scope.spawn(move || {
            let held = serving.recv().expect("request");
            to_test.send(()).expect("send");
            let never_answered = serving.recv().expect("request");
            gate.wait();
            drop(never_answered);
            held.respond("at last").expect("respond");
            // Lets the response be delivered.
            drop(serving.shutdown(Duration::from_secs(20)));
        });
        from_server.recv().expect("receive");
        let options = CallOptions { deadline: Some(Duration::from_millis(30)) };
        let error = client.call_with(addr, "hasty", options).expect_err("deadline");
        assert!(matches!(error, Error::Rpc(_)), "{error:?}");
        gate.open();
        assert_eq!(&patient.join().expect("thread").expect("call")[..], b"at last");
    });
}

#[test]
fn closing_wakes_everybody() {
    let server = Endpoint::bind(LOCAL).expect("bind");
    let client = Endpoint::bind(LOCAL).expect("bind");
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..4).map(|_| scope.spawn(|| server.recv().is_none())).collect();
        thread::sleep(Duration::from_millis(50));
        server.close();
        for waiter in waiting {
            assert!(waiter.join().expect("thread"));
        }
    });
    assert!(matches!(server.call(client.local_addr(), "x"), Err(Error::Closed)));
}

#[test]
fn closing_ends_the_calls_of_all_threads() {
    let silent = UdpSocket::bind(LOCAL).expect("bind");
    let addr = silent.local_addr().expect("address");
    let client = Endpoint::bind(LOCAL).expect("bind");
    thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| client.call(addr, "hello?"))).collect();
        eventually_blocking("all wait", || client.metrics().view.client_rpcs == 8);
        client.close();
        for call in calls {
            assert!(matches!(call.join().expect("thread"), Err(Error::Closed)));
        }
    });
    // The port is free again, although the handle lives on.
    let again = UdpSocket::bind(client.local_addr());
    assert!(again.is_ok(), "{again:?}");
}

#[test]
fn a_graceful_shutdown_answers_what_is_in_flight() {
    let server = Endpoint::bind(LOCAL).expect("bind");
    let addr = server.local_addr();
    let client = Endpoint::bind(LOCAL).expect("bind");
    thread::scope(|scope| {
        let call = scope.spawn(|| client.call(addr, "work"));
        let request = server.recv().expect("request");
        let shutdown = scope.spawn(|| server.shutdown(Duration::from_secs(20)));
        thread::sleep(Duration::from_millis(50));
        request.respond(pattern(300_000, 9)).expect("respond");
        assert!(call.join().expect("thread").expect("call") == pattern(300_000, 9));
        shutdown.join().expect("thread").expect("all was delivered");
    });
    assert!(server.recv().is_none());
}
