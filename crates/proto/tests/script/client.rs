//! What a client sends.

use crate::script::{FULL, PEER_ID, Script, contents, linux_like, peer};
use homarus_proto::wire::{Ack, Header, MAX_ACKS, NO_SEGMENT_OFFSET, Packet};
use homarus_proto::{Config, RpcError, Unreachable};
use std::net::SocketAddr;
use std::time::Duration;

/// An RPC from the request to the response, 100 bytes each.
fn exchange(script: &mut Script) -> u64 {
    let id = script.calls(contents(100));
    script.sends();
    script.sends_nothing();
    script.gets_data(id | 1, &contents(100), 0..100).expect("taken");
    script.outcome(id).expect("a response");
    id
}

#[test]
fn a_request_and_its_response() {
    let mut script = Script::new(linux_like());
    let id = script.calls(contents(100));
    let sent = script.sends();
    assert_eq!((sent.to, sent.priority), (peer(), 6), "no cutoffs have been heard yet");
    assert_eq!((sent.header.sender_id, sent.header.sequence), (id, 0));
    assert_eq!((sent.header.source_port, sent.header.dest_port), (4_000, 4_000));
    let data = sent.data();
    assert_eq!((data.message_length, data.incoming, data.cutoff_version, data.retransmit), (100, 100, 0, 0));
    assert_eq!((data.ack, data.segment_offset), (Ack::default(), NO_SEGMENT_OFFSET));
    assert_eq!(sent.payload, contents(100));
    script.sends_nothing();

    script.gets_data(id | 1, &contents(60), 0..60).expect("taken");
    assert_eq!(script.outcome(id).expect("a response").as_slice(), contents(60));
    script.sends_nothing();
    assert_eq!(script.endpoint.view().client_rpcs, 0);
}

#[test]
fn an_ack_rides_on_the_next_request() {
    let mut script = Script::new(linux_like());
    let first = exchange(&mut script);
    script.calls(contents(100));
    assert_eq!(script.sends().data().ack, Ack { client_id: first, server_port: 4_000 });
    script.calls(contents(100));
    assert_eq!(script.sends().data().ack, Ack::default(), "it rides once");
}

#[test]
fn the_sixth_ack_sends_them_all() {
    let mut script = Script::new(linux_like());
    let ids: Vec<u64> = (0..6).map(|_| script.calls(contents(100))).collect();
    assert_eq!(script.sends_all().len(), 6);
    for id in &ids {
        script.gets_data(id | 1, &contents(10), 0..10).expect("taken");
    }
    let sent = script.sends();
    assert_eq!(sent.header.sender_id, ids[5]);
    let Packet::Ack { count, acks } = sent.header.packet else { panic!("{sent:?}") };
    assert_eq!(usize::from(count), MAX_ACKS);
    let acked: Vec<u64> = acks.iter().map(|ack| ack.client_id).collect();
    assert_eq!(acked, ids[..5]);
    script.sends_nothing();
}

#[test]
fn a_long_request_waits_for_grants() {
    let mut script = Script::new(linux_like());
    let message = contents(100_000);
    let id = script.calls(message.clone());
    let unscheduled = script.sends_all();
    assert_eq!(unscheduled.iter().map(|sent| sent.payload.len()).sum::<usize>(), 40_000);
    assert_eq!(unscheduled[27].range(), 38_448..39_872);
    assert_eq!(unscheduled[28].range(), 39_872..40_000, "a boundary at the unscheduled limit");
    assert!(unscheduled.iter().all(|sent| sent.data().incoming == 40_000));

    let grant = |offset| Packet::Grant { offset, priority: 2 };
    script.gets(id | 1, grant(40_001)).expect("taken");
    let sent = script.sends();
    assert_eq!((sent.range(), sent.priority), (40_000..40_000 + FULL, 2), "a granted byte is worth a packet");
    assert_eq!(sent.data().incoming, 40_000);
    script.sends_nothing();
    for _ in 0..3 {
        script.gets(id | 1, grant(41_424)).expect("taken");
        script.sends_nothing();
    }
    script.gets(id | 1, grant(u32::MAX)).expect("taken");
    let scheduled = script.sends_all();
    assert_eq!(scheduled.last().expect("packets").range().end, 100_000, "granted more than there is");
    let whole: Vec<u8> =
        unscheduled.iter().chain([&sent]).chain(&scheduled).flat_map(|sent| sent.payload.clone()).collect();
    assert_eq!(whole, message);
}

