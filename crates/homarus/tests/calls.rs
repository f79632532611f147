//! Calls over real sockets: contents, many at a time, both roles, both families.

mod common;

use common::{LOCAL, echo, echo_server, eventually, pattern, run, serve};
use homarus::{CallOptions, Config, Endpoint, Error, RpcError, SendError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

#[test]
fn contents_come_back_whatever_their_length() {
    run(async {
        let (_server, addr) = echo_server().await;
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        for len in [0, 1, 100, 1424, 1425, 40_000, 40_001, 1_000_000, 20_000_000] {
            let sent = pattern(len, len as u64);
            let got = client.call(addr, &sent).await.expect("call");
            assert!(got == sent, "{len} bytes came back changed, or {} of them", got.len());
        }
    });
}

#[test]
fn a_thousand_calls_at_once() {
    run(async {
        let (_server, addr) = echo_server().await;
        let client = Endpoint::bind(LOCAL).await.expect("bind").client(addr);
        let mut calls = JoinSet::new();
        for seed in 0..1000 {
            let client = client.clone();
            calls.spawn(async move {
                let sent = pattern(seed as usize * 7 % 3000, seed);
                assert_eq!(client.call(&sent).await.expect("call"), sent);
            });
        }
        while let Some(ended) = calls.join_next().await {
            ended.expect("contents");
        }
    });
}

#[test]
fn one_endpoint_is_client_and_server() {
    run(async {
        // A relay: its handler calls on with the endpoint that it serves.
        let (_echo, echo_addr) = echo_server().await;
        let relay = Endpoint::bind(LOCAL).await.expect("bind");
        let onward = relay.client(echo_addr);
        serve(&relay, move |request| {
            let onward = onward.clone();
            async move {
                let answer = onward.call(request.message()).await?;
                request.respond(answer)
            }
        });
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        let answer = client.call(relay.local_addr(), "through").await.expect("call");
        assert_eq!(&answer[..], b"through");
        // And it can call itself.
        let own = relay.call(relay.local_addr(), "self").await.expect("call");
        assert_eq!(&own[..], b"self");
    });
}

#[test]
fn two_endpoints_call_each_other() {
    run(async {
        let (a, a_addr) = echo_server().await;
        let (b, b_addr) = echo_server().await;
        let mut calls = JoinSet::new();
        for (from, to) in [(a, b_addr), (b, a_addr)] {
            for seed in 0..100 {
                let client = from.client(to);
                calls.spawn(async move {
                    let sent = pattern(20_000, seed);
                    assert_eq!(client.call(&sent).await.expect("call"), sent);
                });
            }
        }
        while let Some(ended) = calls.join_next().await {
            ended.expect("contents");
        }
    });
}

#[test]
fn ipv6_and_mapped_addresses() {
    run(async {
        let Ok(server) = Endpoint::bind("[::1]:0").await else {
            println!("SKIPPED: this machine has no IPv6 loopback");
            return;
        };
        serve(&server, echo);
        let client = Endpoint::bind("[::]:0").await.expect("bind");
        let sent = pattern(100_000, 6);
        assert_eq!(client.call(server.local_addr(), &sent).await.expect("call"), sent);

        let (_v4, v4_addr) = echo_server().await;
        assert_eq!(client.call(v4_addr, &sent).await.expect("call"), sent);
        let mapped = format!("[::ffff:127.0.0.1]:{}", v4_addr.port()).parse().expect("address");
        assert_eq!(client.call(mapped, &sent).await.expect("call"), sent);
    });
}

#[test]
fn an_address_that_cannot_be_called_is_refused() {
    run(async {
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        for peer in ["[::1]:4000", "127.0.0.1:0", "0.0.0.0:4000"] {
            let peer = peer.parse().expect("address");
            assert!(matches!(client.call(peer, "x").await, Err(Error::Peer { .. })), "{peer}");
        }
        assert_eq!(client.metrics().view.client_rpcs, 0);
    });
}

#[test]
fn dropping_a_call_ends_it_on_both_sides() {
    run(async {
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        let requests = server.requests();
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        let call = client.call(server.local_addr(), "never mind");
        let request = tokio::select! {
            _ = call => panic!("nobody answers"),
            request = requests.recv() => request.expect("request"),
        };
        assert_eq!(client.metrics().view.client_rpcs, 0);
        drop(request);
        eventually("the server forgets the RPC", || server.metrics().view.server_rpcs == 0).await;

        // Cancelled before its request was ever executed, and answered after that.
        let late = tokio::spawn({
            let client = client.clone();
            let addr = server.local_addr();
            async move { client.call(addr, "late").await }
        });
        let request = requests.recv().await.expect("request");
        late.abort();
        assert!(late.await.expect_err("aborted").is_cancelled());
        eventually("the server is told", || server.metrics().view.server_rpcs == 0).await;
        let refused = request.respond("too late");
        assert!(matches!(refused, Err(Error::Send(SendError::Gone))), "{refused:?}");
        assert_eq!(server.metrics().view.server_rpcs, 0);
        // Both still work.
        let answer = async { requests.recv().await.expect("request").respond("next") };
        let (got, answered) = tokio::join!(client.call(server.local_addr(), ()), answer);
        answered.expect("respond");
        assert_eq!(&got.expect("call")[..], b"next");
    });
}

#[test]
fn one_byte_over_the_limit_is_refused() {
    run(async {
        let (_server, addr) = echo_server().await;
        let config = Config { max_message_len: 1000, ..Config::default() };
        let client = Endpoint::builder().config(config).bind(LOCAL).await.expect("bind");
        let error = client.call(addr, vec![0; 1001]).await.expect_err("too long");
        assert!(matches!(error, Error::Send(SendError::TooLong { length: 1001, limit: 1000 })), "{error:?}");
        assert!(error.to_string().contains("max_message_len"), "{error}");
        assert!(error.is_unexecuted());
        assert_eq!((client.metrics().view.client_rpcs, client.metrics().stats.packets_sent), (0, 0));
        assert_eq!(client.call(addr, vec![7; 1000]).await.expect("call").len(), 1000);
    });
}

#[test]
fn a_response_over_the_limit_is_refused() {
    run(async {
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        serve(&server, |request| async move { request.respond(vec![1; 5000]) });
        let config = Config { max_message_len: 1000, ..Config::default() };
        let client = Endpoint::builder().config(config).bind(LOCAL).await.expect("bind");
        let error = client.call(server.local_addr(), "short").await.expect_err("too long");
        let too_long = Error::Rpc(RpcError::ResponseTooLong { length: 5000, limit: 1000 });
        assert_eq!(error.to_string(), too_long.to_string());
    });
}

#[test]
fn a_buffer_changed_after_the_call_does_not_change_what_is_sent() {
    run(async {
        let (_server, addr) = echo_server().await;
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        let mut buffer = pattern(300_000, 1).to_vec();
        let given = buffer.clone();
        let call = client.call(addr, &buffer[..]);
        buffer.fill(0);
        assert!(call.await.expect("call") == given);
    });
}

#[test]
fn a_deadline_ends_a_call_that_nobody_answers() {
    run(async {
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        let requests = server.requests();
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        let deadline = Some(Duration::from_millis(50));
        let call = client.call_with(server.local_addr(), "slow", CallOptions { deadline });
        let (result, request) = tokio::join!(call, requests.recv());
        assert!(
            matches!(result, Err(Error::Rpc(RpcError::Deadline { .. } | RpcError::ServerBusy { .. }))),
            "{result:?}"
        );
        drop(request);
    });
}

#[test]
fn handlers_are_bounded_and_their_panics_contained() {
    run(async {
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        let running = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let (counter, peak) = (Arc::clone(&running), Arc::clone(&most));
        let serving = server.clone();
        tokio::spawn(async move {
            let options = homarus::ServeOptions { concurrency: 3 };
            serving
                .serve_with(options, move |request| {
                    let (running, most) = (Arc::clone(&counter), Arc::clone(&peak));
                    async move {
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        tokio::time::sleep(Duration::from_millis(2)).await;
                        running.fetch_sub(1, Ordering::SeqCst);
                        assert_ne!(&request.message()[..], b"panic", "as the test wants");
                        request.respond(())
                    }
                })
                .await;
        });
        let client = Endpoint::bind(LOCAL).await.expect("bind").client(server.local_addr());
        let deadline = Some(Duration::from_secs(5));
        assert!(client.call_with("panic", CallOptions { deadline }).await.is_err());
        let mut calls = JoinSet::new();
        for _ in 0..50 {
            let client = client.clone();
            calls.spawn(async move { client.call(()).await.expect("call") });
        }
        while let Some(ended) = calls.join_next().await {
            ended.expect("answer");
        }
        assert!(most.load(Ordering::SeqCst) <= 3);
    });
}

#[test]
fn requests_wait_for_whoever_serves_them_first() {
    run(async {
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        let call = tokio::spawn({
            let addr = server.local_addr();
            async move { client.call(addr, "early").await }
        });
        eventually("the request is there", || server.metrics().view.server_rpcs == 1).await;
        serve(&server, echo);
        assert_eq!(&call.await.expect("task").expect("call")[..], b"early");
    });
}
