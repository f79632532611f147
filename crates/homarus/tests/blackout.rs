//! A network that loses everything for a while.

mod common;

use common::{LOCAL, echo, pattern, run, serve};
use homarus::{Config, Endpoint, Error, RpcError, UdpConfig};
use homarus_io::{FaultConfig, FaultHandle, FaultIo, UdpIo};
use std::os::fd::AsFd;
use std::time::Duration;
use tokio::task::JoinSet;

const CALLS: u64 = 24;

/// An endpoint, and the network that its packets go out by.
fn endpoint(config: Config, seed: u64) -> (Endpoint, FaultHandle) {
    let io = UdpIo::bind(LOCAL.parse().expect("address"), UdpConfig::default()).expect("bind");
    let ready = io.as_fd().try_clone_to_owned().expect("duplicate");
    let io = FaultIo::new(io, FaultConfig::default(), seed);
    let network = io.handle();
    (Endpoint::builder().config(config).run(io, ready).expect("endpoint"), network)
}

fn darken(networks: &[FaultHandle]) {
    networks.iter().for_each(|network| network.set(FaultConfig { loss: 1.0, ..FaultConfig::default() }));
}

fn lighten(networks: &[FaultHandle]) {
    networks.iter().for_each(|network| network.set(FaultConfig::default()));
}

/// Calls of all lengths, of which the server holds each for a moment, so that many are under way at any time.
fn begin(client: &Endpoint, server: &Endpoint) -> JoinSet<Result<(), Error>> {
    let mut calls = JoinSet::new();
    for seed in 0..CALLS {
        let client = client.client(server.local_addr());
        calls.spawn(async move {
            for round in 0..5 {
                let sent = pattern([100, 10_000, 200_000][(seed % 3) as usize], seed * 100 + round);
                assert!(client.call(&sent).await? == sent);
            }
            Ok(())
        });
    }
    calls
}

async fn slow_echo(request: homarus::Request) -> Result<(), Error> {
    tokio::time::sleep(Duration::from_millis(20)).await;
    echo(request).await
}

fn is_idle(client: &Endpoint) {
    let view = client.metrics().view;
    assert_eq!((view.client_rpcs, view.send_buffer, view.receive_buffer, view.incoming), (0, 0, 0, 0));
}

#[test]
fn a_short_blackout_is_survived() {
    run(async {
        let (server, theirs) = endpoint(Config::default(), 1);
        serve(&server, slow_echo);
        let (client, ours) = endpoint(Config::default(), 2);
        let networks = [theirs, ours];
        let mut calls = begin(&client, &server);
        tokio::time::sleep(Duration::from_millis(30)).await;
        darken(&networks);
        tokio::time::sleep(Duration::from_millis(700)).await;
        lighten(&networks);
        while let Some(ended) = calls.join_next().await {
            ended.expect("contents").expect("call");
        }
        assert!(networks.iter().all(|network| network.counters().lost > 0), "the blackout fell into silence");
        is_idle(&client);
    });
}

#[test]
fn a_long_blackout_ends_calls_and_later_ones_work() {
    run(async {
        let config = Config { dead_after: Duration::from_secs(1), ..Config::default() };
        let (server, theirs) = endpoint(config.clone(), 3);
        serve(&server, slow_echo);
        let (client, ours) = endpoint(config, 4);
        let networks = [theirs, ours];
        let mut calls = begin(&client, &server);
        tokio::time::sleep(Duration::from_millis(30)).await;
        darken(&networks);
        let mut dead = 0;
        while let Some(ended) = calls.join_next().await {
            match ended.expect("contents") {
                // It was quick enough to end before.
                Ok(()) => {}
                Err(Error::Rpc(RpcError::PeerDead { .. })) => dead += 1,
                Err(other) => panic!("{other:?}"),
            }
        }
        assert!(dead > 0, "all calls had ended before");
        is_idle(&client);
        common::eventually("the server gives up as well", || server.metrics().view.server_rpcs == 0).await;
        lighten(&networks);
        let sent = pattern(200_000, 9);
        assert!(client.call(server.local_addr(), &sent).await.expect("call") == sent);
    });
}
