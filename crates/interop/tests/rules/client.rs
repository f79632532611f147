//! The endpoint asks, Linux answers.

use crate::script::{FULL, Script, cutoffs, cuts, data, grant, packet, resend, second_address};
use homarus_interop::kernel::wire::{Body, Kind};
use std::time::Duration;

#[test]
fn before_any_cutoffs_all_travels_at_priority_6_with_version_0() {
    for length in [1, 200, 2_800, 15_000, 40_000] {
        let mut script = Script::new();
        script.calls(length);
        for sent in script.sends() {
            assert_eq!((sent.priority, sent.data().0.cutoff_version), (6, 0), "{length} bytes");
        }
    }
}

#[test]
fn unscheduled_priorities_follow_linuxs_cutoffs() {
    let expected = [(1, 7), (200, 7), (201, 6), (2_800, 6), (2_801, 5), (15_000, 5), (15_001, 4), (1_000_000, 4)];
    for (length, priority) in expected {
        let mut script = Script::new();
        let first = script.calls(1);
        script.sends();
        script.gets(first | 1, cutoffs()).expect("taken");
        script.calls(length);
        for sent in script.sends() {
            assert_eq!((sent.priority, sent.data().0.cutoff_version), (priority, 1), "{length} bytes");
        }
    }
}

/// A message that was given before the cutoffs came, and leaves afterwards, goes by them.
#[test]
fn the_version_is_that_of_the_cutoffs_that_chose_the_priority() {
    let mut script = Script::new();
    let first = script.calls(100);
    script.calls(20_000);
    script.endpoint.poll_transmit(script.now).expect("the short request");
    script.gets(first | 1, cutoffs()).expect("taken");
    let sent = script.sends();
    assert_eq!(sent.len(), 15);
    for sent in sent {
        assert_eq!((sent.priority, sent.data().0.cutoff_version), (4, 1));
    }
}

#[test]
fn bursts_of_cutoffs_are_one() {
    let mut script = Script::new();
    let id = script.calls(1);
    script.sends();
    for _ in 0..20 {
        script.gets(id | 1, cutoffs()).expect("taken");
    }
    script.sends_nothing();
    script.calls(300);
    assert_eq!(script.sends()[0].priority, 6);
}

#[test]
fn a_boundary_lies_at_the_unscheduled_limit() {
    let mut script = Script::new();
    let id = script.calls(100_000);
    let sent = script.sends();
    assert_eq!(sent.last().expect("packets").data().1, 39_872..40_000);
    assert!(sent.iter().all(|sent| sent.data().0.incoming == 40_000));
    script.gets(id | 1, grant(100_000)).expect("taken");
    let sent = script.sends();
    assert_eq!(sent[0].data().1, 40_000..41_424);
    assert_eq!(sent.last().expect("packets").data().1, 99_808..100_000);
    assert!(sent.iter().all(|sent| sent.data().0.incoming == 40_000 && sent.priority == 0), "later ones too");
}

#[test]
fn duplicate_grants_are_harmless() {
    let mut script = Script::new();
    let id = script.calls(100_000);
    script.sends();
    let mut sent = Vec::new();
    for offset in [100_000, 100_000, 60_000, 100_000, 40_000] {
        script.gets(id | 1, grant(offset)).expect("taken");
        sent.extend(script.sends().iter().map(|sent| sent.data().1.clone()));
    }
    let all: Vec<_> = cuts(100_000).into_iter().filter(|cut| cut.0 >= 40_000).map(|cut| cut.0..cut.1).collect();
    assert_eq!(sent, all);
}

#[test]
fn fifo_grants_at_priority_6() {
    let mut script = Script::new();
    let id = script.calls(200_000);
    script.sends();
    script.gets(id | 1, Body::Grant { offset: 90_000, priority: 6 }).expect("taken");
    let sent = script.sends();
    assert!(sent.iter().all(|sent| sent.priority == 6));
    let end = sent.last().expect("packets").data().1.end;
    assert!((90_000..90_000 + FULL).contains(&end), "up to the packet that holds the last granted byte: {end}");
}

#[test]
fn a_server_answers_from_another_address() {
    let mut script = Script::new();
    let id = script.calls(100_000);
    script.sends();
    let other = second_address();
    script.gets_packet(other, &packet(id | 1, Body::Busy)).expect("taken");
    script.gets_packet(other, &packet(id | 1, grant(100_000))).expect("taken");
    assert!(!script.sends().is_empty(), "the grant counts");
    script.now += Duration::from_secs(1);
    script.gets_packet(other, &packet(id | 1, resend(0, 1_000))).expect("taken");
    assert!(script.sends()[0].data().0.retransmit);
    script.gets_packet(other, &packet(id | 1, data(100, 0, 100))).expect("taken");
    assert!(matches!(script.outcomes.pop_front(), Some(Ok(_))));
    script.gets_packet(other, &packet(id | 1, Body::NeedAck)).err();
    // Three of them hold as many bytes as the answer; strangers get no more.
    for _ in 0..3 {
        script.gets_packet(other, &packet(id | 1, Body::NeedAck)).err();
    }
    assert!(script.sends().iter().any(|sent| sent.packet.kind() == Kind::Ack && sent.packet.sender_id == id));
}

