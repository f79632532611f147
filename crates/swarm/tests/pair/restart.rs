//! Servers that die and come back.

use crate::stage::Stage;
use homarus_proto::{Config, RpcError, Unreachable};
use homarus_swarm::net::LinkSpec;
use std::collections::HashSet;
use std::time::Duration;

fn busy_stage() -> Stage {
    let mut stage = Stage::new(2, LinkSpec::symmetric(1_000_000_000, Duration::from_micros(10)), &Config::default());
    stage.round_trip(0, 1, 1_000);
    for number in 0..100 {
        stage.call(0, 1, if number % 4 == 0 { 100_000 } else { 1_000 });
    }
    stage.run_for(Duration::from_millis(2));
    assert!((2..101).contains(&stage.outcomes.len()), "it happens in mid-load: {}", stage.outcomes.len());
    stage
}

#[test]
fn server_restarts_in_mid_load() {
    let mut stage = busy_stage();
    let first_life: HashSet<u64> = stage.executed.iter().map(|(_, id)| *id).collect();
    stage.executed.clear();
    stage.world.restart(1, 99);
    stage.run_until_ended(101, Duration::from_secs(10));
    let mut lost = 0;
    for outcome in &stage.outcomes {
        match &outcome.result {
            Ok(_) => {}
            Err(RpcError::ServerRestarted) => lost += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(lost < 60, "{lost} requests lost");
    let second_life: HashSet<u64> = stage.executed.iter().map(|(_, id)| *id).collect();
    assert_eq!(second_life.len(), stage.executed.len(), "executed at most once in each life");
    assert!(!second_life.is_empty() && !first_life.is_empty());
    stage.run_for(Duration::from_secs(10));
    stage.assert_idle();
}

#[test]
fn server_is_away_for_a_second() {
    let mut stage = busy_stage();
    stage.world.kill(1, false);
    stage.run_for(Duration::from_secs(1));
    stage.world.restart(1, 99);
    stage.run_until_ended(101, Duration::from_secs(10));
    stage.round_trip(0, 1, 1_000);
    stage.run_for(Duration::from_secs(10));
    stage.assert_idle();
}

#[test]
fn server_dies_and_its_host_says_so() {
    let mut stage = busy_stage();
    let before = stage.outcomes.len();
    stage.world.kill(1, true);
    stage.run_until_ended(101, Duration::from_millis(50));
    for outcome in &stage.outcomes[before..] {
        assert_eq!(outcome.result, Err(RpcError::Unreachable(Unreachable::Port)), "{outcome:?}");
    }
}

#[test]
fn client_restarts_in_mid_load() {
    let mut stage = busy_stage();
    stage.outcomes.clear();
    stage.world.restart(0, 99);
    let took = stage.round_trip(0, 1, 1_000);
    assert!(took < Duration::from_millis(50), "{took:?}");
    stage.run_for(Duration::from_secs(20));
    assert_eq!(stage.outcomes.len(), 1);
    stage.assert_idle();
}

#[test]
fn clocks_that_jump_harm_nothing() {
    let mut stage = busy_stage();
    for nanos in [5_000_000_000, -3_000_000_000, 1_000_000, -1_000_000] {
        stage.world.jump_clock(1, nanos);
        stage.run_for(Duration::from_micros(300));
    }
    stage.run_until_ended(101, Duration::from_secs(10));
    assert!(stage.outcomes.iter().all(|outcome| outcome.result.is_ok()));
}