#[test]
fn retransmissions_keep_packet_boundaries() {
    let mut script = Script::new(linux_like());
    let id = script.calls(contents(10_000));
    script.sends_all();
    script.waits(Duration::from_millis(1));
    script.gets(id | 1, Packet::Resend { offset: 2_000, length: 1_000, priority: 5 }).expect("taken");
    for start in [FULL, 2 * FULL] {
        let sent = script.sends();
        assert_eq!((sent.range(), sent.priority), (start..start + FULL, 5));
        let data = sent.data();
        assert_eq!((data.retransmit, data.segment_offset), (1, start));
        assert_eq!(data.incoming, 3 * FULL, "the end of what is sent again");
    }
    script.sends_nothing();
}

#[test]
fn what_was_not_sent_yet_is_answered_by_busy() {
    let mut script = Script::new(linux_like());
    let id = script.calls(contents(100_000));
    script.sends_all();
    script.gets(id | 1, Packet::Resend { offset: 40_000, length: 2_000, priority: 5 }).expect("taken");
    assert_eq!(script.sends().header.packet, Packet::Busy);
    assert_eq!(script.sends().range(), 40_000..40_000 + FULL, "it is a grant, too");
}

#[test]
fn unknown_starts_a_request_over() {
    let mut script = Script::new(linux_like());
    let id = script.calls(contents(3_000));
    script.sends_all();
    let asked = script.waits(Duration::from_millis(20));
    assert!(
        !asked.is_empty()
            && asked.iter().all(|(_, sent)| {
                sent.header.packet == Packet::Resend { offset: 0, length: -1, priority: 7 }
                    && sent.header.sender_id == id
            })
    );
    script.gets(id | 1, Packet::Unknown).expect("taken");
    let again = script.sends_all();
    assert_eq!(again.iter().map(|sent| sent.range()).collect::<Vec<_>>(), [0..1_424, 1_424..2_848, 2_848..3_000]);
    assert!(again.iter().all(|sent| sent.data().retransmit == 1));
    script.gets_data(id | 1, &contents(5), 0..5).expect("taken");
    script.outcome(id).expect("a response");
}

#[test]
fn unknown_after_the_request_was_executed_is_a_restart() {
    let mut script = Script::new(linux_like());
    let id = script.calls(contents(100));
    script.sends_all();
    script.gets_data(id | 1, &contents(3_000), 0..1_424).expect("taken");
    let mut asked = 0;
    for _ in 0..100 {
        for (_, sent) in script.waits(Duration::from_millis(10)) {
            assert!(matches!(sent.header.packet, Packet::Resend { .. } | Packet::Ack { .. }), "{sent:?}");
            asked += 1;
            let _ = script.gets(id | 1, Packet::Unknown);
        }
    }
    assert!((1..6).contains(&asked), "believed after {asked} questions");
    assert_eq!(script.outcome(id), Err(RpcError::ServerRestarted));
}

#[test]
fn a_busy_server_is_waited_for() {
    let mut script = Script::new(linux_like());
    let id = script.calls(contents(100));
    let mut asked = 0;
    for _ in 0..200 {
        for (_, sent) in script.waits(Duration::from_millis(100)) {
            if matches!(sent.header.packet, Packet::Resend { .. }) {
                asked += 1;
                script.gets(id | 1, Packet::Busy).expect("taken");
            }
        }
    }
    assert!(asked > 50, "asked {asked} times in 20 s");
    assert!(script.outcomes.is_empty(), "longer than a dead peer would be waited for");
    script.gets_data(id | 1, &contents(5), 0..5).expect("taken");
    script.outcome(id).expect("a response");
}

