//! A server process that is killed in the middle of its work, and started again on the same port.

mod common;

use common::{pattern, run, serve};
use homarus::{Bytes, Endpoint, Error, RpcError};
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;

/// Where the server process is to serve; set in that process only.
const SERVE_AT: &str = "HOMARUS_TEST_SERVE_AT";
/// What the server process prints when it serves.
const SERVING: &str = "serving";
const CALLERS: u64 = 8;
const KILLS: u32 = 4;
/// Most calls of one caller.
const MAX_CALLS: u64 = 100_000;

/// Not a test but the server process, which the test below starts and kills.
#[test]
fn server_process() {
    let Ok(addr) = std::env::var(SERVE_AT) else { return };
    let executed: Arc<Mutex<HashMap<Bytes, u32>>> = Arc::default();
    run(async {
        let server = Endpoint::bind(addr).await.expect("bind");
        serve(&server, move |request| {
            let executed = Arc::clone(&executed);
            async move {
                let message = request.message().clone();
                let times = {
                    let mut executed = executed.lock().expect("lock");
                    let times = executed.entry(message.slice(..8)).or_default();
                    *times += 1;
                    *times
                };
                request.respond([&times.to_le_bytes(), &message[..]].concat())
            }
        });
        println!("{SERVING}");
        // Until it is killed, or the guard against hanging ends it.
        std::future::pending::<()>().await;
    });
}

/// The server process; killed when dropped.
struct Server(Child);

impl Server {
    /// Returns once it serves.
    fn start(addr: SocketAddr) -> Server {
        let mut child = Command::new(std::env::current_exe().expect("own path"))
            .args(["--exact", "server_process", "--nocapture"])
            .env(SERVE_AT, addr.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let output = child.stdout.take().expect("piped");
        let serves = BufReader::new(output).lines().map_while(Result::ok).any(|line| line.contains(SERVING));
        assert!(serves, "the server ended early");
        Server(child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // As `kill -9` does.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A port of this process alone, below those that are given out to others.
fn own_addr() -> SocketAddr {
    let [low, high, ..] = std::process::id().to_le_bytes();
    SocketAddr::from(([127, 77, high, low.max(1)], 4000))
}

/// The request `number` of `caller`: short, of several packets, or long enough to need grants.
fn request(caller: u64, number: u64) -> Bytes {
    let length = [100, 5_000, 300_000][number as usize % 3];
    let mut message = (caller << 32 | number).to_le_bytes().to_vec();
    message.extend_from_slice(&pattern(length, number));
    message.into()
}

/// Calls until told to stop; how many calls were answered, and how many ended otherwise.
async fn call_on(client: homarus::Client, caller: u64, lives: Arc<AtomicU32>, stop: Arc<AtomicU32>) -> (u32, u32) {
    let mut ended = (0, 0);
    for number in 0..MAX_CALLS {
        if stop.load(Ordering::SeqCst) > 0 {
            break;
        }
        let before = lives.load(Ordering::SeqCst);
        let sent = request(caller, number);
        match client.call(&sent).await {
            Ok(got) => {
                assert_eq!(got[..4], 1u32.to_le_bytes(), "executed once");
                assert!(got[4..] == sent);
                ended.0 += 1;
            }
            Err(Error::Rpc(
                error @ (RpcError::PeerDead { .. }
                | RpcError::Unreachable(_)
                | RpcError::ServerRestarted
                | RpcError::Dropped),
            )) => {
                let undisturbed = before.is_multiple_of(2) && lives.load(Ordering::SeqCst) == before;
                assert!(!undisturbed, "call {number} failed while the server lived: {error}");
                ended.1 += 1;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    ended
}

#[test]
fn a_server_that_is_killed_and_started_again() {
    run(async {
        let addr = own_addr();
        let mut server = Server::start(addr);
        let client = Endpoint::bind(common::LOCAL).await.expect("bind");
        // Odd from a kill to the first call that is answered again.
        let lives = Arc::new(AtomicU32::new(0));
        let stop = Arc::new(AtomicU32::new(0));
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            callers.spawn(call_on(client.client(addr), caller, Arc::clone(&lives), Arc::clone(&stop)));
        }
        for kill in 0..KILLS {
            tokio::time::sleep(Duration::from_millis(150)).await;
            lives.fetch_add(1, Ordering::SeqCst);
            drop(server);
            // Down for so short that nothing is noticed meanwhile, or for longer.
            tokio::time::sleep(Duration::from_millis(u64::from(kill % 2) * 100)).await;
            server = tokio::task::spawn_blocking(move || Server::start(addr)).await.expect("start");
            // What the network has said of the closed port may still wait to be read, and is about all calls.
            let mut heard = false;
            for attempt in 0..200 {
                heard = client.call(addr, request(CALLERS + 1 + u64::from(kill), attempt)).await.is_ok();
                if heard {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert!(heard, "the server came back and was not found");
            lives.fetch_add(1, Ordering::SeqCst);
        }
        tokio::time::sleep(Duration::from_millis(150)).await;
        stop.store(1, Ordering::SeqCst);
        let (mut answered, mut failed) = (0, 0);
        while let Some(ended) = callers.join_next().await {
            let (ok, lost) = ended.expect("contents");
            answered += ok;
            failed += lost;
        }
        assert!(answered > 0 && failed > 0, "{answered} answered, {failed} failed: the kills fell into no load");
        for number in 0..30 {
            let sent = request(CALLERS, number);
            assert!(client.call(addr, &sent).await.expect("the server is back")[4..] == sent);
        }
        let view = client.metrics().view;
        assert_eq!((view.client_rpcs, view.send_buffer, view.receive_buffer), (0, 0, 0));
    });
}
