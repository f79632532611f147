//! One client calls many servers, and all answer at once (SIGCOMM'18 §3.6).

use crate::stage::{Answer, Stage};
use homarus_proto::Config;
use homarus_swarm::net::LinkSpec;
use std::time::Duration;

const SERVERS: usize = 100;
const RESPONSE: usize = 64_000;

/// Longest queue before the client over ten rounds, and the time of a round.
fn rounds(incast_optimisation: bool, port_buffer: usize) -> (usize, u64, Duration) {
    // As many unscheduled bytes as Linux sends always, so that there is something to optimise.
    let unscheduled = 40_000;
    let (unscheduled_start, unscheduled_min) = (unscheduled, unscheduled);
    let pacing = true;
    let config = Config { incast_optimisation, pacing, unscheduled_start, unscheduled_min, ..Config::default() };
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

#[test]
fn the_optimisation_keeps_the_queue_short() {
    let (with, _, time_with) = rounds(true, 64 << 20);
    let (without, _, time_without) = rounds(false, 64 << 20);
    let ideal = Duration::from_secs_f64((SERVERS * RESPONSE) as f64 * 8.0 * 1_538.0 / 1_416.0 / 1e10);
    assert!(with * 2 < without, "peak of {with} bytes with, {without} bytes without");
    assert!(with < 2_000_000, "peak of {with} bytes");
    assert!(time_with < ideal * 5 / 4, "{time_with:?}; ideal {ideal:?}");
    assert!(time_without < ideal * 5 / 4, "{time_without:?}; ideal {ideal:?}");
}

#[test]
fn shallow_buffers_overflow_only_without_it() {
    let (_, drops_with, time_with) = rounds(true, 2_000_000);
    let (_, drops_without, time_without) = rounds(false, 2_000_000);
    assert_eq!(drops_with, 0);
    assert!(drops_without > 0);
    assert!(time_with < time_without, "{time_with:?} with, {time_without:?} without");
}