#[test]
fn a_silent_server_is_dead() {
    let mut script = Script::new(linux_like());
    let id = script.calls(contents(100));
    let sent = script.waits(Duration::from_secs(10));
    let resends = sent.iter().filter(|(_, sent)| matches!(sent.header.packet, Packet::Resend { .. })).count();
    assert!((5..60).contains(&resends), "asked {resends} times");
    assert!(matches!(script.outcome(id), Err(RpcError::PeerDead { .. })));
    assert!(script.waits(Duration::from_secs(100)).is_empty());
}

#[test]
fn need_ack_is_answered_by_an_ack() {
    let mut script = Script::new(linux_like());
    let id = exchange(&mut script);
    for _ in 0..3 {
        script.gets(id | 1, Packet::NeedAck).expect("taken");
        let sent = script.sends();
        assert_eq!(sent.header.sender_id, id);
        assert!(matches!(sent.header.packet, Packet::Ack { .. }), "{sent:?}");
        script.sends_nothing();
        script.waits(Duration::from_millis(5));
    }
}

/// The kernel drops the packet that another's cutoffs chose the priority of, but never the contents of this one.
#[test]
fn cutoffs_choose_the_priority() {
    let mut script = Script::new(linux_like());
    let id = exchange(&mut script);
    let cutoffs = [0, 0, 0, 0, 1_000_000, 15_000, 2_800, 200];
    script.gets(id | 1, Packet::Cutoffs { cutoffs, version: 1 }).expect("taken");
    for (len, priority) in [(200, 7), (201, 6), (2_800, 6), (2_801, 5), (15_000, 5), (15_001, 4)] {
        script.calls(contents(len));
        let sent = script.sends_all();
        assert!(sent.iter().all(|sent| sent.priority == priority), "{len} bytes: {}", sent[0].priority);
        assert!(sent.iter().all(|sent| sent.data().cutoff_version == 1));
    }
}

#[test]
fn many_outstanding_requests_are_marked() {
    let config = Config { incast_threshold: 3, ..linux_like() };
    let mut script = Script::new(config);
    let marks: Vec<bool> = (0..6)
        .map(|_| {
            script.calls(contents(10));
            script.sends().data().pad.has(homarus_proto::wire::ExtensionBits::INCAST)
        })
        .collect();
    assert_eq!(marks, [false, false, false, true, true, true]);
}

#[test]
fn a_response_may_come_from_another_address() {
    let mut script = Script::new(linux_like());
    let id = script.calls(contents(100));
    script.sends();
    let header = Header::new(4_000, 4_000, id | 1, Packet::Data(crate::script::data(5, 0)));
    let elsewhere = "10.0.0.200:4000".parse().expect("an address");
    script.gets_bytes(elsewhere, &crate::script::emit(&header, &contents(5))).expect("taken");
    assert_eq!(script.outcome(id).expect("a response").as_slice(), contents(5));
    assert_ne!(id, PEER_ID);
}

/// Over IP a peer is a host: one closed port says nothing of its other ports, and that it is not there says all.
#[test]
fn a_closed_port_ends_only_the_calls_to_it() {
    let mut script = Script::new(linux_like());
    let other_port = SocketAddr::new(peer().ip(), peer().port() + 1);
    let (to_one, to_other) = (script.calls(contents(9)), script.calls_at(other_port, contents(9)));
    script.sends_all();
    script.endpoint.handle_unreachable(script.now, other_port, Unreachable::Port);
    script.hears();
    assert_eq!(script.outcome(to_other), Err(RpcError::Unreachable(Unreachable::Port)));
    assert_eq!(script.endpoint.view().client_rpcs, 1);
    script.endpoint.handle_unreachable(script.now, other_port, Unreachable::Protocol);
    script.hears();
    assert_eq!(script.outcome(to_one), Err(RpcError::Unreachable(Unreachable::Protocol)));
}
