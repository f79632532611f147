//! The two ways to write the same packet: the model's and `homarus-proto`'s, which know nothing of each other.

use crate::script::{Script, THEIR_ID, cuts, data, host, packet};
use homarus_interop::kernel::wire::{Body, Data, Packet};
use homarus_proto::wire::{ACK_LEN, Ack, Header, Packet as Ours};
use proptest::prelude::*;

#[test]
fn offsets_stand_where_linux_puts_them() {
    for form in 0..3 {
        let mut script = Script::new();
        for (start, end) in cuts(30_000) {
            let Body::Data(part) = data(30_000, start, end) else { unreachable!("made as DATA") };
            let mut packet = packet(THEIR_ID, Body::Data(part.clone()));
            match form {
                // A lone packet.
                0 => {
                    packet.sequence = start;
                    packet.body = Body::Data(Data { segment_offset: None, ..part });
                }
                // With both, as when it is sent again.
                1 => packet.sequence = start,
                // A segment: the sequence is that of the first one.
                _ => {
                    packet.sequence = start / 18_512 * 18_512;
                    packet.doff = 0xd0;
                }
            }
            script.gets_packet(host(), &packet).expect("taken");
        }
        assert_eq!(script.requests.len(), 1, "form {form}");
    }
}

#[test]
fn fields_that_look_like_tcps_may_hold_anything() {
    for value in [0, 0x55, 0xff] {
        let mut script = Script::new();
        let mut bytes = packet(THEIR_ID, data(100, 0, 100)).encode();
        for at in [8, 9, 10, 12, 13, 14, 15, 16, 17, 18, 19] {
            bytes[at] = value;
        }
        script.gets_bytes(host(), &bytes).expect("taken");
        assert_eq!(script.requests.len(), 1);
    }
}

fn body() -> impl Strategy<Value = Body> {
    let ack = (any::<u64>(), any::<u16>());
    let contents = prop::collection::vec(any::<u8>(), 0..64);
    let data = (any::<[u32; 2]>(), ack, any::<u16>(), any::<bool>(), any::<[u8; 3]>(), any::<Option<u32>>(), contents);
    prop_oneof![
        data.prop_map(|(numbers, ack, cutoff_version, retransmit, pad, segment_offset, contents)| Body::Data(Data {
            message_length: numbers[0],
            incoming: numbers[1],
            ack,
            cutoff_version,
            retransmit,
            pad,
            segment_offset: segment_offset.filter(|offset| *offset != u32::MAX),
            contents,
        })),
        (any::<u32>(), any::<u8>()).prop_map(|(offset, priority)| Body::Grant { offset, priority }),
        (any::<u32>(), any::<i32>(), any::<u8>()).prop_map(|(offset, length, priority)| Body::Resend {
            offset,
            length,
            priority
        }),
        (any::<[u32; 8]>(), any::<u16>()).prop_map(|(cutoffs, version)| Body::Cutoffs { cutoffs, version }),
        prop::collection::vec(ack, 0..=5).prop_map(Body::Ack),
        prop::sample::select(vec![Body::Unknown, Body::Busy, Body::Freeze, Body::NeedAck]),
    ]
}

/// The same in `homarus-proto`'s words.
fn ours(body: &Body) -> Ours {
    let ack = |(client_id, server_port): (u64, u16)| Ack { client_id, server_port };
    match body {
        Body::Data(data) => Ours::Data(homarus_proto::wire::Data {
            message_length: data.message_length,
            incoming: data.incoming,
            ack: ack(data.ack),
            cutoff_version: data.cutoff_version,
            retransmit: u8::from(data.retransmit),
            pad: homarus_proto::wire::ExtensionBits(data.pad),
            segment_offset: data.segment_offset.unwrap_or(u32::MAX),
        }),
        Body::Grant { offset, priority } => Ours::Grant { offset: *offset, priority: *priority },
        Body::Resend { offset, length, priority } => {
            Ours::Resend { offset: *offset, length: *length, priority: *priority }
        }
        Body::Unknown => Ours::Unknown,
        Body::Busy => Ours::Busy,
        Body::Cutoffs { cutoffs, version } => Ours::Cutoffs { cutoffs: *cutoffs, version: *version },
        Body::Freeze => Ours::Freeze,
        Body::NeedAck => Ours::NeedAck,
        Body::Ack(acks) => {
            let mut all = [Ack::default(); 5];
            acks.iter().zip(&mut all).for_each(|(from, to)| *to = ack(*from));
            Ours::Ack { count: acks.len() as u16, acks: all }
        }
    }
}

proptest! {
    #[test]
    fn both_write_and_read_the_same_bytes(body in body(), sender_id: u64, sequence: u32, ports: [u16; 2]) {
        let theirs = Packet {
            sport: ports[0],
            dport: ports[1],
            sequence,
            ..packet(sender_id, body.clone())
        };
        let mut header = Header::new(ports[0], ports[1], sender_id, ours(&body));
        header.sequence = sequence;
        let mut bytes = [0; ACK_LEN];
        let len = header.emit(&mut bytes);
        let encoded = theirs.encode();
        prop_assert_eq!(&encoded[..len], &bytes[..len]);
        prop_assert_eq!(Header::parse(&encoded), Ok(header));
        prop_assert_eq!(Packet::decode(&encoded), Ok(theirs));
    }
}
