//! Linux asks, the endpoint answers.

use crate::script::{FULL, Script, THEIR_ID, cuts, data, grant, host, packet, resend};
use homarus_interop::kernel::wire::{Body, Data, Kind};
use std::time::Duration;

#[test]
fn an_ack_without_acks_frees_its_own_rpc() {
    let mut script = Script::new();
    script.is_called(THEIR_ID, 100);
    script.responds(100);
    script.sends();
    assert_eq!(script.held(), (0, 1));
    script.gets(THEIR_ID, Body::Ack(Vec::new())).expect("taken");
    assert_eq!(script.held(), (0, 0));
}

#[test]
fn acks_in_a_packet_and_riding_free_their_rpcs() {
    let mut script = Script::new();
    let id = |number: u64| THEIR_ID + 2 * number;
    for number in 0..8 {
        script.is_called(id(number), 10);
        script.responds(10);
    }
    script.sends();
    script.gets(id(5), Body::Ack((0..5).map(|number| (id(number), 33_000)).collect())).expect("taken");
    assert_eq!(script.held(), (0, 2));
    for number in 6..8 {
        let Body::Data(part) = data(10, 0, 10) else { unreachable!("made as DATA") };
        let riding = Body::Data(Data { ack: (id(number), 33_000), ..part });
        script.gets(id(number + 10), riding).expect("taken");
    }
    assert_eq!(script.held(), (0, 2), "two ended, two begun");
}

#[test]
fn acks_that_segments_repeat_do_no_harm() {
    let mut script = Script::new();
    script.is_called(THEIR_ID, 10);
    script.responds(10);
    script.sends();
    let next = THEIR_ID + 2;
    for (start, end) in cuts(10_000) {
        let Body::Data(part) = data(10_000, start, end) else { unreachable!("made as DATA") };
        let body = Body::Data(Data { ack: (THEIR_ID, 33_000), ..part });
        script.gets(next, body).expect("taken");
    }
    assert_eq!(script.requests.len(), 1);
    assert_eq!(script.held(), (0, 1), "the first is free");
}

#[test]
fn unknown_frees_a_response() {
    let mut script = Script::new();
    script.is_called(THEIR_ID, 10);
    script.responds(10);
    script.sends();
    script.gets(THEIR_ID, Body::Unknown).expect("taken");
    assert_eq!(script.held(), (0, 0));
    assert!(script.waits(Duration::from_secs(5)).is_empty());
}

#[test]
fn busy_to_each_resend_until_there_is_a_response() {
    let mut script = Script::new();
    script.is_called(THEIR_ID, 10);
    for _ in 0..50 {
        script.now += Duration::from_millis(5);
        script.gets(THEIR_ID, resend(0, -1)).expect("taken");
        assert_eq!(script.says(), [Body::Busy]);
    }
    script.responds(10);
    assert_eq!(script.sends()[0].packet.kind(), Kind::Data);
}

#[test]
fn busy_also_while_the_request_is_incomplete() {
    let mut script = Script::new();
    script.gets(THEIR_ID, data(10_000, 0, FULL)).expect("taken");
    script.sends();
    script.gets(THEIR_ID, resend(0, -1)).expect("taken");
    assert!(script.says().contains(&Body::Busy), "else Linux gives up after 100 ms");
}

#[test]
fn unknown_answers_resend_alone() {
    let mut script = Script::new();
    for body in [grant(100), Body::Busy, Body::Unknown, Body::Freeze, Body::Ack(Vec::new())] {
        let _ = script.gets(THEIR_ID, body);
        script.sends_nothing();
    }
    let _ = script.gets(THEIR_ID, resend(0, -1));
    let sent = script.sends();
    assert_eq!((sent.len(), sent[0].packet.sender_id), (1, THEIR_ID | 1));
    assert_eq!(sent[0].packet.body, Body::Unknown);
}

