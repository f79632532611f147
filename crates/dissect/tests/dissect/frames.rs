//! Links, IP, UDP and what is odd about packets.

use crate::common::{Record, ethernet, ipv4, ipv6, pcap, record, udp};
use crate::{items, made, packets};
use homarus_dissect::Checksum;
use homarus_dissect::decode::Item;

fn homa() -> Vec<u8> {
    made::data(6, 100, 0, &[5; 100])
}

fn one(link: u16, frame: Vec<u8>) -> homarus_dissect::decode::Seen {
    let mut seen = packets(&pcap(false, false, link, &[record(0, frame)]));
    assert_eq!(seen.len(), 1);
    seen.remove(0)
}

#[test]
fn every_link_type() {
    let (v4, v6) = (ipv4(146, &[], &homa()), ipv6(146, &[], &homa()));
    let behind = |before: &[u8], ip: &[u8]| [before, ip].concat();
    let sll = |kind: [u8; 2]| [&[0; 14][..], &kind].concat();
    let sll2 = |kind: [u8; 2]| [&kind[..], &[0; 18]].concat();
    let frames = [
        (1, ethernet(0x800, &[], &v4)),
        (1, ethernet(0x86dd, &[], &v6)),
        (1, ethernet(0x800, &[0x8100], &v4)),
        (1, ethernet(0x86dd, &[0x88a8, 0x8100], &v6)),
        (113, behind(&sll([8, 0]), &v4)),
        (113, behind(&sll([0x86, 0xdd]), &v6)),
        (276, behind(&sll2([8, 0]), &v4)),
        (276, behind(&sll2([0x86, 0xdd]), &v6)),
        (101, v4.clone()),
        (101, v6.clone()),
        (228, v4.clone()),
        (229, v6.clone()),
        (0, behind(&[2, 0, 0, 0], &v4)),
        (0, behind(&[0, 0, 0, 30], &v6)),
        (108, behind(&[0, 0, 0, 2], &v4)),
    ];
    for (link, frame) in frames {
        let seen = one(link, frame);
        assert_eq!((seen.header.sender_id, seen.payload, seen.priority), (6, 100, 5), "link type {link}");
        assert!(seen.notes.is_empty(), "link type {link}: {:?}", seen.notes);
    }
}

#[test]
fn padding_of_ethernet_is_no_payload() {
    let grant = made::each_type().remove(1);
    let mut frame = ethernet(0x800, &[], &ipv4(146, &[], &grant));
    frame.resize(90, 0);
    assert!(one(1, frame).notes.is_empty());
}

#[test]
fn options_and_extension_headers_are_passed_over() {
    assert_eq!(one(101, ipv4(146, &[1, 1, 1, 0], &homa())).payload, 100);
    // Hop-by-hop of 8 bytes, routing of 16, authentication of 12, a fragment header of a whole packet.
    let extensions = [
        (0, vec![0, 0, 0, 0, 0, 0, 0]),
        (43, [&[1][..], &[0; 14]].concat()),
        (51, [&[1][..], &[0; 10]].concat()),
        (44, vec![0, 0, 0, 0, 0, 0, 0]),
    ];
    assert_eq!(one(101, ipv6(146, &extensions, &homa())).payload, 100);
}

