//! How endpoints end.

use crate::common::{echo, eventually, run, serve};
use crate::fake_kernel::FakeKernel;
use crate::{blocking_endpoint, endpoint};
use homarus::Error;
use homarus::blocking::Spin;
use std::thread;
use std::time::Duration;

#[test]
fn a_graceful_end_answers_what_is_in_flight() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        let to = server.local_addr();
        let requests = server.requests();
        let answer = async {
            let request = requests.recv().await.expect("a request");
            let (ended, ()) = tokio::join!(server.shutdown(Duration::from_secs(30)), async {
                tokio::task::yield_now().await;
                request.respond("at last").expect("taken");
            });
            ended
        };
        let (answered, ended) = tokio::join!(client.call(to, "request"), answer);
        assert_eq!(&answered.expect("answered")[..], b"at last");
        ended.expect("nothing is left");
        assert!(!kernel.is_open(to));
    });
}

#[test]
fn what_takes_too_long_is_cut_off() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        let call = client.call(server.local_addr(), "nobody answers");
        let cut_off = async {
            eventually("it is sent", || client.metrics().view.client_rpcs == 1).await;
            client.shutdown(Duration::from_millis(20)).await
        };
        let (call, ended) = tokio::join!(call, cut_off);
        assert!(matches!(call, Err(Error::Closed)));
        assert!(matches!(ended, Err(Error::ShutdownTimeout { in_flight: 1, .. })));
        assert!(!kernel.is_open(client.local_addr()));
    });
}

#[test]
fn closing_ends_calls_and_requests() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        let requests = server.requests();
        let close = async {
            let request = requests.recv().await.expect("a request");
            server.close();
            assert!(matches!(request.respond("too late"), Err(Error::Closed)));
            assert!(requests.recv().await.is_none());
            client.close();
        };
        let (call, ()) = tokio::join!(client.call(server.local_addr(), "request"), close);
        assert!(matches!(call, Err(Error::Closed)));
        assert!(matches!(client.call(server.local_addr(), "again").await, Err(Error::Closed)));
        assert!(!kernel.is_open(server.local_addr()) && !kernel.is_open(client.local_addr()));
        assert_eq!(server.metrics().view.server_rpcs, 0);
    });
}

#[test]
fn a_socket_that_breaks_ends_the_endpoint() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        serve(&server, echo);
        kernel.with_faults(client.local_addr(), |faults| faults.recv_error = Some(libc::ESHUTDOWN));
        let broken = client.call(server.local_addr(), "request").await.expect_err("broken");
        assert!(matches!(&broken, Error::Socket(error) if error.raw_os_error() == Some(libc::ESHUTDOWN)), "{broken}");
        kernel.with_faults(server.local_addr(), |faults| faults.send_errors = [libc::ESHUTDOWN].into());
        let client = endpoint(&kernel, "10.0.0.3:0");
        let call = client.call(server.local_addr(), "request");
        tokio::select! {
            _ = call => panic!("the server cannot answer"),
            () = server.closed() => {}
        }
    });
}

#[test]
fn threads_are_released() {
    let kernel = FakeKernel::default();
    let server = blocking_endpoint(&kernel, "10.0.0.1:4000", Spin::Never);
    let client = blocking_endpoint(&kernel, "10.0.0.2:0", Spin::Never);
    thread::scope(|scope| {
        let caller = scope.spawn(|| client.call(server.local_addr(), "request"));
        let request = server.recv().expect("a request");
        let ending = scope.spawn(|| server.shutdown(Duration::from_secs(30)));
        request.respond("response").expect("taken");
        assert_eq!(&caller.join().expect("returns").expect("answered")[..], b"response");
        ending.join().expect("returns").expect("nothing is left");
        let waits = scope.spawn(|| client.recv().is_none());
        client.close();
        assert!(waits.join().expect("returns"));
    });
}
