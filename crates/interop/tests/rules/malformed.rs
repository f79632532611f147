//! What is dropped, as Linux drops it.

use crate::script::{Script, THEIR_ID, cutoffs, data, grant, host, packet, resend};
use homarus_interop::kernel::MAX_MESSAGE;
use homarus_interop::kernel::wire::{Body, Data};
use homarus_proto::Discard;

#[test]
fn packets_that_are_too_short_have_no_effect() {
    let mut script = Script::new();
    let id = script.calls(100_000) | 1;
    script.sends();
    script.is_called(THEIR_ID, 10);
    script.responds(10);
    script.sends();
    let before = script.endpoint.view();
    let server_side = [Body::Ack(vec![(THEIR_ID, 33_000)]), Body::Unknown, resend(0, -1)];
    let client_side = [grant(100_000), resend(0, -1), Body::Unknown, Body::Busy, cutoffs(), Body::NeedAck];
    let all = server_side.map(|body| (THEIR_ID, body)).into_iter().chain(client_side.map(|body| (id, body)));
    for (sender_id, body) in all {
        let packet = packet(sender_id, body);
        let bytes = packet.encode();
        assert_eq!(bytes.len(), packet.kind().header_len());
        for len in 0..bytes.len() {
            let result = script.gets_bytes(host(), &bytes[..len]);
            assert_eq!(result, Err(Discard::TooShort), "{len} bytes of {:?}", packet.kind());
        }
    }
    let request = packet(THEIR_ID + 2, data(10, 0, 10)).encode();
    for len in 0..56 {
        assert_eq!(script.gets_bytes(host(), &request[..len]), Err(Discard::TooShort));
    }
    script.sends_nothing();
    assert_eq!(script.endpoint.view(), before);
}

#[test]
fn an_ack_of_40_bytes_frees_nothing() {
    let mut script = Script::new();
    script.is_called(THEIR_ID, 10);
    script.responds(10);
    script.sends();
    let bytes = packet(THEIR_ID, Body::Ack(vec![(THEIR_ID, 33_000)])).encode();
    assert_eq!(script.gets_bytes(host(), &bytes[..40]), Err(Discard::TooShort));
    assert_eq!(script.held(), (0, 1));
}

#[test]
fn bytes_beyond_a_control_packets_length_do_no_harm() {
    let mut script = Script::new();
    script.is_called(THEIR_ID, 10);
    script.responds(10);
    script.sends();
    let mut bytes = packet(THEIR_ID, Body::Ack(Vec::new())).encode();
    bytes.extend([0xff; 20]);
    script.gets_bytes(host(), &bytes).expect("taken");
    assert_eq!(script.held(), (0, 0));
}

#[test]
fn types_that_there_are_not() {
    let mut script = Script::new();
    let mut bytes = packet(THEIR_ID, data(10, 0, 10)).encode();
    for code in (0..0x10).chain(0x19..=0xff) {
        bytes[11] = code;
        assert_eq!(script.gets_bytes(host(), &bytes), Err(Discard::UnknownType), "type {code:#x}");
    }
    script.sends_nothing();
}

#[test]
fn freeze_does_nothing() {
    let mut script = Script::new();
    script.is_called(THEIR_ID, 10);
    let _ = script.gets(THEIR_ID, Body::Freeze);
    script.sends_nothing();
    assert_eq!(script.held(), (0, 1));
}

#[test]
fn data_beyond_its_message() {
    let mut script = Script::new();
    for (start, length) in [(91, 10), (101, 10), (u32::MAX - 5, 10)] {
        let Body::Data(part) = data(10, 0, 10) else { unreachable!("made as DATA") };
        let body =
            Body::Data(Data { message_length: 100, segment_offset: Some(start), contents: vec![0; length], ..part });
        assert_eq!(script.gets(THEIR_ID, body), Err(Discard::Malformed));
    }
    assert_eq!(script.held(), (0, 0));
}

#[test]
fn messages_that_are_longer_than_linux_sends() {
    let mut script = Script::new();
    let Body::Data(part) = data(10, 0, 10) else { unreachable!("made as DATA") };
    let body = Body::Data(Data { message_length: MAX_MESSAGE + 1, incoming: 40_000, ..part });
    assert_eq!(script.gets(THEIR_ID, body), Err(Discard::TooLong));
    assert_eq!(script.held(), (0, 0));
    script.sends_nothing();
}

#[test]
fn acks_for_more_than_there_is_room_for() {
    let mut script = Script::new();
    script.is_called(THEIR_ID, 10);
    script.responds(10);
    script.sends();
    let mut bytes = packet(THEIR_ID, Body::Ack(Vec::new())).encode();
    bytes[29] = 6;
    assert_eq!(script.gets_bytes(host(), &bytes), Err(Discard::Malformed));
    assert_eq!(script.held(), (0, 1));
}
