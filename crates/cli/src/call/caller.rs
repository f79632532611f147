//! Makes calls, checks the answers and counts.

use bytes::Bytes;
use hdrhistogram::Histogram;
use homarus::{CallOptions, Client, Error, blocking};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What all workers of a run share.
pub(super) struct Caller {
    pattern: Vec<u8>,
    calls: u64,
    begun: AtomicU64,
    done: AtomicU64,
    stopped: AtomicBool,
    keep_going: bool,
    options: CallOptions,
    /// One for all: a histogram for each of 100,000 callers would take gigabytes.
    tally: Mutex<Tally>,
}

/// What came of the calls.
pub(super) struct Tally {
    /// Round trips of answered calls, ns.
    pub(super) nanos: Histogram<u64>,
    /// Number of failed calls by reason.
    pub(super) failures: BTreeMap<String, u64>,
}

impl Default for Tally {
    fn default() -> Self {
        let longest = Duration::from_secs(3600).as_nanos() as u64;
        Tally {
            nanos: Histogram::new_with_bounds(1, longest, 3).expect("bounds are constant and valid"),
            failures: BTreeMap::new(),
        }
    }
}

impl Caller {
    pub(super) fn new(size: u32, calls: u64, keep_going: bool, options: CallOptions) -> Caller {
        Caller {
            pattern: (0..size).map(|at| (at.wrapping_mul(31) >> 3) as u8).collect(),
            calls,
            begun: AtomicU64::new(0),
            done: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            keep_going,
            options,
            tally: Mutex::default(),
        }
    }

    /// What has come of the calls so far.
    pub(super) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls that have ended.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Lets workers begin no more calls.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Calls through the async API until all calls are made.
    pub(super) async fn call_async(&self, client: &Client) {
        while let Some(request) = self.next_request() {
            let sent = Instant::now();
            let answer = client.call_with(&request, self.options).await;
            self.record(sent, &request, answer);
        }
    }

    /// Calls through the blocking API until all calls are made.
    pub(super) fn call_blocking(&self, client: &blocking::Client) {
        while let Some(request) = self.next_request() {
            let sent = Instant::now();
            let answer = client.call_with(&request, self.options);
            self.record(sent, &request, answer);
        }
    }

    /// Contents that differ from those of other requests, as far as their length allows.
    fn next_request(&self) -> Option<Bytes> {
        if self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        if number >= self.calls {
            return None;
        }
        let mut contents = self.pattern.clone();
        for (byte, stamp) in contents.iter_mut().zip(number.to_le_bytes()) {
            *byte ^= stamp;
        }
        Some(contents.into())
    }

    fn record(&self, sent: Instant, request: &Bytes, answer: Result<Bytes, Error>) {
        let time = sent.elapsed();
        let failure = match answer {
            // The user has interrupted: the call did not fail.
            Err(_) if self.stopped.load(Ordering::Relaxed) => return,
            Err(error) => error.to_string(),
            Ok(answer) if answer != request => format!(
                "the answer has other contents than the request ({} bytes sent, {} came back): \
                 is the server an echo service such as `homarus serve`?",
                request.len(),
                answer.len()
            ),
            Ok(_) => {
                self.tally().nanos.saturating_record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
                self.done.fetch_add(1, Ordering::Relaxed);
                return;
            }
        };
        self.done.fetch_add(1, Ordering::Relaxed);
        *self.tally().failures.entry(failure).or_default() += 1;
        if !self.keep_going {
            self.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(size: u32, calls: u64, keep_going: bool) -> Caller {
        Caller::new(size, calls, keep_going, CallOptions::default())
    }

    #[test]
    fn as_many_requests_as_asked_for_and_all_different() {
        let caller = caller(100, 3, false);
        let requests: Vec<_> = std::iter::from_fn(|| caller.next_request()).collect();
        assert_eq!(requests.len(), 3);
        assert!(requests.iter().all(|request| request.len() == 100));
        assert!(requests[0] != requests[1] && requests[1] != requests[2]);
    }

    #[test]
    fn empty_requests_are_possible() {
        assert_eq!(caller(0, 1, false).next_request(), Some(Bytes::new()));
    }

    #[test]
    fn the_first_failure_stops_unless_told_to_go_on() {
        for (keep_going, more) in [(false, false), (true, true)] {
            let caller = caller(10, 5, keep_going);
            let request = caller.next_request().unwrap();
            caller.record(Instant::now(), &request, Err(Error::Closed));
            assert_eq!(caller.tally().failures.len(), 1);
            assert_eq!(caller.next_request().is_some(), more);
        }
    }

    #[test]
    fn other_contents_are_a_failure() {
        let caller = caller(10, 5, true);
        let request = caller.next_request().unwrap();
        caller.record(Instant::now(), &request, Ok(Bytes::from_static(b"something else")));
        caller.record(Instant::now(), &request, Ok(request.clone()));
        assert_eq!(caller.tally().nanos.len(), 1);
        let tally = caller.tally();
        let failures: Vec<_> = tally.failures.keys().collect();
        assert!(failures[0].contains("10 bytes sent, 14 came back"), "{failures:?}");
    }
}
