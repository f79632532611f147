//! What the tests share: sockets on loopback, contents that can be told apart, and a guard against hanging.
#![allow(dead_code, unreachable_pub)]

use homarus::{Bytes, Endpoint, Error, Request};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

pub const LOCAL: &str = "127.0.0.1:0";

/// `len` bytes that depend on `seed`.
pub fn pattern(len: usize, seed: u64) -> Bytes {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes.into()
}

/// Runs `test` on several threads, and fails if it takes much longer than any machine needs.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("runtime");
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("test hangs") })
}

/// Answers with the request's contents.
pub async fn echo(request: Request) -> Result<(), Error> {
    let message = request.message().clone();
    request.respond(message)
}

/// An echo server on loopback.
pub async fn echo_server() -> (Endpoint, SocketAddr) {
    let server = Endpoint::bind(LOCAL).await.expect("bind");
    let addr = server.local_addr();
    serve(&server, echo);
    (server, addr)
}

/// Serves in the background.
pub fn serve<H, F>(endpoint: &Endpoint, handler: H)
where
    H: Fn(Request) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    let endpoint = endpoint.clone();
    tokio::spawn(async move { endpoint.serve(handler).await });
}

/// Waits until `condition` holds.
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never happened: {what}");
}

/// As [`eventually`], for threads.
pub fn eventually_blocking(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never happened: {what}");
}

/// Opens once, for any number of threads.
#[derive(Default)]
pub struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub fn open(&self) {
        *self.open.lock().expect("lock") = true;
        self.opened.notify_all();
    }

    pub fn wait(&self) {
        let open = self.open.lock().expect("lock");
        drop(self.opened.wait_while(open, |open| !*open).expect("lock"));
    }
}