#[test]
fn fragments_are_reported() {
    let mut first = ipv4(146, &[], &homa());
    first[6..8].copy_from_slice(&[0x20, 0]);
    let mut last = ipv4(146, &[], &[0; 44]);
    last[6..8].copy_from_slice(&[0, 20]);
    let later_six = ipv6(146, &[(44, vec![0, 0, 160, 0, 0, 0, 0])], &[1; 30]);
    let mut of_udp = ipv4(17, &[], &udp(40_000, 4000, &homa()));
    of_udp[6..8].copy_from_slice(&[0x20, 0]);
    let records = [first, last, later_six, of_udp].map(|frame| record(0, frame));
    let found: Vec<_> = items(&pcap(false, false, 101, &records), &[])
        .iter()
        .map(|item| match item {
            Item::Fragment { offset, length, more, .. } => (*offset, *length, *more),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(found, [(0, 156, true), (160, 44, false), (160, 30, false), (0, 164, true)]);
}

#[test]
fn several_packets_in_a_datagram() {
    let all = [homa(), made::each_type().remove(1), made::each_type().remove(12), made::data(8, 9999, 1424, &[1; 500])];
    let frame = ipv4(17, &[], &udp(40_000, 4000, &all.concat()));
    let seen = packets(&pcap(false, false, 101, &[record(0, frame)]));
    let lengths: Vec<_> = seen.iter().map(|seen| seen.head().len() + seen.payload as usize).collect();
    assert_eq!(lengths, all.map(|packet| packet.len()));
    assert_eq!(seen[0].source.to_string(), "10.0.0.1:40000");
}

#[test]
fn udp_is_recognised_by_port_or_by_contents() {
    let nonsense = record(0, ipv4(17, &[], &udp(1, 4000, &[0; 40])));
    let file = pcap(false, false, 101, &[nonsense, record(0, ipv4(17, &[], &udp(7, 8, &homa())))]);
    assert!(matches!(items(&file, &[])[..], [Item::Packet(_)]), "contents");
    let by_port = items(&file, &[4000]);
    assert!(
        matches!(&by_port[..], [Item::Malformed { reason, .. }] if reason == "unknown packet type 0x00"),
        "{by_port:?}"
    );
    assert!(items(&file, &[9]).is_empty());
    // Each byte that all senders fill alike counts.
    for at in [8, 9, 10, 11, 12, 13, 14, 15, 18] {
        let mut odd = homa();
        odd[at] ^= 0x41;
        let file = pcap(false, false, 101, &[record(0, ipv4(17, &[], &udp(7, 8, &odd)))]);
        assert!(items(&file, &[]).is_empty(), "byte {at}");
    }
}

#[test]
fn frames_that_were_cut_say_what_is_missing() {
    for udp_form in [false, true] {
        let whole = match udp_form {
            true => ipv4(17, &[], &udp(40_000, 4000, &homa())),
            false => ipv4(146, &[], &homa()),
        };
        let header = whole.len() - 100;
        for kept in 0..whole.len() {
            let cut = Record { data: whole[..kept].to_vec(), ..record(0, whole.clone()) };
            let found = items(&pcap(false, false, 101, &[cut]), if udp_form { &[4000] } else { &[] });
            match &found[..] {
                [Item::Packet(seen)] => {
                    assert!(kept >= header, "{kept}");
                    assert_eq!((seen.payload, seen.notes.len()), (100, 1), "{:?}", seen.notes);
                    assert_eq!(seen.notes[0], format!("{} bytes of payload not captured", whole.len() - kept));
                }
                [Item::Malformed { reason, .. }] => {
                    assert!(kept < header && reason.contains("captured"), "{kept}: {reason}")
                }
                [] => assert!(kept < 20 + 8, "{kept}"),
                other => panic!("{kept}: {other:?}"),
            }
        }
    }
}

#[test]
fn wrong_lengths_and_sums_are_noted() {
    let note = |frame: Vec<u8>| one(101, frame).notes.join("; ");
    let mut sum = homa();
    sum[16..18].copy_from_slice(&[1, 2]);
    assert_eq!(note(ipv4(146, &[], &sum)), "checksum wrong");
    let mut ip_sum = ipv4(146, &[], &homa());
    ip_sum[10] ^= 1;
    assert_eq!(note(ip_sum), "IP checksum wrong");
    let mut udp_sum = ipv4(17, &[], &udp(1, 2, &homa()));
    udp_sum[26..28].copy_from_slice(&[1, 2]);
    assert_eq!(note(udp_sum), "UDP checksum wrong");
    assert_eq!(note(ipv4(146, &[], &made::data(6, 100, 90, &[5; 30]))), "20 bytes beyond the message's end");
    let grant = [&made::each_type()[1][..], &[0; 7]].concat();
    assert_eq!(note(ipv4(146, &[], &grant)), "7 bytes too many");
    let mut reserved = homa();
    reserved[9] = 1;
    assert_eq!(note(ipv4(146, &[], &reserved)), "reserved bytes are not 0");
    let mut longer = ipv4(146, &[], &homa());
    longer[3] += 8;
    longer[10..12].fill(0);
    assert_eq!(
        note(longer),
        "8 bytes of payload not captured; 8 bytes beyond the message's end; IP length exceeds the frame"
    );
    let ack = made::each_type().remove(12);
    let short = items(&pcap(false, false, 101, &[record(0, ipv4(146, &[], &ack[..40]))]), &[]);
    assert!(
        matches!(&short[..], [Item::Malformed { reason, .. }] if reason == "ACK of 40 bytes, where it has at least 80")
    );
}

/// The sums of the Linux module: see `crates/proto/tests/golden/checksum.rs`.
#[test]
fn checksums_of_the_linux_module() {
    for (name, count) in crate::common::CAPTURES {
        let seen = items(&crate::common::capture(name), &[]);
        let seen = seen.iter().filter_map(|item| if let Item::Packet(seen) = item { Some(seen) } else { None });
        let expected = |seen: &homarus_dissect::decode::Seen| match &name[..2] {
            "20" | "21" | "22" | "23" if seen.source.address.to_string() == "10.77.0.1" => Checksum::Zero,
            "20" | "21" | "22" | "23" => Checksum::Partial,
            "17" if seen.head()[11] == 0x10 => Checksum::Unchecked,
            _ => Checksum::Complete,
        };
        let mut checked = 0;
        for seen in seen {
            assert_eq!(seen.checksum, expected(seen), "{name}");
            checked += 1;
        }
        assert_eq!(checked, count);
    }
}
