//! The swarm itself: it repeats itself exactly, and it finds bugs that are there.

use homarus_swarm::run::{Options, Plant, run_seed};

#[test]
fn same_seed_same_course() {
    let mut traces = Vec::new();
    for seed in 0..40 {
        let first = run_seed(seed, Options::default()).expect("a good run");
        let second = run_seed(seed, Options::default()).expect("a good run");
        assert_eq!(first, second, "seed {seed}");
        traces.push(first.trace);
    }
    traces.sort_unstable();
    traces.dedup();
    assert_eq!(traces.len(), 40, "different seeds take different courses");
}

/// Plays seeds that are good until the planted bug is found; what was found must contain `complaint`.
fn finds(plant: Plant, complaint: &str) {
    let mut missed = 0;
    for seed in 0..300 {
        let Err(violation) = run_seed(seed, Options { plant: Some(plant), ..Options::default() }) else {
            missed += 1;
            continue;
        };
        assert!(violation.0.contains(complaint), "seed {seed} with {plant:?}: {violation}");
        println!("{plant:?} found at seed {seed}, after {missed} without");
        return;
    }
    panic!("{plant:?} was never found");
}

#[test]
fn finds_double_execution() {
    finds(Plant::ExecutedTwice, "twice");
}

#[test]
fn finds_changed_request() {
    finds(Plant::FlippedRequest, "with other contents");
}

#[test]
fn finds_changed_response() {
    finds(Plant::FlippedResponse, "has other contents");
}

#[test]
fn finds_lost_outcome() {
    finds(Plant::LostOutcome, "no outcome ever came");
}

#[test]
fn finds_leaked_rpc() {
    finds(Plant::LeakedRpc, "");
}

#[test]
fn finds_request_under_another_id() {
    finds(Plant::OldRequestAgain, "which nobody asked for");
}

#[test]
fn finds_amnesia() {
    finds(Plant::Amnesia, "");
}
