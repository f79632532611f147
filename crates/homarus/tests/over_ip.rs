//! Homa over IP, protocol 146, between two hosts, which are network namespaces.

mod common;
#[path = "../../io/tests/common/namespace.rs"]
mod namespace;
#[path = "../../io/tests/common/router.rs"]
mod router;

use common::{echo, pattern, run, serve};
use homarus::blocking::{self, Spin};
use homarus::{Address, Carrier, Config, Endpoint, Error, Framing, RpcError, SendError, Unreachable};
use homarus_io::{FaultConfig, FaultIo, RawConfig, RawIo};
use namespace::enter;
use router::in_router;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::mpsc;

/// Two hosts and a link.
const PAIR: &str = "ip link add name near type veth peer name far netns $router
    ip addr add 10.77.0.1/24 dev near; ip addr add fd77::1/64 dev near nodad; ip link set near up
    nsenter --target $router --net sh -c '
        ip link set lo up; ip addr add 10.77.0.2/24 dev far; ip addr add fd77::2/64 dev far nodad; ip link set far up'";

fn address(text: &str) -> Address {
    text.parse().expect("an address")
}

/// A blocking endpoint over IP that loses some of what it sends.
fn lossy(addr: &str, loss: f64, seed: u64) -> blocking::Endpoint {
    let raw = RawIo::bind(addr.parse().expect("an address"), RawConfig::default()).expect("bind");
    let ready = raw.as_fd().try_clone_to_owned().expect("a descriptor");
    let faulty = FaultIo::new(raw, FaultConfig { loss, ..FaultConfig::default() }, seed);
    let config = Config { framing: Framing::Ip, ..Config::default() };
    let builder = blocking::Endpoint::builder().config(config).spin(Spin::Never);
    builder.run_blocking(faulty, ready).expect("an endpoint")
}

/// An echo server on the other host, until the sender is dropped.
fn remote_echo(addr: &'static str, loss: f64) -> mpsc::Sender<()> {
    let (stop, stopped) = mpsc::channel();
    let (ready, bound) = mpsc::channel();
    in_router(move || {
        let server = lossy(addr, loss, 1);
        ready.send(()).expect("the test waits");
        let serving = server.clone();
        let thread = std::thread::spawn(move || {
            serving.serve(|request| {
                let message = request.message().clone();
                request.respond(message)
            });
        });
        let _: Result<(), _> = stopped.recv();
        server.close();
        thread.join().expect("served");
    });
    bound.recv().expect("the server is there");
    stop
}

fn echo_all(client: &str, server: &'static str, loss: f64) {
    let stop = remote_echo(server, loss);
    let client = lossy(client, loss, 2).client(server.parse().expect("an address"));
    for round in 0..8 {
        for length in [100, 10_000, 100_000, 1_000_000] {
            let sent = pattern(length, round);
            let answer = client.call(&sent).unwrap_or_else(|error| panic!("{length} bytes at {loss}: {error}"));
            assert!(answer == sent, "{length} bytes at {loss}");
        }
    }
    drop(stop);
}

#[test]
fn echoes_of_every_length_at_every_loss() {
    if !enter("echoes_of_every_length_at_every_loss", PAIR) {
        return;
    }
    for loss in [0.0, 0.01, 0.05] {
        echo_all("0.0.0.0:0", "10.77.0.2:4000", loss);
        echo_all("[fd77::1]:0", "[fd77::2]:4001", loss);
    }
}

#[test]
fn many_calls_at_once_through_both_apis() {
    if !enter("many_calls_at_once_through_both_apis", "") {
        return;
    }
    run(async {
        let server = Endpoint::builder().bind_address(&address("homa://127.0.0.1:4000")).await.expect("bind");
        serve(&server, echo);
        let client = Endpoint::builder().bind_address(&address("homa://127.0.0.1:0")).await.expect("bind");
        assert!(client.local_addr().port() >= 32_768);
        let mut calls = tokio::task::JoinSet::new();
        for seed in 0..500 {
            let client = client.client(server.local_addr());
            calls.spawn(async move {
                let sent = pattern(seed * 41, seed as u64);
                assert!(client.call(&sent).await.expect("an answer") == sent);
            });
        }
        while let Some(ended) = calls.join_next().await {
            ended.expect("contents");
        }
        let other = server.local_addr();
        let blocking = tokio::task::spawn_blocking(move || {
            let client =
                blocking::Endpoint::builder().bind_address_blocking(&address("homa://0.0.0.0:0")).expect("bind");
            for seed in 0..100 {
                let sent = pattern(seed * 100, seed as u64);
                assert!(client.call(other, &sent).expect("an answer") == sent);
            }
        });
        blocking.await.expect("contents");
    });
}

