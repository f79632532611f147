//! What is refused, and what memory is bounded by.

use crate::common::{Gate, echo, eventually, run, serve};
use crate::fake_kernel::FakeKernel;
use crate::{assert_idle, endpoint, endpoint_with};
use homarus::{Builder, CallOptions, Capture, Config, Error, RpcError, SendError};
use std::sync::Arc;
use std::time::Duration;

#[test]
fn messages_that_the_module_does_not_carry_are_refused() {
    run(async {
        let kernel = FakeKernel::default();
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint(&kernel, "10.0.0.2:0"));
        let to = server.local_addr();
        assert!(matches!(client.call(to, ()).await, Err(Error::EmptyForLinux)));
        assert!(matches!(client.call(to, vec![0; 1_000_001]).await, Err(Error::TooLongForLinux { length: 1_000_001 })));
        let bad = ["10.0.0.1:0", "0.0.0.0:1", "[::1]:1"].map(|text| text.parse().expect("an address"));
        for peer in bad {
            assert!(matches!(client.call(peer, "nowhere").await, Err(Error::Peer { .. })));
        }
        assert_idle(&kernel, &client);

        let (sender, mut refusals) = tokio::sync::mpsc::unbounded_channel();
        serve(&server, move |request| {
            let sender = sender.clone();
            async move {
                let refusal = match request.message().len() {
                    1 => request.respond(()),
                    _ => request.respond(vec![0; 1_000_001]),
                };
                drop(sender.send(refusal));
                Ok(())
            }
        });
        for request in ["1", "12"] {
            let options = CallOptions { deadline: Some(Duration::from_millis(20)) };
            assert!(client.call_with(to, request, options).await.is_err());
        }
        assert!(matches!(refusals.recv().await, Some(Err(Error::EmptyForLinux))));
        assert!(matches!(refusals.recv().await, Some(Err(Error::TooLongForLinux { .. }))));
        assert_idle(&kernel, &server);
    });
}

#[test]
fn limits_of_the_configuration_hold() {
    run(async {
        let kernel = FakeKernel::default();
        let config = Config { max_message_len: 100, max_client_rpcs: 2, ..Config::default() };
        let (server, client) =
            (endpoint(&kernel, "10.0.0.1:4000"), endpoint_with(&kernel, "10.0.0.2:0", config.clone()));
        let to = server.local_addr();
        let gate = Arc::new(Gate::default());
        let opened = Arc::clone(&gate);
        serve(&server, move |request| {
            let gate = Arc::clone(&opened);
            async move {
                tokio::task::spawn_blocking(move || gate.wait()).await.expect("the gate opens");
                request.respond(vec![0; 101])
            }
        });
        assert!(matches!(
            client.call(to, vec![0; 101]).await,
            Err(Error::Send(SendError::TooLong { length: 101, limit: 100 }))
        ));
        let third = async {
            eventually("two are under way", || client.metrics().view.client_rpcs == 2).await;
            let refused = client.call(to, "third").await;
            gate.open();
            refused
        };
        let (first, second, third) = tokio::join!(client.call(to, "first"), client.call(to, "second"), third);
        assert!(matches!(third, Err(Error::Send(SendError::TooManyRpcs { limit: 2 }))));
        for too_long in [first, second] {
            assert!(matches!(too_long, Err(Error::Rpc(RpcError::ResponseTooLong { length: 101, limit: 100 }))));
        }
        assert_idle(&kernel, &client);
    });
}

#[test]
fn requests_beyond_the_servers_bounds_are_not_taken() {
    run(async {
        let kernel = FakeKernel::default();
        let config = Config { max_message_len: 100, max_server_rpcs: 1, ..Config::default() };
        let (server, client) = (endpoint_with(&kernel, "10.0.0.1:4000", config), endpoint(&kernel, "10.0.0.2:0"));
        let to = server.local_addr();
        let later = CallOptions { deadline: Some(Duration::from_secs(600)) };
        let calls = async {
            tokio::select! {
                _ = client.call_with(to, vec![0; 101], later) => panic!("the long one is answered"),
                _ = async { tokio::join!(client.call_with(to, "one", later), client.call_with(to, "two", later)) } => {
                    panic!("both are answered")
                }
                () = eventually("two are left", || server.metrics().stats.server_rpcs_abandoned == 2) => {}
            }
        };
        calls.await;
        assert_eq!((server.metrics().view.server_rpcs, server.metrics().stats.requests_received), (1, 1));
        assert_eq!(kernel.pages_out(to), 0);
    });
}

#[test]
fn what_waits_for_room_is_bounded_and_forgotten_when_it_is_cancelled() {
    run(async {
        let kernel = FakeKernel::default();
        let config = Config { max_send_buffer: 1_000, ..Config::default() };
        let (server, client) = (endpoint(&kernel, "10.0.0.1:4000"), endpoint_with(&kernel, "10.0.0.2:0", config));
        serve(&server, echo);
        let to = server.local_addr();
        kernel.with_faults(client.local_addr(), |faults| faults.full = u32::MAX);
        for _ in 0..50 {
            let waits = async {
                tokio::select! {
                _ = client.call(to, vec![1; 800]) => panic!("it is not sent"),
                () = eventually("it waits", || client.metrics().view.send_buffer == 800) => {}
                }
            };
            waits.await;
            eventually("it is forgotten", || client.metrics().view.send_buffer == 0).await;
        }
        let (first, second) = (client.call(to, vec![1; 800]), async {
            eventually("one waits", || client.metrics().view.send_buffer == 800).await;
            let refused = client.call(to, vec![2; 800]).await;
            kernel.with_faults(client.local_addr(), |faults| faults.full = 0);
            refused
        });
        let (first, second) = tokio::join!(first, second);
        assert_eq!(first.expect("answered").len(), 800);
        assert!(matches!(second, Err(Error::Send(SendError::BufferFull { limit: 1_000 }))));
        assert_eq!(server.metrics().stats.requests_received, 1);
        assert_idle(&kernel, &client);
    });
}

#[test]
fn there_is_nothing_to_capture() {
    run(async {
        let kernel = FakeKernel::default();
        let path = std::env::temp_dir().join(format!("homarus-over-kernel-{}.pcapng", std::process::id()));
        let capture = Capture::create(&path, "test").expect("a file");
        let refused = Builder::default().capture(capture).run_kernel(crate::io(&kernel, "10.0.0.1:4000"));
        std::fs::remove_file(path).expect("the file is there");
        let error = refused.expect_err("refused").to_string();
        assert!(error.starts_with("cannot bind kernel://10.0.0.1:4000: ") && error.contains("tcpdump"), "{error}");
    });
}
