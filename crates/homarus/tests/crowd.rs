//! Many at once: clients, peers, endpoints.

mod common;
#[path = "common/puppet.rs"]
mod puppet;

use common::{LOCAL, echo, echo_server, eventually, pattern, run, serve};
use homarus::{Config, Endpoint};
use puppet::Puppet;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::task::JoinSet;

#[test]
fn twelve_clients_at_once() {
    run(async {
        let (server, addr) = echo_server().await;
        let mut calls = JoinSet::new();
        for client in 0..12 {
            let endpoint = Endpoint::bind(LOCAL).await.expect("bind");
            for task in 0..8 {
                let client_of = endpoint.client(addr);
                calls.spawn(async move {
                    for round in 0..12 {
                        let seed = client * 10_000 + task * 100 + round;
                        let sent = pattern([0, 100, 3_000, 150_000][(seed % 4) as usize], seed);
                        assert!(client_of.call(&sent).await.expect("call") == sent);
                    }
                });
            }
        }
        while let Some(ended) = calls.join_next().await {
            ended.expect("contents");
        }
        assert_eq!(server.metrics().stats.requests_received, 12 * 8 * 12);
    });
}

#[test]
fn a_hundred_endpoints_in_one_process_call_each_other() {
    run(async {
        let mut endpoints = Vec::new();
        for _ in 0..100 {
            let endpoint = Endpoint::bind(LOCAL).await.expect("bind");
            serve(&endpoint, echo);
            endpoints.push(endpoint);
        }
        let mut calls = JoinSet::new();
        for (number, endpoint) in endpoints.iter().enumerate() {
            for step in [1, 7, 50] {
                let client = endpoint.client(endpoints[(number + step) % endpoints.len()].local_addr());
                calls.spawn(async move {
                    let sent = pattern(number * 100, (number * step) as u64);
                    assert!(client.call(&sent).await.expect("call") == sent);
                });
            }
        }
        while let Some(ended) = calls.join_next().await {
            ended.expect("contents");
        }
    });
}

/// Addresses on loopback, of this process alone.
fn forged(number: u16) -> SocketAddr {
    let [low, high] = number.to_le_bytes();
    let process = std::process::id() as u8;
    SocketAddr::from(([127, 128 | process >> 1, high, low.max(1)], 5000 + number % 7))
}

/// Peers that ask once each and are gone: more than are remembered.
#[test]
fn thousands_of_peers() {
    const PEERS: u16 = 2500;
    run(async {
        let config = Config {
            max_peers: 500,
            max_server_rpcs: 2000,
            dead_after: Duration::from_millis(800),
            ..Config::default()
        };
        let server = Endpoint::builder().config(config.clone()).bind("0.0.0.0:0").await.expect("bind");
        serve(&server, echo);
        let to = SocketAddr::from(([127, 0, 0, 1], server.local_addr().port()));
        let crowd = tokio::task::spawn_blocking(move || {
            for number in 0..PEERS {
                let puppet = Puppet::bind(forged(number));
                for id in 1..=3 {
                    // One of the requests is never completed.
                    puppet.send_data(to, id * 2, if id == 3 { 5_000 } else { 100 }, 0, &[7; 100]);
                }
                // Not so fast that all come within the time for which the first are remembered.
                if number % 3 == 0 {
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        });
        // An honest client among them.
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        let mut honest = 0;
        while !crowd.is_finished() {
            honest += 1;
            let sent = pattern(20_000, 1);
            assert!(client.call(to, &sent).await.expect("call") == sent);
            let view = server.metrics().view;
            assert!(view.peers <= config.max_peers && view.server_rpcs <= config.max_server_rpcs, "{view:?}");
        }
        crowd.await.expect("crowd");
        let received = server.metrics().stats.requests_received - honest;
        // Two of each peer: more peers than are remembered at a time.
        assert!(received > 2 * 600, "only {received} requests came through");
        eventually("they are forgotten", || server.metrics().view.server_rpcs == 0).await;
        let view = server.metrics().view;
        assert_eq!((view.receive_buffer, view.send_buffer, view.incoming), (0, 0, 0));
        assert!(client.call(to, "still there?").await.is_ok());
    });
}

/// Servers that are called once each: more than are remembered.
#[test]
fn thousands_of_servers() {
    run(async {
        let config = Config { max_peers: 60, dead_after: Duration::from_secs(1), ..Config::default() };
        let client = Endpoint::builder().config(config).bind("0.0.0.0:0").await.expect("bind");
        let server = Endpoint::bind("0.0.0.0:0").await.expect("bind");
        serve(&server, echo);
        for number in 0..2000u16 {
            let to = SocketAddr::new(forged(number).ip(), server.local_addr().port());
            match client.call(to, "x").await {
                Ok(got) => assert_eq!(&got[..], b"x"),
                Err(error) => panic!("{to}: {error}"),
            }
            assert!(client.metrics().view.peers <= 60);
        }
    });
}
