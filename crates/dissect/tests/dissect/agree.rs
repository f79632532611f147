//! The table of fields says what `homarus-proto` says, for every packet of every capture.

use crate::common::{CAPTURES, capture, ethernet, ipv4, pcap, record};
use crate::{made, packets};
use homarus_dissect::decode::Seen;
use homarus_dissect::table::{self, COMMON, Field, own_fields};
use homarus_proto::wire::{ACK_LEN, Ack, Data, ExtensionBits, Header, Packet, PacketType};
use proptest::prelude::*;

#[test]
fn every_byte_of_a_header_belongs_to_one_field() {
    for kind in table::types() {
        let mut owners = vec![0; kind.header_len()];
        for field in table::fields(kind).filter(|field| !field.overlay) {
            owners[field.offset..field.offset + field.width].iter_mut().for_each(|owner| *owner += 1);
        }
        assert!(owners.iter().all(|owners| *owners == 1), "{}: {owners:?}", table::type_name(kind));
    }
}

#[test]
fn all_types_have_names() {
    let known: Vec<u8> = (0..=255).filter(|code| PacketType::from_code(*code).is_some()).collect();
    assert_eq!(table::types().map(|kind| kind as u8).collect::<Vec<_>>(), known);
}

/// The header by the table alone.
fn by_table(head: &[u8]) -> Header {
    let kind = PacketType::from_code(head[11]).expect("a type");
    let all = |name: &str| -> Vec<(&'static Field, u64)> {
        let named: Vec<_> = table::fields(kind).filter(|field| field.name == name).collect();
        assert!(!named.is_empty(), "no field {name}");
        named.into_iter().map(|field| (field, field.value(head))).collect()
    };
    let one = |name: &str| all(name)[0].1;
    let signed = |name: &str| all(name)[0].0.signed(one(name));
    let packet = match kind {
        PacketType::Data => Packet::Data(Data {
            message_length: one("message_length") as u32,
            incoming: one("incoming") as u32,
            ack: Ack { client_id: one("ack.client_id"), server_port: one("ack.server_port") as u16 },
            cutoff_version: one("cutoff_version") as u16,
            retransmit: one("retransmit") as u8,
            pad: ExtensionBits([one("extensions") as u8, one("round_trip") as u8, one("pad") as u8]),
            segment_offset: signed("segment_offset") as u32,
        }),
        PacketType::Grant => {
            Packet::Grant { offset: one("grant.offset") as u32, priority: one("grant.priority") as u8 }
        }
        PacketType::Resend => Packet::Resend {
            offset: one("resend.offset") as u32,
            length: signed("resend.length") as i32,
            priority: one("resend.priority") as u8,
        },
        PacketType::Unknown => Packet::Unknown,
        PacketType::Busy => Packet::Busy,
        PacketType::Cutoffs => Packet::Cutoffs {
            cutoffs: std::array::from_fn(|priority| one(&format!("cutoffs.{priority}")) as u32),
            version: one("cutoffs.version") as u16,
        },
        PacketType::Freeze => Packet::Freeze,
        PacketType::NeedAck => Packet::NeedAck,
        PacketType::Ack => {
            let (ids, ports) = (all("acks.client_id"), all("acks.server_port"));
            let ack = |index: usize| Ack { client_id: ids[index].1, server_port: ports[index].1 as u16 };
            Packet::Ack { count: one("acks.count") as u16, acks: std::array::from_fn(ack) }
        }
    };
    Header {
        source_port: one("source_port") as u16,
        dest_port: one("dest_port") as u16,
        sequence: one("sequence") as u32,
        doff: one("doff") as u8,
        flags: one("flags") as u8,
        window: one("window") as u16,
        checksum: one("checksum") as u16,
        urgent: one("urgent") as u16,
        sender_id: one("sender_id"),
        packet,
    }
}

fn check(what: &str, seen: &Seen) {
    let mut emitted = [0xaa; ACK_LEN];
    let length = seen.header.emit(&mut emitted);
    assert_eq!(&emitted[..length], seen.head(), "{what}: parsed and emitted by homarus-proto");
    assert_eq!(by_table(seen.head()), seen.header, "{what}: read by the table");
    let mut put = vec![0xaa; length];
    for (field, value) in seen.fields() {
        field.put(&mut put, value);
    }
    assert_eq!(put, seen.head(), "{what}: written by the table");
}

#[test]
fn the_table_reads_and_writes_every_captured_packet_as_homarus_proto_does() {
    for (name, count) in CAPTURES {
        let file = capture(name);
        let items = crate::items(&file, &[]);
        let seen: Vec<_> = items
            .iter()
            .filter_map(|item| match item {
                homarus_dissect::decode::Item::Packet(seen) => Some(seen),
                _ => None,
            })
            .collect();
        assert_eq!(seen.len(), count, "Homa packets in {name}");
        for (number, seen) in seen.iter().enumerate() {
            check(&format!("{name}, packet {number}"), seen);
            assert!(seen.notes.is_empty(), "{name}, packet {number}: {:?}", seen.notes);
        }
    }
}

#[test]
fn the_table_knows_every_type_and_the_extensions() {
    let frames: Vec<_> =
        made::each_type().iter().map(|homa| record(0, ethernet(0x800, &[], &ipv4(146, &[], homa)))).collect();
    let seen = packets(&pcap(false, false, 1, &frames));
    assert_eq!(seen.len(), frames.len());
    for (number, seen) in seen.iter().enumerate() {
        check(&format!("packet {number}"), seen);
    }
    let shown = |number: usize, name: &str| {
        let (field, value) = seen[number].fields().find(|(field, _)| field.name == name).expect(name);
        field.show(value)
    };
    assert_eq!(shown(0, "extensions"), "0x81 (incast, homarus)");
    assert_eq!(shown(0, "round_trip"), "77 (79.0 us)");
    assert_eq!(shown(4, "unknown.reason"), "ended (1)");
    assert_eq!(shown(5, "unknown.reason"), "too long (2)");
    assert_eq!(shown(7, "busy.reason"), "no room (1)");
    assert_eq!(shown(2, "resend.length"), "-1");
}

proptest! {
    /// Where the table and homarus-proto read different bytes, some random header shows it.
    #[test]
    fn same_for_random_headers(code in 0x10u8..=0x18, mut bytes in prop::collection::vec(any::<u8>(), ACK_LEN)) {
        bytes[11] = code;
        bytes[8..11].fill(0);
        if code == PacketType::Ack as u8 {
            bytes[28..30].copy_from_slice(&[0, 3]);
        }
        let header = Header::parse(&bytes).expect("long enough");
        prop_assert_eq!(by_table(&bytes), header);
    }

    /// Values survive being written.
    #[test]
    fn put_then_value(value: u64) {
        for field in COMMON.iter().chain(table::types().flat_map(own_fields)) {
            let mut bytes = [0; ACK_LEN];
            let kept = if field.width == 8 { value } else { value & ((1 << (8 * field.width)) - 1) };
            field.put(&mut bytes, value);
            prop_assert_eq!(field.value(&bytes), kept);
        }
    }
}
