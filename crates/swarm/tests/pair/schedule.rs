//! Which message goes first, and whether links stay busy.

use crate::stage::{Answer, Place, Stage};
use homarus_proto::Config;
use homarus_proto::wire::PacketType;
use homarus_swarm::net::{HostId, LinkSpec};
use std::time::Duration;

const GIGABIT: u64 = 1_000_000_000;

fn paced() -> Config {
    Config { pacing: true, ..Config::default() }
}

/// Time that a message takes on a link, with headers, at 1500 bytes of IP packet.
fn alone(len: usize, rate: u64) -> Duration {
    let wire_bytes = len as f64 * 1_538.0 / 1_416.0;
    Duration::from_secs_f64(wire_bytes * 8.0 / rate as f64)
}

#[test]
fn eleven_senders_of_equal_10_mb_messages() {
    const LEN: usize = 10_000_000;
    let mut stage = Stage::new(12, LinkSpec::symmetric(10 * GIGABIT, Duration::from_micros(5)), &paced());
    stage.answer = Answer::Bytes(1);
    stage.world.set_observer(Box::new(|_, _| {}));
    let begun = stage.world.now();
    for sender in 1..12 {
        stage.call(sender, 0, LEN);
    }
    stage.run_until_ended(11, Duration::from_secs(1));
    assert!(stage.outcomes.iter().all(|outcome| outcome.result.is_ok()));
    let one = alone(LEN, 10 * GIGABIT).as_secs_f64();
    let ended: Vec<f64> =
        stage.outcomes.iter().map(|outcome| outcome.at.saturating_since(begun).as_secs_f64() / one).collect();
    assert!(ended[0] < 1.3, "the first is not held up: {ended:?}");
    assert!(ended[10] < 11.5, "the link is never idle: {ended:?}");
    for pair in ended.windows(2) {
        assert!((0.6..1.5).contains(&(pair[1] - pair[0])), "one after the other: {ended:?}");
    }
    let resent: u64 = (1..12).map(|sender| stage.world.endpoint(sender).stats().data_resent).sum();
    assert!(resent < 400, "nothing was lost, but {resent} of 77,671 packets were sent twice");
    assert!(stage.world.queue_peak(0) < 1_000_000, "{} bytes queued", stage.world.queue_peak(0));
}

/// Lets the pacer find the rate of a host's link.
fn find_rate(stage: &mut Stage, from: HostId, to: HostId) {
    for _ in 0..3 {
        stage.round_trip(from, to, 3_000_000);
    }
}

#[test]
fn no_idle_gap_in_a_50_kb_message_alone() {
    for (rate, delay) in [(GIGABIT, 10), (10 * GIGABIT, 2), (10 * GIGABIT, 10)] {
        let mut stage = Stage::new(2, LinkSpec::symmetric(rate, Duration::from_micros(delay)), &paced());
        stage.answer = Answer::Bytes(1);
        find_rate(&mut stage, 0, 1);
        for _ in 0..20 {
            stage.round_trip(0, 1, 50_000);
        }
        stage.take_seen();
        stage.round_trip(0, 1, 50_000);
        let data: Vec<_> = stage
            .take_seen()
            .into_iter()
            .filter(|seen| seen.place == Place::Downlink && seen.kind() == PacketType::Data && seen.to == 1)
            .collect();
        assert!(data.iter().map(|seen| seen.len).sum::<usize>() == 50_000);
        let idle = data.windows(2).map(|pair| pair[1].at.saturating_since(pair[0].until)).max().expect("packets");
        let packet = alone(1_416, rate);
        let unscheduled = stage.world.endpoint(0).peer_view(stage.world.address(1)).expect("a peer").unscheduled_limit;
        assert!(idle < packet, "{rate} bit/s, {delay} µs: idle for {idle:?}; {unscheduled} bytes unscheduled");
    }
}

#[test]
fn short_message_overtakes_a_long_one_at_the_sender() {
    let mut stage = Stage::new(3, LinkSpec::symmetric(GIGABIT, Duration::from_micros(5)), &paced());
    stage.answer = Answer::Bytes(1);
    for _ in 0..5 {
        stage.round_trip(0, 1, 100_000);
        stage.round_trip(0, 2, 20_000);
    }
    let undisturbed = stage.round_trip(0, 2, 20_000);
    stage.call(0, 1, 10_000_000);
    stage.run_for(Duration::from_millis(5));
    let overtaking = stage.round_trip(0, 2, 20_000);
    assert!(overtaking < 3 * undisturbed, "{overtaking:?} instead of {undisturbed:?}");
    let ended = stage.outcomes.len();
    stage.run_until_ended(ended + 1, Duration::from_secs(1));
}

#[test]
fn short_message_overtakes_long_ones_at_the_receiver() {
    let mut stage = Stage::new(7, LinkSpec::symmetric(GIGABIT, Duration::from_micros(5)), &paced());
    stage.answer = Answer::Bytes(1);
    for len in [100, 1_000, 100_000, 100_000] {
        stage.round_trip(6, 0, len);
    }
    let undisturbed = stage.round_trip(6, 0, 100_000);
    for sender in 1..6 {
        stage.call(sender, 0, 5_000_000);
    }
    stage.run_for(Duration::from_millis(20));
    let before = stage.outcomes.len();
    let overtaking = stage.round_trip(6, 0, 100_000);
    assert_eq!(stage.outcomes.len(), before + 1, "none of the long ones was done before");
    assert!(overtaking < 3 * undisturbed, "{overtaking:?} instead of {undisturbed:?}");
    stage.run_until_ended(before + 6, Duration::from_secs(2));
}

#[test]
fn every_number_of_priorities() {
    for priorities in 1..=8 {
        let config = Config { priorities, ..paced() };
        let mut stage = Stage::new(5, LinkSpec::symmetric(GIGABIT, Duration::from_micros(5)), &config);
        for _ in 0..20 {
            for client in 1..5 {
                for len in [10, 1_000, 8_000, 30_000, 300_000] {
                    stage.call(client, 0, len);
                }
            }
            stage.run_until_ended(stage.outcomes.len() + 20, Duration::from_secs(1));
        }
        assert!(stage.outcomes.iter().all(|outcome| outcome.result.is_ok()));
        let seen = stage.take_seen();
        let mut used: Vec<u8> = seen.iter().map(|seen| seen.priority).collect();
        used.sort_unstable();
        used.dedup();
        assert!(used.iter().all(|level| (8 - priorities..8).contains(level)), "{priorities}: {used:?}");
        assert!(used.len() >= usize::from(priorities).min(4), "{priorities}: {used:?}");
        stage.run_for(Duration::from_secs(10));
        stage.assert_idle();
    }
}

/// Shorter messages get higher priorities, once the receiver has seen what sizes there are.
#[test]
fn unscheduled_priorities_follow_the_sizes() {
    let mut stage = Stage::new(2, LinkSpec::symmetric(10 * GIGABIT, Duration::from_micros(5)), &paced());
    stage.answer = Answer::Bytes(1);
    let lens = [50, 500, 5_000, 20_000];
    for _ in 0..2_000 {
        for len in lens {
            stage.round_trip(0, 1, len);
        }
    }
    stage.take_seen();
    let mut levels = Vec::new();
    for len in lens {
        stage.round_trip(0, 1, len);
        let first = stage.take_seen().into_iter().find(|seen| seen.kind() == PacketType::Data);
        levels.push(first.expect("a request").priority);
    }
    assert!(levels.is_sorted_by(|a, b| a >= b) && levels[0] > levels[3], "{levels:?}");
}
