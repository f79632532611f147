//! Every Homa packet that the Linux module sent in the captures, parsed and emitted again byte for byte.

mod checksum;
mod pcap;

use checksum::Checksum;
use homarus_proto::wire::{ACK_LEN, Header, PacketType};
use pcap::Captured;
use std::collections::BTreeMap;

/// Number of Homa packets in each capture.
const CAPTURES: [(&str, usize); 17] = [
    ("00_cold_first_contact_100B", 19),
    ("01_single_100B", 4),
    ("02_100KB_echo_grants", 210),
    ("04_sequential_100B_x4_piggyback_ack", 12),
    ("05_loss5pct_100KB", 218),
    ("07_lose_all_first_response_copies_10KB", 20),
    ("08_lose_all_first_request_copies_10KB", 28),
    ("10_blackhole_server_to_client_timeout", 20),
    ("11_first_contact_new_peer", 10),
    ("13_ack_overflow_12x100B_parallel", 26),
    ("14_busy_slow_server_40ms", 16),
    ("15_port_unreachable", 2),
    ("17_gso20000_veth_100KB", 158),
    ("20_host_to_vm_100B", 8),
    ("21_host_to_vm_100KB", 153),
    ("22_vm_client_to_host_server", 158),
    ("23_host_no_raw_socket_icmp_proto_unreachable", 1),
];

fn each_packet(mut check: impl FnMut(&str, usize, &Captured)) {
    for (name, count) in CAPTURES {
        let packets = pcap::homa_packets(name);
        assert_eq!(packets.len(), count, "Homa packets in {name}");
        for (number, packet) in packets.iter().enumerate() {
            check(name, number, packet);
        }
    }
}

#[test]
fn parse_then_emit_gives_the_same_bytes() {
    let mut kinds = BTreeMap::new();
    each_packet(|name, number, captured| {
        let header = Header::parse(&captured.homa).unwrap_or_else(|why| panic!("{name}, packet {number}: {why}"));
        let mut out = [0xaa; ACK_LEN];
        let len = header.emit(&mut out);
        assert_eq!(out[..len], captured.homa[..len], "{name}, packet {number}");
        let kind = header.packet.packet_type();
        assert_eq!(len, kind.header_len(), "{name}, packet {number}");
        assert!(
            kind == PacketType::Data || len == captured.homa.len(),
            "{name}, packet {number}: bytes after a control packet"
        );
        *kinds.entry(kind).or_insert(0) += 1;
    });
    let seen: Vec<PacketType> = kinds.into_keys().collect();
    let expected = [
        PacketType::Data,
        PacketType::Grant,
        PacketType::Resend,
        PacketType::Unknown,
        PacketType::Busy,
        PacketType::Cutoffs,
        PacketType::NeedAck,
        PacketType::Ack,
    ];
    assert_eq!(seen, expected);
}

/// What homarus fills in by itself is what the kernel fills in.
#[test]
fn fixed_fields_are_those_of_the_kernel() {
    each_packet(|name, number, captured| {
        if captured.is_from_raw_peer() {
            return;
        }
        let parsed = Header::parse(&captured.homa).expect("parsed by the other test");
        let mut made = Header::new(parsed.source_port, parsed.dest_port, parsed.sender_id, parsed.packet);
        made.checksum = parsed.checksum;
        made.sequence = parsed.sequence;
        let segmented = name.starts_with("17_") && parsed.doff == 0xd0;
        if segmented {
            made.doff = parsed.doff;
        }
        assert_eq!(made, parsed, "{name}, packet {number}");
    });
}

/// The sum is TCP's, with a pseudo-header of protocol 6 over the whole packet: complete where the sender's stack did it
/// in software, only that of the pseudo-header where it was left to a virtual device, stale in segments.
#[test]
fn checksums_follow_the_rule() {
    each_packet(|name, number, captured| {
        let found = captured.checksum();
        let expected = match &name[..2] {
            "20" | "21" | "22" | "23" if captured.is_from_raw_peer() => Checksum::Zero,
            "20" | "21" | "22" | "23" => Checksum::Partial,
            "17" if captured.homa[11] == PacketType::Data as u8 => Checksum::Stale,
            _ => Checksum::Complete,
        };
        assert_eq!(found, expected, "{name}, packet {number}");
    });
}

/// The payload of DATA lies where the header says, and a message's packets cover it without holes.
#[test]
fn data_covers_each_message() {
    for (name, _) in CAPTURES {
        let mut messages: BTreeMap<(u32, u64), (u32, Vec<bool>)> = BTreeMap::new();
        for captured in pcap::homa_packets(name) {
            let header = Header::parse(&captured.homa).expect("parsed by the other test");
            let homarus_proto::wire::Packet::Data(data) = header.packet else {
                continue;
            };
            let length = data.message_length;
            let start = header.data_offset(&data) as usize;
            let end = start + captured.homa.len() - header.packet.packet_type().header_len();
            let (known, covered) = messages
                .entry((captured.ends[0], header.sender_id))
                .or_insert_with(|| (length, vec![false; length as usize]));
            assert_eq!(*known, length, "{name}");
            assert!(end <= covered.len(), "{name}: {start}..{end} of {length}");
            covered[start..end].fill(true);
        }
        for ((_, id), (length, covered)) in messages {
            assert!(covered.iter().all(|byte| *byte), "{name}: a hole in the {length} bytes of {id:#x}");
        }
    }
}
