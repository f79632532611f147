//! What an RPC that waits costs in memory: a client opens many requests to one server, which holds them unanswered.
//!
//! Counts what the allocator has handed out, so the figures are the same on every machine. Bytes an RPC at the client
//! (which keeps the request, to repeat it) and at the server (which has handed the request up), each without the
//! message's own contents, which both ends share here. `idle_memory [RPCS]`, 100,000 by default.

use homarus_proto::{CallOptions, Config, Endpoint, Event, IncomingRpc, Instant, Payload};
use std::alloc::{GlobalAlloc, Layout, System};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::Duration;

/// Bytes handed out and not given back.
static HELD: AtomicIsize = AtomicIsize::new(0);

/// The system's allocator, counted.
struct Counted;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller keeps to the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: as above; `place` came from `alloc`.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// What `work` leaves allocated, in bytes.
fn growth(work: impl FnOnce()) -> isize {
    let before = HELD.load(Ordering::Relaxed);
    work();
    HELD.load(Ordering::Relaxed) - before
}

fn main() {
    let rpcs: usize = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(100_000);
    let config = Config { default_deadline: None, ..Config::default() };
    let (client_addr, server_addr): (SocketAddr, SocketAddr) =
        (([10, 0, 0, 1], 40_000).into(), ([10, 0, 0, 2], 4000).into());
    let mut client = Endpoint::new(config.clone(), 40_000, 1).expect("valid");
    let mut server = Endpoint::new(config, 4000, 2).expect("valid");
    let message = Payload::from(vec![7; 100]);
    let mut held: Vec<IncomingRpc> = Vec::with_capacity(rpcs);
    let (mut at_client, mut at_server) = (0, 0);
    let mut now = Instant::ZERO;
    let mut packet = Vec::with_capacity(2048);
    for _ in 0..rpcs {
        now += Duration::from_micros(1);
        let mut sent = None;
        at_client += growth(|| {
            let request = client.send_request(now, server_addr, message.clone(), CallOptions::default());
            request.expect("there is room");
            sent = client.poll_transmit(now);
        });
        let sent = sent.expect("a short request is not held back");
        packet.clear();
        packet.extend_from_slice(sent.header());
        packet.extend_from_slice(sent.payload.as_slice());
        at_server += growth(|| {
            server.handle_datagram(now, client_addr, &packet);
            if let Some(Event::Request { rpc, .. }) = server.poll_event() {
                held.push(rpc);
            }
        });
        // What the server says meanwhile, such as its cutoffs, belongs to the client.
        at_client += growth(|| {
            while let Some(reply) = server.poll_transmit(now) {
                client.handle_datagram(now, server_addr, &[reply.header(), reply.payload.as_slice()].concat());
            }
        });
    }
    assert_eq!((client.view().client_rpcs, server.view().server_rpcs), (rpcs, rpcs));
    println!(
        "{rpcs} requests wait: {:.0} bytes each at the client, {:.0} at the server",
        at_client as f64 / rpcs as f64,
        at_server as f64 / rpcs as f64
    );
}
