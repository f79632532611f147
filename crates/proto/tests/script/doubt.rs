//! What is believed, and how often: UNKNOWN, NEED_ACK, contradictions, messages that are too long.

use crate::script::{PEER_ID, Script, contents, data, linux_like};
use homarus_proto::wire::{Data, ExtensionBits, Header, Packet};
use homarus_proto::{Config, Discard, RpcError};
use std::time::Duration;

/// Copies of UNKNOWN, and UNKNOWN out of the blue, must not make a flood of the request.
#[test]
fn unknown_that_was_not_asked_for_changes_nothing() {
    let mut script = Script::new(linux_like());
    let id = script.calls(contents(3_000));
    script.sends_all();
    for _ in 0..10 {
        assert!(script.gets(id | 1, Packet::Unknown).is_err());
        script.sends_nothing();
    }
    script.waits(Duration::from_millis(20));
    script.gets(id | 1, Packet::Unknown).expect("taken");
    assert_eq!(script.sends_all().len(), 3, "it starts over once");
    let _ = script.gets(id | 1, Packet::Unknown);
    script.sends_nothing();
}

/// Its host slept for longer than a server remembers: it must not ask for a second execution.
#[test]
fn late_copies_of_one_unknown_do_not_end_a_request() {
    let mut script = Script::new(linux_like());
    let id = script.calls(contents(100));
    script.sends_all();
    script.gets(id | 1, Packet::Busy).expect("taken");
    while script.waits(Duration::from_millis(10)).is_empty() {}
    assert!(script.gets(id | 1, Packet::Unknown).is_ok(), "an answer to a question");
    for _ in 0..9 {
        assert_eq!(script.gets(id | 1, Packet::Unknown), Err(Discard::Duplicate));
    }
    script.gets_data(id | 1, &contents(5), 0..5).expect("taken");
    assert_eq!(script.outcome(id), Ok(contents(5).into()));
}

#[test]
fn who_was_stopped_does_not_start_over() {
    let mut script = Script::new(linux_like());
    let id = script.calls(contents(100));
    script.sends_all();
    script.now += Config::default().dead_after;
    let asked = script.waits(Duration::from_millis(1));
    assert!(!asked.is_empty(), "it asks before it gives up");
    script.gets(id | 1, Packet::Unknown).expect("taken");
    assert_eq!(script.outcome(id), Err(RpcError::ServerRestarted));
}

#[test]
fn need_ack_of_a_response_that_is_missing_is_answered_by_busy_and_ends_the_back_off_once() {
    let mut script = Script::new(linux_like());
    let id = script.calls(contents(100));
    script.sends_all();
    for _ in 0..10 {
        script.waits(Duration::from_millis(200));
        script.gets(id | 1, Packet::Busy).expect("taken");
    }
    let mut asked = Vec::new();
    for _ in 0..10 {
        script.gets(id | 1, Packet::NeedAck).expect("taken");
        assert_eq!(script.sends().header.packet, Packet::Busy);
        let sent = script.waits(Duration::from_millis(50));
        asked.push(sent.iter().filter(|(_, sent)| matches!(sent.header.packet, Packet::Resend { .. })).count());
    }
    assert!(asked[0] > 0, "the response is asked for soon: {asked:?}");
    assert!(asked[5..].iter().sum::<usize>() < 5, "but not again and again: {asked:?}");
}

/// A peer that does not know the extensions would take UNKNOWN as a call to send everything again.
#[test]
fn a_request_that_is_too_long_is_refused_with_the_reason_or_not_at_all() {
    let config = Config { max_message_len: 1_000, ..linux_like() };
    let message = contents(1_001);
    let mut script = Script::new(config);
    assert!(script.gets_data(PEER_ID, &message, 0..1_001).is_err());
    script.sends_nothing();
    let fields = Data { pad: ExtensionBits([ExtensionBits::HOMARUS, 0, 0]), ..data(1_001, 0) };
    assert!(script.gets_with(PEER_ID, Packet::Data(fields), &message).is_err());
    let refusal = script.sends().header;
    assert_eq!((refusal.packet, refusal.sequence), (Packet::Unknown, Header::TOO_LONG));
    script.sends_nothing();
}

/// If all that comes contradicts the first packet, it was the first that was forged.
#[test]
fn a_message_begun_with_a_forged_packet_heals() {
    let mut script = Script::new(linux_like());
    script.gets_data(PEER_ID, &contents(9_000), 0..1_000).expect("taken");
    let message = contents(3_000);
    let mut discarded = 0;
    for _ in 0..3 {
        for start in (0..3_000).step_by(1_000) {
            discarded += usize::from(script.gets_data(PEER_ID, &message, start..start + 1_000).is_err());
        }
    }
    assert!((3..9).contains(&discarded), "{discarded} packets were not believed");
    assert_eq!(script.requests[0].1.as_slice(), message);
}
