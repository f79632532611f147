//! Calls that are not answered.

use crate::common::{echo, eventually, run, serve};
use crate::fake_kernel::FakeKernel;
use crate::{assert_idle, blocking_endpoint, endpoint};
use homarus::blocking::Spin;
use homarus::{CallOptions, Error, RpcError, Unreachable};
use std::time::Duration;
use tokio::task::JoinSet;

/// Longer than any test takes.
const LONG: CallOptions = CallOptions { deadline: Some(Duration::from_secs(600)) };
const SHORT: CallOptions = CallOptions { deadline: Some(Duration::from_millis(20)) };

#[test]
fn each_error_of_the_kernel_says_what_it_means() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        let (from, to) = (client.local_addr(), server.local_addr());
        let unreachable = |why| Some(RpcError::Unreachable(why));
        for (errno, expected) in [
            (libc::ENOTCONN, unreachable(Unreachable::Port)),
            (libc::EPROTONOSUPPORT, unreachable(Unreachable::Protocol)),
            (libc::EHOSTUNREACH, unreachable(Unreachable::Host)),
            (libc::EDOM, None),
        ] {
            kernel.with_faults(from, |faults| faults.send_errors = [errno].into());
            let refused = client.call_with(to, "refused", LONG).await.expect_err("refused");
            let fails_later = async {
                eventually("it is sent", || kernel.calls(from) == 1).await;
                kernel.fail_calls(from, errno);
            };
            let (failed, ()) = tokio::join!(client.call_with(to, "later", LONG), fails_later);
            for error in [refused, failed.expect_err("failed")] {
                match (error, &expected) {
                    (Error::Rpc(error), Some(expected)) => assert_eq!(error, *expected),
                    (Error::Kernel(error), None) => assert_eq!(error.raw_os_error(), Some(errno)),
                    (error, _) => panic!("errno {errno}: {error}"),
                }
            }
        }
        let dead = async {
            eventually("it is sent", || kernel.calls(from) == 1).await;
            kernel.fail_calls(from, libc::ETIMEDOUT);
        };
        let (failed, ()) = tokio::join!(client.call_with(to, "dead", LONG), dead);
        assert!(matches!(failed, Err(Error::Rpc(RpcError::PeerDead { .. }))));
        let nobody = client.call_with("10.0.0.9:9".parse().expect("an address"), "anybody?", LONG).await;
        assert!(matches!(nobody, Err(Error::Rpc(RpcError::Unreachable(Unreachable::Port)))));
        assert_idle(&kernel, &client);
    });
}

#[test]
fn threads_learn_of_refusals() {
    let kernel = FakeKernel::default();
    for spin in [Spin::Never, Spin::Always] {
        let client = blocking_endpoint(&kernel, "10.0.0.2:0", spin);
        kernel.with_faults(client.local_addr(), |faults| faults.send_errors = [libc::EHOSTUNREACH].into());
        let refused = client.call_with("10.0.0.1:4000".parse().expect("an address"), "request", LONG);
        assert!(matches!(refused, Err(Error::Rpc(RpcError::Unreachable(Unreachable::Host)))));
    }
}

#[test]
fn a_crowd_learns_of_refusals() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        serve(&server, echo);
        kernel.with_faults(client.local_addr(), |faults| faults.send_errors = vec![libc::EHOSTUNREACH; 20].into());
        let mut calls = JoinSet::new();
        for _ in 0..40 {
            let client = client.client(server.local_addr());
            calls.spawn(async move { client.call_with("request", LONG).await.is_ok() });
        }
        let answered = calls.join_all().await.into_iter().filter(|answered| *answered).count();
        assert_eq!(answered, 20);
        assert_idle(&kernel, &client);
    });
}

#[test]
fn a_deadline_ends_the_call_and_has_the_kernel_forget_it() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        let late = client.call_with(server.local_addr(), "late", SHORT).await;
        assert!(matches!(late, Err(Error::Rpc(RpcError::Deadline { after })) if Some(after) == SHORT.deadline));
        assert_eq!(kernel.aborted(client.local_addr()).len(), 1);
        assert_idle(&kernel, &client);
        // The answer comes all the same, and goes nowhere.
        serve(&server, echo);
        eventually("it is answered", || server.metrics().stats.responses_sent == 1).await;
        assert_eq!(&client.call_with(server.local_addr(), "in time", LONG).await.expect("answered")[..], b"in time");
    });
}

#[test]
fn a_dropped_call_is_aborted() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        let call = client.call_with(server.local_addr(), "never mind", LONG);
        assert!(tokio::time::timeout(Duration::from_millis(20), call).await.is_err());
        assert_eq!(kernel.aborted(client.local_addr()).len(), 1);
        assert_eq!(client.metrics().stats.requests_cancelled, 1);
        assert_idle(&kernel, &client);
    });
}

#[test]
fn a_response_to_what_is_forgotten_gives_its_pages_back() {
    run(async {
        let kernel = FakeKernel::default();
        let client = endpoint(&kernel, "10.0.0.2:0");
        for cookie in [0, 1, u64::MAX] {
            kernel.stray_response(client.local_addr(), cookie, &[7; 100_000]);
        }
        eventually("all are read", || kernel.waiting(client.local_addr()) == 0).await;
        eventually("pages are given back", || kernel.pages_out(client.local_addr()) == 0).await;
        assert_idle(&kernel, &client);
    });
}

#[test]
fn a_request_that_is_dropped_leaves_its_client_waiting() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        serve(&server, |request| async move {
            drop(request);
            Ok(())
        });
        let dropped = client.call_with(server.local_addr(), "drop me", SHORT).await;
        assert!(matches!(dropped, Err(Error::Rpc(RpcError::Deadline { .. }))));
        eventually("it is dropped", || {
            server.metrics().stats.requests_received == 1 && server.metrics().view.server_rpcs == 0
        })
        .await;
        assert_eq!(kernel.in_service(server.local_addr()), 1);
        assert_idle(&kernel, &client);
    });
}

#[test]
fn a_response_that_the_kernel_refuses_ends_the_request() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        serve(&server, echo);
        kernel.with_faults(server.local_addr(), |faults| faults.send_errors = [libc::EHOSTUNREACH].into());
        assert!(client.call_with(server.local_addr(), "request", SHORT).await.is_err());
        eventually("it is given up", || server.metrics().stats.server_rpcs_abandoned == 1).await;
        assert_eq!(server.metrics().view.server_rpcs, 0);
    });
}
