//! The module in this machine's own kernel.

use crate::common::{echo, pattern, run, serve};
use homarus::{Address, Builder, Endpoint, Error};

fn address(text: &str) -> Address {
    text.parse().expect("an address")
}

/// An endpoint over the real module, unless there is none, which is said aloud.
async fn bind(text: &str) -> Option<Endpoint> {
    match Builder::default().bind_address(&address(text)).await {
        Ok(endpoint) => Some(endpoint),
        Err(Error::Bind { source, .. }) if source.kind() == std::io::ErrorKind::Unsupported => {
            println!("SKIPPED: {source}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn contents_come_back() {
    run(async {
        let Some(server) = bind("kernel://127.0.0.1:4001").await else { return };
        let Some(client) = bind("kernel://127.0.0.1:0").await else { return };
        serve(&server, echo);
        for len in [1, 100, 65_537, 1_000_000] {
            let sent = pattern(len, 1);
            assert!(client.call(server.local_addr(), &sent).await.expect("answered") == sent, "{len} bytes");
        }
    });
}

#[test]
fn without_the_module_the_error_says_what_to_do() {
    let blocking = Builder::default().bind_address_blocking(&address("kernel://127.0.0.1:4002"));
    match blocking {
        Ok(_) => println!("SKIPPED: this kernel has the Homa module"),
        Err(error) => assert_eq!(
            error.to_string(),
            "cannot bind kernel://127.0.0.1:4002: this kernel has no Homa module: load it, or use udp:// or homa://"
        ),
    }
}

#[test]
fn a_port_of_clients_is_no_servers() {
    let refused = Builder::default().bind_address_blocking(&address("kernel://127.0.0.1:40000"));
    let error = refused.expect_err("refused").to_string();
    assert!(error.contains("servers on ports 1 to 32767"), "{error}");
}
