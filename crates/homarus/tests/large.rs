//! The longest message that the default settings allow.

mod common;

use common::{LOCAL, run};
use homarus::{Bytes, Config, Endpoint};

/// Alone in its process: both ends take some 800 MB of memory together.
#[test]
fn a_message_of_256_mebibytes() {
    run(async {
        let longest = Config::default().max_message_len as usize;
        let server = Endpoint::bind(LOCAL).await.expect("bind");
        common::serve(&server, common::echo);
        let client = Endpoint::bind(LOCAL).await.expect("bind");
        let sent: Bytes = common::pattern(longest, 1);
        let started = std::time::Instant::now();
        let got = client.call(server.local_addr(), &sent).await.expect("call");
        println!("{longest} bytes there and back in {:?}", started.elapsed());
        assert!(got == sent);
        assert!(client.call(server.local_addr(), vec![0; longest + 1]).await.is_err());
    });
}
