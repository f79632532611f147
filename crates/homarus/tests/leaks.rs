//! What closed endpoints leave behind: nothing. Alone in its process, whose descriptors and threads it counts.

mod common;

use common::{LOCAL, eventually, pattern, run};
use homarus::{Config, Endpoint, Error};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Endpoints with 100 RPCs open each way, closed or dropped.
async fn open_and_close(drop_it: bool) {
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
    if drop_it {
        // Which cancels the calls, and lets go of the endpoint.
        calls.abort_all();
        while calls.join_next().await.is_some() {}
        drop(client);
    } else {
        client.close();
        while let Some(ended) = calls.join_next().await {
            assert!(matches!(ended.expect("task"), Err(Error::Closed)));
        }
        client.closed().await;
    }
    let told = std::time::Instant::now();
    // Though the requests are still being worked on.
    eventually("the server is told", || server.metrics().view.server_rpcs == 0).await;
    drop(held);
    let waited = told.elapsed();
    assert!(waited < Config::default().dead_after / 2, "it found out by silence, after {waited:?}");
    drop(requests);
    server.close();
    server.closed().await;
}

#[test]
fn nothing_is_left_behind() {
    run(async {
        open_and_close(false).await;
        open_and_close(true).await;
        let tasks = || Handle::current().metrics().num_alive_tasks();
        eventually("the first endpoints' tasks end", || tasks() == 0).await;
        let before = descriptors();
        assert!(before > 0, "/proc is not to be had");
        for round in 0..10 {
            open_and_close(round % 2 == 0).await;
        }
        eventually("all tasks end", || tasks() == 0).await;
        eventually("all descriptors are closed", || descriptors() <= before).await;
    });
}
