//! One client calls many servers, and all answer at once (SIGCOMM'18 §3.6).

use crate::stage::{Answer, Stage};
use homarus_proto::Config;
use homarus_swarm::net::LinkSpec;
use std::time::Duration;

const SERVERS: usize = 100;
const RESPONSE: usize = 64_000;

/// As many unscheduled bytes as Linux sends always, so that there is something to optimise.
fn config(incast_optimisation: bool) -> Config {
    let (unscheduled_start, unscheduled_min) = (40_000, 40_000);
    Config { incast_optimisation, pacing: true, unscheduled_start, unscheduled_min, ..Config::default() }
}

/// Longest queue before the client over ten rounds, and the time of a round.
fn rounds(incast_optimisation: bool, port_buffer: usize) -> (usize, u64, Duration) {
    let config = config(incast_optimisation);
    let mut link = LinkSpec::symmetric(10_000_000_000, Duration::from_micros(5));
    link.port_buffer = port_buffer;
    let mut stage = Stage::new(SERVERS + 1, link, &config);
    stage.answer = Answer::Bytes(RESPONSE);
    stage.world.set_observer(Box::new(|_, _| {}));
    let begun = stage.world.now();
    for _ in 0..10 {
        for server in 1..=SERVERS {
            stage.call(0, server, 100);
        }
        stage.run_until_ended(stage.outcomes.len() + SERVERS, Duration::from_secs(5));
    }
    assert!(stage.outcomes.iter().all(|outcome| outcome.result.is_ok()));
    let time = stage.world.now().saturating_since(begun) / 10;
    (stage.world.queue_peak(0), stage.world.queue_drops(0), time)
}

/// Most bytes on the wire that the configuration lets come at once: the responses to the first requests, which are not
/// marked, with all their unscheduled bytes, the others with few, and what is granted; the best message a quarter more.
fn allowed(config: &Config, unmarked: usize) -> usize {
    let unscheduled = unmarked * config.unscheduled_start as usize;
    let marked = (SERVERS - unmarked) * config.incast_unscheduled as usize;
    let granted = config.max_incoming as usize * 5 / 4;
    (unscheduled + marked + granted) * 1_538 / 1_416
}

/// The same with the optimisation, and a quarter more for repeats of what was only late: packets that were granted at the
/// lowest priority wait while all that is granted later overtakes them.
fn with_repeats(config: &Config) -> usize {
    allowed(config, config.incast_threshold) * 5 / 4
}

#[test]
fn the_optimisation_keeps_the_queue_short() {
    let (with, _, time_with) = rounds(true, 64 << 20);
    let (without, _, time_without) = rounds(false, 64 << 20);
    let ideal = Duration::from_secs_f64((SERVERS * RESPONSE) as f64 * 8.0 * 1_538.0 / 1_416.0 / 1e10);
    let most = with_repeats(&config(true));
    assert!(with < most, "peak of {with} bytes with, where {most} are explained");
    assert!(with * 3 < without, "peak of {with} bytes with, {without} bytes without");
    assert!(time_with < ideal * 5 / 4, "{time_with:?}; ideal {ideal:?}");
    assert!(time_without < ideal * 5 / 4, "{time_without:?}; ideal {ideal:?}");
}

#[test]
fn shallow_buffers_overflow_only_without_it() {
    let buffer = with_repeats(&config(true));
    let (_, drops_with, time_with) = rounds(true, buffer);
    let (_, drops_without, time_without) = rounds(false, buffer);
    assert_eq!(drops_with, 0);
    assert!(drops_without > 0);
    assert!(time_with < time_without, "{time_with:?} with, {time_without:?} without");
}

/// Nothing is lost, so hardly anything may be sent twice, though grants of rising priority overtake each other.
#[test]
fn what_is_overtaken_is_not_repeated() {
    let config = config(true);
    let mut stage = Stage::new(SERVERS + 1, LinkSpec::symmetric(10_000_000_000, Duration::from_micros(5)), &config);
    stage.answer = Answer::Bytes(RESPONSE);
    stage.world.set_observer(Box::new(|_, _| {}));
    for _ in 0..10 {
        (1..=SERVERS).for_each(|server| _ = stage.call(0, server, 100));
        stage.run_until_ended(stage.outcomes.len() + SERVERS, Duration::from_secs(5));
    }
    let resent: u64 = (1..=SERVERS).map(|server| stage.world.endpoint(server).stats().data_resent).sum();
    let packets = (10 * SERVERS * RESPONSE / 1_416) as u64;
    assert!(resent * 30 < packets, "{resent} of {packets} packets were sent twice");
}
