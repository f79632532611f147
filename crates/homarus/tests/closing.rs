//! How endpoints end: at once, gracefully, by being dropped, with their runtime.

mod common;

use common::{LOCAL, echo_server, eventually, pattern, run, serve};
use homarus::{Endpoint, Error, RpcError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

#[test]
fn closing_with_a_hundred_calls_open_ends_them_all() {
    run(async {
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        let requests = server.requests();
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        let mut calls = JoinSet::new();
        for seed in 0..100 {
            let client = client.client(server.local_addr());
            calls.spawn(async move { client.call(pattern(500, seed)).await });
        }
        let mut held = Vec::new();
        while held.len() < 100 {
            held.push(requests.recv().await.expect("request"));
        }
        client.close();
        while let Some(ended) = calls.join_next().await {
            assert!(matches!(ended.expect("task"), Err(Error::Closed)));
        }
        assert_eq!(client.metrics().view.client_rpcs, 0);
        client.closed().await;
        assert!(matches!(client.call(server.local_addr(), "x").await, Err(Error::Closed)));

        // The server was told: it holds nothing for a client that is gone.
        drop(held);
        eventually("the server forgets them", || server.metrics().view.server_rpcs == 0).await;
    });
}

#[test]
fn a_closing_server_tells_its_clients() {
    run(async {
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        let requests = server.requests();
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        let call = tokio::spawn({
            let client = client.client(server.local_addr());
            async move { client.call("hold on").await }
        });
        let request = requests.recv().await.expect("request");
        server.close();
        assert!(requests.recv().await.is_none());
        assert!(matches!(request.respond("late"), Err(Error::Closed)));
        let error = call.await.expect("task").expect_err("no answer");
        assert!(matches!(error, Error::Rpc(RpcError::Dropped | RpcError::Unreachable(_))), "{error:?}");
    });
}

#[test]
fn a_graceful_shutdown_answers_what_is_in_flight() {
    run(async {
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        serve(&server, |request| async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            request.respond(pattern(200_000, 3))
        });
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        let mut calls = JoinSet::new();
        for _ in 0..20 {
            let client = client.client(server.local_addr());
            calls.spawn(async move { client.call("work").await });
        }
        eventually("all are being worked on", || server.metrics().view.server_rpcs == 20).await;
        server.shutdown(Duration::from_secs(20)).await.expect("all was delivered");
        while let Some(ended) = calls.join_next().await {
            assert!(ended.expect("task").expect("an answer") == pattern(200_000, 3));
        }
        assert!(client.call(server.local_addr(), "more").await.is_err());
    });
}

#[test]
fn a_shutdown_does_not_wait_for_ever() {
    run(async {
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        let requests = server.requests();
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        let call = tokio::spawn({
            let client = client.client(server.local_addr());
            async move { client.call("work").await }
        });
        let held = requests.recv().await.expect("request");
        let error = server.shutdown(Duration::from_millis(20)).await.expect_err("one is held");
        assert!(matches!(error, Error::ShutdownTimeout { in_flight: 1, .. }), "{error:?}");
        assert!(call.await.expect("task").is_err());
        drop(held);
    });
}

#[test]
fn a_shutdown_ends_with_the_last_request_even_if_that_is_dropped() {
    run(async {
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        let requests = server.requests();
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        let call = tokio::spawn({
            let client = client.client(server.local_addr());
            async move { client.call("work").await }
        });
        let held = requests.recv().await.expect("request");
        let shutdown = tokio::spawn({
            let server = server.clone();
            async move { server.shutdown(Duration::from_secs(3600)).await }
        });
        assert!(requests.recv().await.is_none());
        drop(held);
        shutdown.await.expect("task").expect("nothing is in flight any more");
        assert!(call.await.expect("task").is_err());
    });
}

#[test]
fn an_idle_shutdown_is_immediate() {
    run(async {
        let (server, _) = echo_server().await;
        server.shutdown(Duration::from_secs(3600)).await.expect("nothing was in flight");
        server.shutdown(Duration::from_secs(3600)).await.expect("closed already");
    });
}

#[test]
fn the_last_handle_closes_and_frees_the_port() {
    run(async {
        let endpoint = Endpoint::bind(LOCAL).await.expect("bind");
        let addr = endpoint.local_addr();
        let clone = endpoint.clone();
        drop(endpoint);
        assert!(Endpoint::bind(addr).await.is_err(), "still bound by the clone");
        drop(clone);
        for _ in 0..1000 {
            if Endpoint::bind(addr).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the port never became free");
    });
}

#[test]
fn calls_end_with_the_runtime_that_drove_them() {
    let (to_runtime, from_test) = oneshot::channel::<()>();
    let (to_test, mut from_runtime) = oneshot::channel();
    let other = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
        runtime.block_on(async {
            let endpoint = Endpoint::bind(LOCAL).await.expect("bind");
            to_test.send(endpoint).expect("send");
            drop(from_test.await);
        });
    });
    run(async {
        let endpoint = (&mut from_runtime).await.expect("endpoint");
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        let requests = server.requests();
        let call = tokio::spawn({
            let client = endpoint.client(server.local_addr());
            async move { client.call("hold").await }
        });
        let held = requests.recv().await.expect("request");
        to_runtime.send(()).expect("send");
        assert!(matches!(call.await.expect("task"), Err(Error::Closed)));
        drop(held);
    });
    other.join().expect("runtime");
}