/// Over IP a peer is a host: many endpoints on both, and packets lost.
#[test]
fn many_endpoints_on_two_hosts() {
    const CLIENTS: u64 = 12;
    const CALLS: u64 = 40;
    if !enter("many_endpoints_on_two_hosts", PAIR) {
        return;
    }
    let servers = ["10.77.0.2:4000", "10.77.0.2:4001", "10.77.0.2:4002"];
    let running = servers.map(|server| remote_echo(server, 0.02));
    let callers: Vec<_> = (0..CLIENTS)
        .map(|seed| {
            std::thread::spawn(move || {
                let client = lossy("10.77.0.1:0", 0.02, seed + 10);
                for call in 0..CALLS {
                    let server = servers[(call % 3) as usize].parse().expect("an address");
                    let sent = pattern([50, 3000, 60_000][(seed % 3) as usize], seed * CALLS + call);
                    assert!(client.call(server, &sent).expect("an answer") == sent);
                }
            })
        })
        .collect();
    for caller in callers {
        caller.join().expect("every call was answered");
    }
    drop(running);
}

#[test]
fn one_process_serves_udp_and_ip_at_once() {
    if !enter("one_process_serves_udp_and_ip_at_once", "") {
        return;
    }
    run(async {
        for form in ["127.0.0.1:4000", "homa://127.0.0.1:4000", "homa://127.0.0.1:4001"] {
            let server = Endpoint::builder().bind_address(&address(form)).await.expect("bind");
            let name = form.to_owned();
            serve(&server, move |request| {
                let name = name.clone();
                async move { request.respond(name) }
            });
        }
        for form in ["127.0.0.1:4000", "homa://127.0.0.1:4000", "homa://127.0.0.1:4001"] {
            let server = address(form);
            let any = Address::new(server.carrier(), SocketAddr::from(([127, 0, 0, 1], 0)));
            let client = Endpoint::builder().bind_address(&any).await.expect("bind");
            let to = server.resolve().await.expect("an address");
            assert_eq!(client.call(to, "who?").await.expect("an answer"), form);
        }
    });
}

#[test]
fn what_the_linux_module_would_refuse_is_not_sent() {
    if !enter("what_the_linux_module_would_refuse_is_not_sent", "") {
        return;
    }
    run(async {
        let any = address("homa://127.0.0.1:0");
        let server = Endpoint::builder().bind_address(&any).await.expect("bind");
        let client = Endpoint::builder().bind_address(&any).await.expect("bind");
        serve(&server, |request| async move { request.respond(vec![0; 1_000_001]) });
        let error = client.call(server.local_addr(), vec![0; 1_000_001]).await.expect_err("too long");
        assert!(matches!(error, Error::TooLongForLinux { length: 1_000_001 }) && error.is_unexecuted());
        assert!(error.to_string().contains("1000001 bytes exceeds the 1000000"), "{error}");
        assert_eq!(client.metrics().stats.packets_sent, 0);
        let answer = client.call(server.local_addr(), "an answer that is too long").await;
        assert!(matches!(answer, Err(Error::Rpc(RpcError::Dropped))), "{answer:?}");

        let config = Config { max_message_len: 500_000, ..Config::default() };
        let shorter =
            Endpoint::builder().config(config).bind_address(&address("homa://127.0.0.1:0")).await.expect("bind");
        let error = shorter.call(server.local_addr(), vec![0; 600_000]).await.expect_err("too long");
        assert!(matches!(error, Error::Send(SendError::TooLong { limit: 500_000, .. })), "{error}");

        let long = || Endpoint::builder().long_messages_over_ip(true);
        let there = address("homa://127.0.0.1:4000");
        let server = long().bind_address(&there).await.expect("bind");
        serve(&server, echo);
        let client = long().bind_address(&address("homa://127.0.0.1:0")).await.expect("bind");
        let sent = pattern(3_000_000, 1);
        assert!(client.call(server.local_addr(), &sent).await.expect("an answer") == sent);
    });
}

#[test]
fn errors_name_what_is_wrong() {
    if !enter("errors_name_what_is_wrong", PAIR) {
        return;
    }
    run(async {
        let client = Endpoint::builder().bind_address(&address("homa://0.0.0.0:0")).await.expect("bind");
        let nobody = client.call("10.77.0.2:4000".parse().expect("an address"), "hello").await;
        assert!(matches!(nobody, Err(Error::Rpc(RpcError::Unreachable(Unreachable::Protocol)))), "{nobody:?}");

        let taken = Address::new(Carrier::Ip, client.local_addr());
        let error = Endpoint::builder().bind_address(&taken).await.expect_err("taken").to_string();
        assert!(
            error.contains("cannot bind homa://0.0.0.0:") && error.contains("belongs to another endpoint"),
            "{error}"
        );

        let v6 = Endpoint::builder().bind_address(&address("homa://[::]:0")).await.expect("bind");
        let error = v6.call("10.77.0.2:4000".parse().expect("an address"), "hello").await.expect_err("family");
        assert!(error.to_string().contains("homa://0.0.0.0:0"), "{error}");
    });
}

/// What an endpoint leaves when it ends is free again.
#[test]
fn a_closed_endpoint_frees_its_port() {
    if !enter("a_closed_endpoint_frees_its_port", "") {
        return;
    }
    run(async {
        let there = address("homa://127.0.0.1:4000");
        for _ in 0..20 {
            let server = Endpoint::builder().bind_address(&there).await.expect("the port is free");
            serve(&server, echo);
            let client = Endpoint::builder().bind_address(&address("homa://127.0.0.1:0")).await.expect("bind");
            assert_eq!(client.call(server.local_addr(), "x").await.expect("an answer"), "x");
            server.close();
            server.closed().await;
        }
    });
}
