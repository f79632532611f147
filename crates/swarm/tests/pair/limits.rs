//! Ends and bounds.

use crate::stage::{Answer, Stage};
use homarus_proto::{CallOptions, Config, Payload, RpcError, SendError};
use homarus_swarm::net::LinkSpec;
use std::time::Duration;

fn link() -> LinkSpec {
    LinkSpec::symmetric(1_000_000_000, Duration::from_micros(10))
}

#[test]
fn message_one_byte_over_the_limit() {
    let config = Config { max_message_len: 50_000, ..Config::default() };
    let mut stage = Stage::new(2, link(), &config);
    let sent = stage.world.call(0, 1, Payload::Phantom(50_001), CallOptions::default());
    assert_eq!(sent, Err(SendError::TooLong { length: 50_001, limit: 50_000 }));
    stage.run_for(Duration::from_secs(10));
    assert!(stage.take_seen().is_empty(), "nothing was sent");
    stage.assert_idle();
    stage.round_trip(0, 1, 50_000);
}

#[test]
fn response_one_byte_over_the_servers_limit() {
    let config = Config { max_message_len: 50_000, ..Config::default() };
    let mut stage = Stage::new(2, link(), &config);
    stage.answer = Answer::Bytes(50_001);
    stage.call(0, 1, 100);
    stage.run_until_ended(1, Duration::from_secs(1));
    assert!(stage.outcomes[0].result.is_err(), "{:?}", stage.outcomes[0]);
    stage.run_for(Duration::from_secs(10));
    stage.assert_idle();
}

#[test]
fn every_small_length() {
    let mut stage = Stage::new(2, link(), &Config::default());
    for len in (0..3).chain(1_380..1_480).chain(2_800..2_900).chain(39_990..40_010) {
        let message: Vec<u8> = (0..len).map(|byte| (byte % 251) as u8).collect();
        stage.call_with(0, 1, message.clone().into());
        stage.run_until_ended(stage.outcomes.len() + 1, Duration::from_secs(1));
        let outcome = stage.outcomes.last().expect("it has ended");
        assert_eq!(outcome.result.as_ref().map(|payload| payload.as_slice()), Ok(&message[..]));
    }
}

#[test]
fn message_of_256_mebibytes() {
    let link = LinkSpec::symmetric(10_000_000_000, Duration::from_micros(5));
    let config = Config { mtu: 9_000, pacing: true, ..Config::default() };
    let mut stage = Stage::new(2, link, &config);
    stage.answer = Answer::Bytes(1);
    stage.world.set_observer(Box::new(|_, _| {}));
    let took = stage.round_trip(0, 1, 256 << 20);
    assert!(took < Duration::from_millis(225), "{took:?} for what takes 217 ms");
}

#[test]
fn client_closes_with_100_rpcs_open() {
    let mut stage = Stage::new(2, link(), &Config::default());
    stage.answer = Answer::Hold;
    for number in 0..100 {
        stage.call(0, 1, if number % 2 == 0 { 100 } else { 500_000 });
    }
    stage.run_for(Duration::from_millis(3));
    stage.world.with(0, |endpoint, now| endpoint.close(now));
    stage.run_for(Duration::from_millis(5));
    assert_eq!(stage.outcomes.len(), 100);
    assert!(stage.outcomes.iter().all(|outcome| outcome.result == Err(RpcError::Closed)));
    let sent = stage.world.call(0, 1, Payload::Phantom(1), CallOptions::default());
    assert_eq!(sent, Err(SendError::Closed));
    for (host, rpc) in std::mem::take(&mut stage.held) {
        assert_eq!(stage.world.respond(host, rpc, Payload::Phantom(10)), Err(SendError::Gone), "the server was told");
    }
    stage.run_for(Duration::from_millis(5));
    stage.assert_idle();
}

#[test]
fn server_closes_with_100_rpcs_open() {
    let mut stage = Stage::new(2, link(), &Config::default());
    stage.answer = Answer::Hold;
    for number in 0..100 {
        stage.call(0, 1, if number % 2 == 0 { 100 } else { 2_000_000 });
    }
    stage.run_for(Duration::from_millis(20));
    let known = stage.world.endpoint(1).view().server_rpcs;
    assert!(known > 50, "some long requests are arriving: {known} in all");
    stage.world.with(1, |endpoint, now| endpoint.close(now));
    stage.run_for(Duration::from_millis(10));
    assert_eq!(stage.outcomes.len(), known, "the client was told");
    for outcome in &stage.outcomes {
        assert_eq!(outcome.result, Err(RpcError::Dropped), "{outcome:?}");
    }
    for (host, rpc) in std::mem::take(&mut stage.held) {
        assert_eq!(stage.world.respond(host, rpc, Payload::Phantom(10)), Err(SendError::Closed));
    }
    stage.run_for(Duration::from_secs(20));
    assert_eq!(stage.outcomes.len(), 100, "what had not begun finds nobody");
    stage.assert_idle();
}

