//! Captures taken before a device has cut a long send.

use crate::common::{ipv4, pcap, record, udp};
use crate::{made, packets};
use homarus_dissect::decode::Seen;
use homarus_proto::wire::{Ack, Data, Header, Packet};

fn ranges(seen: &[Seen]) -> Vec<(u32, u32)> {
    seen.iter().filter_map(Seen::range).collect()
}

/// A long packet of the Linux module: 52 bytes once, then the offset and the bytes of each piece.
pub(crate) fn linux_super_packet(start: u32, piece: u32, pieces: u32, last: u32) -> Vec<u8> {
    let fields = Data {
        message_length: 100_000,
        incoming: 40_000,
        ack: Ack { client_id: 44, server_port: 4000 },
        segment_offset: start,
        ..Data::default()
    };
    let mut header = Header { doff: 0xd0, ..made::header(6, Packet::Data(fields)) };
    header.sequence = start;
    let mut packet = made::bytes(&header, &[]);
    packet.truncate(52);
    for index in 0..pieces {
        let length = if index + 1 == pieces { last } else { piece };
        packet.extend((start + index * piece).to_be_bytes());
        packet.extend(vec![index as u8; length as usize]);
    }
    packet
}

#[test]
fn pieces_of_the_linux_module() {
    let packet = linux_super_packet(2848, 1424, 5, 700);
    let mut cut = record(0, ipv4(146, &[], &packet));
    let seen = packets(&pcap(false, false, 101, &[cut.clone()]));
    let expected = [(2848, 4272), (4272, 5696), (5696, 7120), (7120, 8544), (8544, 9244)];
    assert_eq!(ranges(&seen), expected);
    assert!(seen.iter().all(|seen| matches!(seen.header.packet, Packet::Data(data) if data.ack.client_id == 44)));
    assert!(seen.iter().all(|seen| seen.uncut && seen.notes.is_empty()));
    // Whoever captures only the first bytes still sees the first pieces, and how long the others were.
    cut.data.truncate(20 + 52 + 2 * 1428 + 100);
    let found = crate::items(&pcap(false, false, 101, &[cut]), &[]);
    let text: Vec<String> = found.iter().map(|item| format!("{item:?}")).collect();
    assert_eq!(found.len(), 5, "{text:?}");
    assert!(text[2].contains("1328 bytes of payload not captured"), "{}", text[2]);
    assert!(text[4].starts_with("Malformed") && text[4].contains("only 52 of 756 bytes captured"), "{}", text[4]);
}

#[test]
fn one_long_packet_of_the_linux_module_is_one() {
    let seen = packets(&pcap(false, false, 101, &[record(0, ipv4(146, &[], &linux_super_packet(0, 8000, 1, 8000)))]));
    assert_eq!(ranges(&seen), [(0, 8000)]);
}

/// Datagrams that one system call hands to the kernel.
#[test]
fn datagrams_of_homarus() {
    let parts: Vec<Vec<u8>> = (0..6).map(|n| made::data(8, 100_000, n * 1416, &[n as u8; 1416])).collect();
    let mut all = parts.concat();
    all.extend(made::data(8, 100_000, 6 * 1416, &[9; 300]));
    let seen = packets(&pcap(false, false, 101, &[record(0, ipv4(17, &[], &udp(40_000, 4000, &all)))]));
    let mut expected: Vec<_> = (0..6).map(|n| (n * 1416, (n + 1) * 1416)).collect();
    expected.push((6 * 1416, 6 * 1416 + 300));
    assert_eq!(ranges(&seen), expected);
    assert!(seen.iter().all(|seen| seen.uncut && seen.notes.is_empty()));
    // Cut by the capture in the fourth.
    let mut cut = record(0, ipv4(17, &[], &udp(40_000, 4000, &all)));
    cut.data.truncate(28 + 3 * 1472 + 200);
    let seen = packets(&pcap(false, false, 101, &[cut]));
    assert_eq!(seen.len(), 4);
    assert_eq!(ranges(&seen)[..3], expected[..3]);
    // 9188 bytes in all, of which 3 * 1472 + 200 are there.
    let notes = ["may be several packets, whose headers were not captured", "4572 bytes of payload not captured"];
    assert_eq!(seen[3].notes, notes);
}

/// A payload may hold captured Homa packets of other ports, or anything else.
#[test]
fn payload_is_not_taken_for_packets() {
    let mut inner = made::data(9, 100, 0, &[1; 100]);
    inner[0] ^= 0x55;
    let payload = [&[0; 2000][..], &inner, &[0; 2000]].concat();
    let seen =
        packets(&pcap(false, false, 101, &[record(0, ipv4(17, &[], &udp(1, 2, &made::data(6, 90_000, 0, &payload))))]));
    assert_eq!(ranges(&seen), [(0, payload.len() as u32)]);
    let zeros = linux_super_packet(0, 9000, 1, 9000);
    assert_eq!(packets(&pcap(false, false, 101, &[record(0, ipv4(146, &[], &zeros))])).len(), 1);
}