#[test]
fn acks_ride_newest_first_one_in_a_packet() {
    let mut script = Script::new();
    let ids: Vec<u64> = (0..3).map(|_| script.calls(10)).collect();
    script.sends();
    for id in &ids {
        script.gets(id | 1, data(10, 0, 10)).expect("taken");
    }
    script.sends_nothing();
    script.calls(3_000);
    let riding: Vec<_> = script.sends().iter().map(|sent| sent.data().0.ack).collect();
    assert_eq!(riding, [(ids[2], 4_000), (ids[1], 4_000), (ids[0], 4_000)]);
    script.calls(10);
    assert_eq!(script.sends()[0].data().0.ack, (0, 0));
}

#[test]
fn a_sixth_ack_makes_a_packet_of_five_and_its_own() {
    let mut script = Script::new();
    let ids: Vec<u64> = (0..6).map(|_| script.calls(10)).collect();
    script.sends();
    for id in &ids {
        script.gets(id | 1, data(10, 0, 10)).expect("taken");
    }
    let sent = script.sends();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].packet.sender_id, ids[5]);
    assert_eq!(sent[0].packet.body, Body::Ack(ids[..5].iter().map(|id| (*id, 4_000)).collect()));
    assert_eq!(sent[0].bytes.len(), 80, "always");
}

#[test]
fn need_ack_is_answered_as_long_as_it_comes() {
    let mut script = Script::new();
    let id = script.calls(10);
    script.sends();
    script.gets(id | 1, data(10, 0, 10)).expect("taken");
    for tick in 0..10_000 {
        let _ = script.gets(id | 1, Body::NeedAck);
        script.now += Duration::from_millis(1);
        if tick % 3 == 2 {
            // Never more bytes than came: one answer in three at least.
            let sent = script.says();
            assert!(!sent.is_empty() && sent.iter().all(|body| matches!(body, Body::Ack(_))), "tick {tick}: {sent:?}");
        }
    }
    assert_eq!(script.held(), (0, 0));
}

#[test]
fn need_ack_of_an_incomplete_response_is_answered_and_the_rest_asked_for() {
    let mut script = Script::new();
    let id = script.calls(10);
    script.sends();
    script.gets(id | 1, data(10_000, 0, FULL)).expect("taken");
    script.gets(id | 1, Body::NeedAck).expect("taken");
    assert_eq!(script.says(), [Body::Busy]);
    let sent = script.waits(Duration::from_millis(10));
    let asks = |sent: &crate::script::Sent| sent.packet.body == resend(1_424, 8_576);
    assert!(sent.iter().any(asks), "{sent:?}");
}

#[test]
fn busy_keeps_a_request_alive() {
    let mut script = Script::new();
    let id = script.calls(10);
    script.sends();
    for _ in 0..200 {
        let asked = script.waits(Duration::from_millis(100));
        if asked.iter().any(|sent| sent.packet.body == resend(0, -1)) {
            script.gets(id | 1, Body::Busy).expect("taken");
        }
    }
    assert!(script.outcomes.is_empty(), "it was given up: {:?}", script.outcomes);
}

#[test]
fn unknown_begins_the_request_anew() {
    let mut script = Script::new();
    let id = script.calls(10_000);
    let first: Vec<_> = script.sends().iter().map(|sent| sent.data().1.clone()).collect();
    script.waits(Duration::from_millis(20));
    script.gets(id | 1, Body::Unknown).expect("taken");
    let again = script.sends();
    assert_eq!(again.iter().map(|sent| sent.data().1.clone()).collect::<Vec<_>>(), first);
    for sent in &again {
        let (data, range) = sent.data();
        assert!(data.retransmit && data.segment_offset == Some(range.start) && data.incoming == 10_000);
        assert_eq!(sent.priority, 6, "the unscheduled priority");
    }
}

#[test]
fn what_begins_anew_with_grants_names_the_end_of_what_is_sent() {
    let mut script = Script::new();
    let id = script.calls(100_000);
    script.sends();
    script.waits(Duration::from_millis(20));
    script.gets(id | 1, Body::Unknown).expect("taken");
    script.sends();
    for granted in [40_000 + 10 * FULL, 100_000] {
        script.gets(id | 1, grant(granted)).expect("taken");
        let again = script.sends();
        assert_eq!(again.last().expect("packets").data().1.end, granted);
        for sent in &again {
            let data = sent.data().0;
            assert_eq!((data.retransmit, data.incoming), (true, granted));
        }
    }
}

#[test]
fn packets_about_requests_that_have_ended_change_nothing() {
    let mut script = Script::new();
    let id = script.calls(100_000);
    script.sends();
    script.gets(id | 1, data(10, 0, 10)).expect("taken");
    script.outcomes.clear();
    for body in [grant(100_000), Body::Busy, Body::Unknown, data(10, 0, 10)] {
        assert!(script.gets(id | 1, body).is_err());
    }
    script.sends_nothing();
    assert!(script.outcomes.is_empty());
    assert!(script.gets(id | 1, resend(0, 10)).is_err());
    assert_eq!(script.says(), [Body::Unknown], "only a RESEND is answered");
}
