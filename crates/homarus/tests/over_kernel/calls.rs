//! Calls that are answered.

use crate::common::{echo, eventually, eventually_blocking, pattern, run, serve};
use crate::fake_kernel::FakeKernel;
use crate::{assert_idle, blocking_endpoint, endpoint};
use homarus::blocking::Spin;
use std::thread;
use std::time::Duration;
use tokio::task::JoinSet;

const LENGTHS: [usize; 6] = [1, 100, 65_535, 65_536, 65_537, 1_000_000];

#[test]
fn contents_come_back_whatever_their_length() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        serve(&server, echo);
        for len in LENGTHS {
            let sent = pattern(len, len as u64);
            assert!(client.call(server.local_addr(), &sent).await.expect("answered") == sent, "{len} bytes");
        }
        let (asked, answered) = (client.metrics().stats, server.metrics().stats);
        assert_eq!((asked.requests_sent, asked.requests_answered), (6, 6));
        assert_eq!((answered.requests_received, answered.responses_sent), (6, 6));
        let bytes = LENGTHS.iter().sum::<usize>() as u64;
        assert_eq!((asked.bytes_sent, asked.bytes_received, answered.bytes_sent), (bytes, bytes, bytes));
        eventually("pages are given back", || kernel.pages_out(client.local_addr()) == 0).await;
        assert_idle(&kernel, &client);
        assert_idle(&kernel, &server);
    });
}

#[test]
fn many_at_a_time_share_little_memory() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        serve(&server, echo);
        let mut calls = JoinSet::new();
        for number in 0..200 {
            let client = client.client(server.local_addr());
            calls.spawn(async move {
                let sent = pattern(1 + number * 3_001, number as u64);
                assert!(client.call(&sent).await.expect("answered") == sent);
            });
        }
        while let Some(ended) = calls.join_next().await {
            ended.expect("as it was sent");
        }
        eventually("pages are given back", || kernel.pages_out(client.local_addr()) == 0).await;
        assert_idle(&kernel, &client);
    });
}

#[test]
fn both_sides_may_call() {
    run(async {
        let kernel = FakeKernel::default();
        let (one, other) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        serve(&one, echo);
        serve(&other, echo);
        let (there, back) =
            tokio::join!(one.call(other.local_addr(), "from one"), other.call(one.local_addr(), "from other"));
        assert_eq!(
            (&there.expect("answered")[..], &back.expect("answered")[..]),
            (&b"from one"[..], &b"from other"[..])
        );
    });
}

#[test]
fn threads_call_and_serve() {
    for spin in [Spin::Never, Spin::For(Duration::from_micros(50)), Spin::Always] {
        let kernel = FakeKernel::default();
        let server = blocking_endpoint(&kernel, "10.0.0.1:4000", spin);
        let client = blocking_endpoint(&kernel, "10.0.0.2:0", spin);
        let to = server.local_addr();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    server.serve(|request| {
                        let message = request.message().clone();
                        request.respond(message)
                    });
                });
            }
            let callers: Vec<_> = (0..3)
                .map(|seed| {
                    let client = client.client(to);
                    scope.spawn(move || {
                        for len in LENGTHS {
                            let sent = pattern(len, seed);
                            assert!(client.call(&sent).expect("answered") == sent, "{len} bytes, {spin:?}");
                        }
                    })
                })
                .collect();
            callers.into_iter().for_each(|caller| caller.join().expect("as it was sent"));
            assert_eq!((kernel.pages_out(client.local_addr()), client.metrics().view.client_rpcs), (0, 0));
            eventually_blocking("pages are given back", || kernel.pages_out(to) == 0);
            server.close();
        });
    }
}

#[test]
fn what_the_kernel_has_no_room_for_leaves_when_it_has() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        serve(&server, echo);
        for addr in [server.local_addr(), client.local_addr()] {
            kernel.with_faults(addr, |faults| faults.full = 20);
        }
        let calls = (0..10).map(|number: u8| client.call(server.local_addr(), [number].to_vec()));
        for (number, call) in calls.enumerate() {
            assert_eq!(call.await.expect("answered")[..], [number as u8]);
        }
        assert_idle(&kernel, &client);
    });
}
