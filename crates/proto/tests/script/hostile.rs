//! Peers that do not keep to the protocol.

use crate::script::{PEER_ID, Script, contents, data, linux_like, peer};
use homarus_proto::wire::{Data, Packet};
use homarus_proto::{CallOptions, Config, RpcError};
use std::time::Duration;

/// The request stays where the unscheduled bytes end; the client hears of it at the deadline.
#[test]
fn a_server_that_never_grants() {
    let mut script = Script::new(linux_like());
    let options = CallOptions { deadline: Some(Duration::from_secs(5)) };
    let sent = script.endpoint.send_request(script.now, peer(), contents(100_000), options);
    let id = sent.expect("an accepted request").as_u64();
    script.sends_all();
    for _ in 0..600 {
        for (_, sent) in script.waits(Duration::from_millis(10)) {
            if matches!(sent.header.packet, Packet::Resend { .. }) {
                let _ = script.gets(id | 1, Packet::Busy);
            }
            assert!(!matches!(sent.header.packet, Packet::Data(_)), "{sent:?}");
        }
    }
    assert!(matches!(script.outcome(id), Err(RpcError::Deadline { .. } | RpcError::ServerBusy { .. })));
    assert_eq!(script.endpoint.view().send_buffer, 0);
}

/// A hundred responses that are never acknowledged, although the client lives: asked for less and less often, and in the
/// end forgotten.
#[test]
fn a_client_that_never_acks() {
    let mut script = Script::new(linux_like());
    for number in 0..100 {
        script.gets_data(PEER_ID + 2 * number, &contents(10), 0..10).expect("taken");
        script.responds(contents(100));
    }
    assert_eq!(script.sends_all().len(), 100);
    let mut asked = 0;
    for _ in 0..100 {
        for (_, sent) in script.waits(Duration::from_secs(1)) {
            assert_eq!(sent.header.packet, Packet::NeedAck);
            asked += 1;
        }
        // Signs of life, but not about these RPCs.
        let _ = script.gets(PEER_ID + 1_000, Packet::Freeze);
    }
    let view = script.endpoint.view();
    assert_eq!((view.server_rpcs, view.send_buffer), (0, 0), "{view:?}");
    assert!(asked < 100 * 40, "asked {asked} times");
}

#[test]
fn a_server_that_grants_too_much() {
    let mut script = Script::new(linux_like());
    let message = contents(60_000);
    let id = script.calls(message.clone());
    for offset in [u32::MAX, 1 << 31, 60_001, 60_000, 0] {
        script.gets(id | 1, Packet::Grant { offset, priority: 255 }).expect("taken");
    }
    let sent = script.sends_all();
    assert!(sent.iter().all(|sent| sent.priority < 8));
    let whole: Vec<u8> = sent.into_iter().flat_map(|sent| sent.payload).collect();
    assert_eq!(whole, message);
}

#[test]
fn packets_of_one_byte() {
    let mut script = Script::new(linux_like());
    let message = contents(3_000);
    for at in 0..message.len() {
        script.gets_data(PEER_ID, &message, at..at + 1).expect("taken");
    }
    assert_eq!(script.requests[0].1.as_slice(), message);
}

/// Every second byte first: the worst case for the list of gaps, which is bounded.
#[test]
fn packets_of_one_byte_with_gaps() {
    let config = Config { max_gaps: 100, ..linux_like() };
    let mut script = Script::new(config);
    let message = contents(3_000);
    for at in (1..message.len()).step_by(2).chain((0..message.len()).step_by(2)) {
        let _ = script.gets_data(PEER_ID, &message, at..at + 1);
    }
    for at in 0..message.len() {
        let _ = script.gets_data(PEER_ID, &message, at..at + 1);
    }
    assert_eq!(script.requests[0].1.as_slice(), message, "what was discarded for want of room comes again");
}

#[test]
fn packets_that_overlap() {
    let mut script = Script::new(linux_like());
    let message = contents(3_000);
    for (start, end) in [(100, 900), (0, 101), (500, 2_000), (1_999, 2_500), (0, 3_000)] {
        script.gets_data(PEER_ID, &message, start..end).expect("taken");
    }
    assert_eq!(script.requests[0].1.as_slice(), message);
}

#[test]
fn packets_that_contradict() {
    let mut script = Script::new(linux_like());
    let message = contents(3_000);
    script.gets_data(PEER_ID, &message, 0..1_000).expect("taken");
    for (length, offset, len) in
        [(2_999, 1_000, 1_000), (3_000, 2_500, 501), (3_000, u32::MAX as usize, 10), (3_000, 100, 0)]
    {
        let fields = Packet::Data(data(length, offset));
        assert!(script.gets_with(PEER_ID, fields, &contents(len)).is_err(), "{length} {offset} {len}");
    }
    script.gets_data(PEER_ID, &message, 1_000..3_000).expect("taken");
    assert_eq!(script.requests[0].1.as_slice(), message);
}

#[test]
fn more_than_was_granted_is_taken() {
    let mut script = Script::new(linux_like());
    let message = contents(100_000);
    let fields = |offset| Packet::Data(Data { incoming: 1_000, ..data(100_000, offset) });
    for start in (0..message.len()).step_by(1_424) {
        let end = (start + 1_424).min(message.len());
        script.gets_with(PEER_ID, fields(start), &message[start..end]).expect("taken");
    }
    assert_eq!(script.requests[0].1.as_slice(), message);
}