#[test]
fn need_ack_comes_after_a_few_milliseconds() {
    let mut script = Script::new();
    script.is_called(THEIR_ID, 10);
    script.responds(10);
    script.sends();
    assert!(script.waits(Duration::from_millis(2)).is_empty(), "not before 3 ms");
    let sent = script.waits(Duration::from_millis(8));
    assert_eq!(sent[0].packet.body, Body::NeedAck);
    assert_eq!((sent[0].packet.sender_id, sent[0].packet.dport, sent[0].priority), (THEIR_ID | 1, 4_000, 7));
}

#[test]
fn a_wrong_version_is_answered_by_cutoffs_once_a_millisecond() {
    let mut script = Script::new();
    let mut told = 0;
    for number in 0..30 {
        let Body::Data(part) = data(10, 0, 10) else { unreachable!("made as DATA") };
        script.gets(THEIR_ID + 2 * number, Body::Data(Data { cutoff_version: 0, ..part })).expect("taken");
        for body in script.says() {
            let Body::Cutoffs { cutoffs, version } = body else { continue };
            assert!(version > 0 && cutoffs.iter().all(|cutoff| i32::try_from(*cutoff).is_ok()));
            told += 1;
        }
        script.now += Duration::from_micros(100);
    }
    assert_eq!(told, 3, "in 3 ms");
}

#[test]
fn a_message_that_is_wholly_unscheduled_is_taken() {
    let mut script = Script::new();
    let length = 1_000_000;
    let all = homarus_interop::net::contents(0, length);
    for start in (0..length).step_by(FULL as usize) {
        let end = (start + FULL).min(length);
        let part = Data {
            message_length: length,
            incoming: length,
            ack: (0, 0),
            cutoff_version: 1,
            retransmit: false,
            pad: [0; 3],
            segment_offset: Some(start),
            contents: all[start as usize..end as usize].to_vec(),
        };
        script.gets(THEIR_ID, Body::Data(part)).expect("taken");
    }
    assert_eq!(script.requests[0].1.as_slice(), all);
    assert!(script.says().iter().all(|body| matches!(body, Body::Grant { .. })));
}

#[test]
fn no_grant_goes_beyond_the_message_or_linuxs_limit() {
    let mut script = Script::new();
    let length = 100_000;
    let mut granted = 40_000;
    for (number, (start, end)) in cuts(length).into_iter().enumerate() {
        assert!(start < granted, "at {start} without a grant");
        script.gets(THEIR_ID, data(length, start, end)).expect("taken");
        for body in script.says() {
            let Body::Grant { offset, priority } = body else { panic!("after packet {number}: {body:?}") };
            assert!(offset <= length && priority <= 7 && offset <= end + 400_000);
            granted = granted.max(offset);
        }
    }
    assert_eq!(script.requests.len(), 1);
}

#[test]
fn a_late_copy_of_a_request_is_not_executed_again() {
    let mut script = Script::new();
    script.is_called(THEIR_ID, 10);
    script.responds(10);
    script.sends();
    script.gets(THEIR_ID, Body::Ack(Vec::new())).expect("taken");
    for retransmit in [false, true] {
        let Body::Data(part) = data(10, 0, 10) else { unreachable!("made as DATA") };
        assert!(script.gets(THEIR_ID, Body::Data(Data { retransmit, ..part })).is_err());
    }
    assert_eq!((script.requests.len(), script.held()), (0, (0, 0)));
    script.sends_nothing();
}

#[test]
fn the_response_goes_to_the_port_that_asked() {
    let mut script = Script::new();
    let mut asked = packet(THEIR_ID, data(10, 0, 10));
    asked.sport = 40_001;
    let mut from = host();
    from.set_port(40_001);
    script.gets_packet(from, &asked).expect("taken");
    script.responds(10);
    let sent = script.sends();
    assert_eq!((sent[0].packet.sport, sent[0].packet.dport), (33_000, 40_001));
}
