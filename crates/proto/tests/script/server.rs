//! What a server sends.

use crate::script::{FULL, PEER_ID, Script, contents, data, linux_like};
use homarus_proto::wire::{Ack, Data, ExtensionBits, NO_SEGMENT_OFFSET, Packet};
use homarus_proto::{Config, Discard, SendError};
use std::time::Duration;

#[test]
fn a_request_and_its_response() {
    let mut script = Script::new(linux_like());
    script.gets_data(PEER_ID, &contents(100), 0..100).expect("taken");
    assert_eq!(script.requests[0].1.as_slice(), contents(100));
    script.sends_nothing();
    script.responds(contents(3_000));
    let sent = script.sends_all();
    assert_eq!(sent.iter().map(|sent| sent.range()).collect::<Vec<_>>(), [0..1_424, 1_424..2_848, 2_848..3_000]);
    assert!(sent.iter().all(|sent| sent.header.sender_id == PEER_ID | 1));

    let asked = script.waits(Duration::from_millis(20));
    let first = asked[0].0;
    assert!(asked.iter().all(|(_, sent)| sent.header.packet == Packet::NeedAck), "{asked:?}");
    assert!(first.as_nanos() >= 1_003_000_000, "Linux asks after 3 to 5 ms");
    script.gets(PEER_ID, Packet::Ack { count: 0, acks: Default::default() }).expect("taken");
    assert_eq!(script.endpoint.view().server_rpcs, 0, "the ACK's own id counts");
    assert!(script.waits(Duration::from_secs(100)).is_empty());
}

#[test]
fn acks_of_every_kind_free_responses() {
    let mut script = Script::new(linux_like());
    for number in 0..8 {
        script.gets_data(PEER_ID + 2 * number, &contents(10), 0..10).expect("taken");
        script.responds(contents(10));
    }
    script.sends_all();
    let ack = |number: u64| Ack { client_id: PEER_ID + 2 * number, server_port: 4_000 };
    let acks = [ack(1), ack(2), ack(3), ack(4), ack(5)];
    script.gets(PEER_ID, Packet::Ack { count: 4, acks }).expect("taken");
    assert_eq!(script.endpoint.view().server_rpcs, 3, "the fifth does not count");
    let riding = Data { ack: ack(5), ..data(10, 0) };
    script.gets_with(PEER_ID + 100, Packet::Data(riding), &contents(10)).expect("taken");
    assert_eq!(script.endpoint.view().server_rpcs, 3, "one ended, one begun");
    script.gets(PEER_ID + 12, Packet::Unknown).expect("taken");
    assert_eq!(script.endpoint.view().server_rpcs, 2, "a client that forgot the RPC needs no response");
}

#[test]
fn a_request_is_executed_once() {
    let mut script = Script::new(linux_like());
    for _ in 0..3 {
        let _ = script.gets_data(PEER_ID, &contents(100), 0..100);
    }
    assert_eq!(script.requests.len(), 1);
    script.responds(contents(10));
    script.sends_all();
    assert_eq!(script.gets_data(PEER_ID, &contents(100), 0..100), Err(Discard::Duplicate));
    script.gets(PEER_ID, Packet::Ack { count: 0, acks: Default::default() }).expect("taken");
    for _ in 0..3 {
        let _ = script.gets_data(PEER_ID, &contents(100), 0..100);
    }
    assert!(script.requests.is_empty(), "executed again after its ack");
    assert_eq!(script.endpoint.view().server_rpcs, 0);
}

#[test]
fn parts_come_in_any_order_and_form() {
    let mut script = Script::new(linux_like());
    let message = contents(5_000);
    let parts = [4_272..5_000, 1_424..2_848, 0..1_424, 2_848..4_272];
    for (index, part) in parts.into_iter().enumerate() {
        // Both places where an offset may stand.
        let explicit = Data { segment_offset: part.start as u32, ..data(5_000, 0) };
        let mut header = homarus_proto::wire::Header::new(4_000, 4_000, PEER_ID, Packet::Data(explicit));
        if index % 2 == 0 {
            header.sequence = part.start as u32;
            header.packet = Packet::Data(Data { segment_offset: NO_SEGMENT_OFFSET, ..explicit });
        } else {
            header.sequence = 0x5555;
        }
        let bytes = crate::script::emit(&header, &message[part]);
        script.gets_bytes(crate::script::peer(), &bytes).expect("taken");
    }
    assert_eq!(script.requests[0].1.as_slice(), message);
}

#[test]
fn a_gap_is_asked_for() {
    let mut script = Script::new(linux_like());
    let message = contents(10_000);
    script.gets_data(PEER_ID, &message, 0..1_424).expect("taken");
    script.gets_data(PEER_ID, &message, 4_272..10_000).expect("taken");
    let sent = script.waits(Duration::from_millis(4));
    let resend = |offset, length| Packet::Resend { offset, length, priority: 7 };
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0].1.header.packet, resend(1_424, 2_848));
    assert_eq!(sent[0].1.header.sender_id, PEER_ID | 1);
    script.gets_data(PEER_ID, &message, 1_424..4_272).expect("taken");
    assert_eq!(script.requests[0].1.as_slice(), message);
}