#[test]
fn full_server_pushes_back() {
    let config = Config { max_server_rpcs: 5, ..Config::default() };
    let mut stage = Stage::new(2, link(), &config);
    for _ in 0..100 {
        stage.call(0, 1, 2_000);
    }
    stage.run_until_ended(100, Duration::from_secs(30));
    assert!(stage.outcomes.iter().all(|outcome| outcome.result.is_ok()), "all are served in turn");
    assert_eq!(stage.executed.len(), 100);
    stage.run_for(Duration::from_secs(10));
    stage.assert_idle();
}

#[test]
fn rejected_and_cancelled_requests_leave_nothing() {
    let mut stage = Stage::new(2, link(), &Config::default());
    stage.answer = Answer::Hold;
    let cancelled = stage.call(0, 1, 1_000);
    stage.call(0, 1, 1_000);
    let unfinished = stage.call(0, 1, 1_000_000);
    stage.run_for(Duration::from_millis(1));
    for rpc in [cancelled, unfinished] {
        assert!(stage.world.with(0, |endpoint, now| endpoint.cancel(now, rpc)));
        assert!(!stage.world.with(0, |endpoint, now| endpoint.cancel(now, rpc)));
    }
    stage.run_for(Duration::from_millis(1));
    for (host, rpc) in std::mem::take(&mut stage.held) {
        if rpc.id() == cancelled.as_u64() {
            assert_eq!(stage.world.respond(host, rpc, Payload::Phantom(10)), Err(SendError::Gone));
        } else {
            stage.world.with(host, |endpoint, now| endpoint.reject(now, rpc));
        }
    }
    stage.run_for(Duration::from_millis(20));
    assert_eq!(stage.outcomes.len(), 1);
    assert_eq!(stage.outcomes[0].result, Err(RpcError::Dropped));
    stage.run_for(Duration::from_secs(10));
    stage.assert_idle();
}

#[test]
fn deadlines() {
    let mut stage = Stage::new(2, link(), &Config::default());
    stage.answer = Answer::Hold;
    let options = CallOptions { deadline: Some(Duration::from_millis(50)) };
    stage.world.call(0, 1, Payload::Phantom(100), options).expect("an accepted request");
    let begun = stage.world.now();
    stage.run_until_ended(1, Duration::from_secs(1));
    let after = Duration::from_millis(50);
    assert_eq!(stage.outcomes[0].result, Err(RpcError::Deadline { after }));
    let took = stage.outcomes[0].at.saturating_since(begun);
    assert!(took >= after && took < after + Duration::from_micros(5), "{took:?}");
    for (host, rpc) in std::mem::take(&mut stage.held) {
        let _ = stage.world.respond(host, rpc, Payload::Phantom(10));
    }
    stage.run_for(Duration::from_secs(20));
    assert_eq!(stage.outcomes.len(), 1, "one outcome only");
    stage.assert_idle();
}

/// A server that takes longer than a dead peer would be waited for is not dead.
#[test]
fn slow_server_is_not_dead() {
    let mut stage = Stage::new(2, link(), &Config::default());
    stage.answer = Answer::Hold;
    stage.call(0, 1, 100);
    stage.run_for(Duration::from_secs(20));
    assert!(stage.outcomes.is_empty());
    for (host, rpc) in std::mem::take(&mut stage.held) {
        stage.world.respond(host, rpc, Payload::Phantom(10)).expect("a client that waits");
    }
    stage.run_until_ended(1, Duration::from_secs(1));
    assert!(stage.outcomes[0].result.is_ok());
}

/// Timers of requests that have ended do not pile up until their deadlines.
#[test]
fn timers_do_not_pile_up() {
    let mut stage = Stage::new(2, link(), &Config::default());
    stage.world.set_observer(Box::new(|_, _| {}));
    for _ in 0..20_000 {
        stage.round_trip(0, 1, 100);
    }
    for host in 0..2 {
        let view = stage.world.endpoint(host).view();
        assert!(view.timers < 5_000, "{view:?}");
    }
}
