use homarus_interop::net::contents;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Lengths of the requests that each host makes, and of their responses; long ones among short ones.
const CALLS: [(u32, u32); 16] = [
    (1, 1),
    (100, 100),
    (1_424, 1_425),
    (10_000, 10_000),
    (40_000, 40_001),
    (100_000, 100_000),
    (100, 300_000),
    (300_000, 100),
    (1_000_000, 1_000_000),
    (15_000, 2_800),
    (200, 201),
    (50_000, 5),
    (5, 50_000),
    (99, 99),
    (123_456, 65_432),
    (1_000_000, 7),
];

/// Calls that a host makes in all, and at the same time.
pub(crate) const NUMBER: usize = 96;
pub(crate) const AT_ONCE: usize = 6;

/// Longest run before the test gives up: a hang, not a measure.
pub(crate) const HANG: Duration = Duration::from_secs(120);

/// Addresses of the two hosts.
pub(crate) fn our_address() -> SocketAddr {
    SocketAddr::from(([10, 78, 0, 1], 4_000))
}

pub(crate) fn modelled_address() -> SocketAddr {
    SocketAddr::from(([10, 78, 0, 2], 4_000))
}

pub(crate) fn modelled_host() -> IpAddr {
    modelled_address().ip()
}

/// The request of a call.
pub(crate) fn request(call: usize) -> Vec<u8> {
    contents(call, CALLS[call % CALLS.len()].0)
}

/// The response to it.
pub(crate) fn response(call: usize) -> Vec<u8> {
    contents(call + NUMBER, CALLS[call % CALLS.len()].1)
}

/// Which call a request belongs to. The shortest ones are all alike, and so are their responses' lengths.
pub(crate) fn call_of(message: &[u8]) -> Option<usize> {
    (0..NUMBER).find(|call| CALLS[call % CALLS.len()].0 as usize == message.len() && request(*call) == message)
}

/// Whether a message is a response to that call: to any call with the same request.
pub(crate) fn is_response(call: usize, message: &[u8]) -> bool {
    call_of(&request(call)).is_some_and(|same| response(same) == message)
}

/// What a host leaves behind when its calls have ended and nothing more is held.
pub(crate) fn word(stage: &Path, host: &str) -> PathBuf {
    stage.join(host)
}