#[test]
fn a_long_request_is_granted() {
    let mut script = Script::new(linux_like());
    let message = contents(1_000_000);
    let fields = |offset| Packet::Data(Data { incoming: 40_000, ..data(1_000_000, offset) });
    let mut granted = 40_000;
    let mut at = 0;
    while at < message.len() {
        assert!(at < granted, "{at} of {granted} granted bytes have been sent");
        let end = (at + FULL as usize).min(if at < 40_000 { 40_000 } else { message.len() });
        script.gets_with(PEER_ID, fields(at), &message[at..end]).expect("taken");
        at = end;
        for sent in script.sends_all() {
            let Packet::Grant { offset, .. } = sent.header.packet else { panic!("{sent:?}") };
            assert!(offset as usize > granted, "a grant that grants nothing");
            assert!(offset as usize <= at + 400_000, "more than may be under way");
            granted = offset as usize;
        }
    }
    assert_eq!(script.requests[0].1.as_slice(), message);
}

#[test]
fn a_response_to_a_marked_request_starts_small() {
    let mut script = Script::new(linux_like());
    let marked = Data { pad: ExtensionBits([ExtensionBits::INCAST, 0, 0]), ..data(10, 0) };
    script.gets_with(PEER_ID, Packet::Data(marked), &contents(10)).expect("taken");
    script.responds(contents(50_000));
    let sent = script.sends();
    assert_eq!((sent.range(), sent.data().incoming), (0..400, 400));
    script.sends_nothing();
    script.gets(PEER_ID, Packet::Grant { offset: 50_000, priority: 0 }).expect("taken");
    assert_eq!(script.sends_all().last().expect("packets").range().end, 50_000);
}

#[test]
fn busy_until_the_application_has_answered() {
    let mut script = Script::new(linux_like());
    script.gets_data(PEER_ID, &contents(100), 0..100).expect("taken");
    for _ in 0..3 {
        script.gets(PEER_ID, Packet::Resend { offset: 0, length: -1, priority: 7 }).expect("taken");
        assert_eq!(script.sends().header.packet, Packet::Busy);
        script.sends_nothing();
        script.waits(Duration::from_millis(5));
    }
}

/// A peer that knows the reason is told, at once and when it asks. Linux would send all of the request again each time.
#[test]
fn a_rejected_request_is_unknown_and_stays_so() {
    for (config, told_at_once) in [(Config::default(), true), (linux_like(), false)] {
        rejected_request(config, told_at_once);
    }
}

fn rejected_request(config: Config, told_at_once: bool) {
    let mut script = Script::new(config);
    script.gets_data(PEER_ID, &contents(100), 0..100).expect("taken");
    let (rpc, _) = script.requests.pop_front().expect("a request");
    script.endpoint.reject(script.now, rpc);
    if told_at_once {
        assert_eq!(script.sends().header.packet, Packet::Unknown);
    }
    let _ = script.gets(PEER_ID, Packet::Resend { offset: 0, length: -1, priority: 7 });
    let answers: Vec<Packet> = script.sends_all().into_iter().map(|sent| sent.header.packet).collect();
    assert_eq!(answers, if told_at_once { vec![Packet::Unknown] } else { Vec::new() });
    assert!(script.gets_data(PEER_ID, &contents(100), 0..100).is_err());
    assert!(script.requests.is_empty(), "it may have been executed in part");
    assert_eq!(script.endpoint.view().server_rpcs, 0);
}

/// What a client sent may be starved by higher priorities for longer than a dead peer is waited for; its questions are not.
#[test]
fn a_request_that_its_client_asks_about_is_not_given_up() {
    for (asks, kept) in [(true, 1), (false, 0)] {
        let mut script = Script::new(linux_like());
        script.gets_data(PEER_ID, &contents(20_000), 0..1_424).expect("taken");
        for _ in 0..100 {
            if asks {
                script.gets(PEER_ID, Packet::Resend { offset: 0, length: -1, priority: 7 }).expect("taken");
            } else {
                // The peer lives, but says nothing about this request.
                let _ = script.gets(PEER_ID + 2, Packet::Busy);
            }
            script.waits(Duration::from_millis(100));
        }
        assert_eq!(script.endpoint.view().server_rpcs, kept, "asks: {asks}");
    }
}

#[test]
fn the_answer_to_a_client_that_has_gone_is_refused() {
    let mut script = Script::new(linux_like());
    script.gets_data(PEER_ID, &contents(100), 0..100).expect("taken");
    script.gets(PEER_ID, Packet::Ack { count: 0, acks: Default::default() }).expect("taken");
    let (rpc, _) = script.requests.pop_front().expect("a request");
    assert_eq!(script.endpoint.send_response(script.now, rpc, contents(10)), Err(SendError::Gone));
    script.sends_nothing();
}
