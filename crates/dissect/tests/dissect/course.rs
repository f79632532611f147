//! Lines, timelines, summaries and JSON over the captures.

use crate::common::{CAPTURES, Record, capture, ethernet, ipv4_between, pcap, record};
use crate::{args, made, output};
use homarus_dissect::{DissectArgs, Outcome};
use homarus_proto::wire::Packet;
use serde_json::Value;

fn json(args: DissectArgs, file: &[u8]) -> Vec<Value> {
    let (text, _, result) = output(&DissectArgs { json: true, ..args }, file);
    result.expect("a sound file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn summary(file: &[u8]) -> Value {
    let lines = json(DissectArgs { summary: true, ..args() }, file);
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["event"], &lines[0]["schema_version"]), (&"start".into(), &1.into()));
    lines[1].clone()
}

#[test]
fn a_line_a_packet() {
    let (text, remarks, result) = output(&args(), &capture("01_single_100B"));
    assert_eq!(result.expect("sound"), Outcome::Done);
    assert_eq!(remarks, "");
    let expected = "    \
    0.000000  10.99.0.1:32778 > 10.99.0.2:4000  DATA     rpc 1550 request 0..100 of 100 incoming 100 acks rpc 1548 at port 4000 cutoffs version 1, prio 7
    0.001170  10.99.0.2:4000 > 10.99.0.1:32778  DATA     rpc 1550 response 0..100 of 100 incoming 100 cutoffs version 1, prio 7
    0.005963  10.99.0.2:4000 > 10.99.0.1:32778  NEED_ACK rpc 1550, prio 7
    0.006428  10.99.0.1:32778 > 10.99.0.2:4000  ACK      rpc 1550 lists 1 rpc 1550 at port 4000, prio 7
4 Homa packets in 4 frames; 1 RPCs, 1 of them complete
";
    assert_eq!(text, expected);
}

#[test]
fn lines_of_each_type() {
    let frames: Vec<_> = made::each_type()
        .iter()
        .map(|homa| record(0, ethernet(0x800, &[], &crate::common::ipv4(146, &[], homa))))
        .collect();
    let (text, _, _) = output(&args(), &pcap(false, false, 1, &frames));
    let id = 0xf000_0000_0000_0010u64;
    let said: Vec<&str> = text.lines().filter_map(|line| line.split_once("40000  ")).map(|(_, said)| said).collect();
    let expected = [
        format!(
            "DATA     rpc {id} response 40..100 of 100 incoming 90 acks rpc 9223372036854775826 at port 5009 cutoffs version 3 retransmission ext incast homarus rtt 79.0 us, prio 5"
        ),
        format!("GRANT    rpc {id} request up to 70000 at priority 2, prio 5"),
        format!("RESEND   rpc {id} request from 1424 length -1 at priority 6, prio 5"),
        format!("RESEND   rpc {id} request from 2848 length 1424 at priority 7, prio 5"),
        format!("UNKNOWN  rpc {id} ended, prio 5"),
        format!("UNKNOWN  rpc {id} too long, prio 5"),
        format!("UNKNOWN  rpc {id}, prio 5"),
        format!("BUSY     rpc {id} no room, prio 5"),
        format!("BUSY     rpc {id}, prio 5"),
        format!("CUTOFFS  rpc {id} 8 7 6 5 4 3 2 1 version 12, prio 5"),
        format!("FREEZE   rpc {id}, prio 5"),
        format!("NEED_ACK rpc {id}, prio 5"),
    ];
    assert_eq!(said[..12], expected.each_ref().map(String::as_str));
    assert!(
        said[12].starts_with(&format!("ACK      rpc {id} lists 5 rpc 9223372036854775810 at port 5001 rpc ")),
        "{}",
        said[12]
    );
}

#[test]
fn all_fields_on_request() {
    let (text, _, _) = output(&DissectArgs { fields: true, ..args() }, &capture("01_single_100B"));
    assert!(
        text.contains("     20 sender_id        1551                         RPC id as the sender sees it"),
        "{text}"
    );
    assert!(text.contains("     11 type             ACK (24) "), "{text}");
    assert!(text.contains("        100 bytes of payload, checksum complete"), "{text}");
}

#[test]
fn summaries_count_every_packet() {
    for (name, count) in CAPTURES {
        let summary = summary(&capture(name));
        let counted: u64 = summary["packets"].as_object().expect("counts").values().filter_map(Value::as_u64).sum();
        assert_eq!(counted as usize, count, "{name}");
        let icmp = matches!(&name[..2], "15" | "23") as u64;
        assert_eq!(summary["icmp"], icmp, "{name}");
        assert_eq!(summary["frames"].as_u64(), Some(counted + icmp), "{name}");
        for zero in [
            "with_notes",
            "uncut",
            "malformed",
            "fragments",
            "other_frames",
            "unknown_link",
            "broken_ip",
            "not_followed",
        ] {
            assert_eq!(summary[zero], 0, "{name}: {zero}");
        }
    }
}

#[test]
fn what_is_known_of_the_captures() {
    let lossy = summary(&capture("05_loss5pct_100KB"));
    assert_eq!((&lossy["complete"], &lossy["incomplete"]), (&1.into(), &0.into()));
    assert_eq!((&lossy["packets"]["RESEND"], &lossy["packets"]["BUSY"]), (&3.into(), &1.into()));
    assert_eq!((&lossy["resent_packets"], &lossy["resent_bytes"]), (&2.into(), &2848.into()));
    assert_eq!(lossy["request_bytes"]["p50"], 100_000);
    let duration = lossy["duration_ns"]["max"].as_u64().expect("a duration");
    assert!((35_000_000..36_000_000).contains(&duration), "{duration}");

    let hole = summary(&capture("10_blackhole_server_to_client_timeout"));
    assert_eq!((&hole["complete"], &hole["incomplete"]), (&0.into(), &1.into()));
    assert_eq!(hole["first_incomplete"][0]["state"], "no response");
    assert_eq!(hole["first_incomplete"][0]["request_seen"], 100);

    let acks = summary(&capture("13_ack_overflow_12x100B_parallel"));
    assert_eq!((&acks["complete"], &acks["control_only"]), (&12.into(), &0.into()));
}

#[test]
fn the_course_of_an_rpc() {
    let (text, _, _) = output(&DissectArgs { rpc: Some(1552), ..args() }, &capture("02_100KB_echo_grants"));
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].contains("         -  ") && lines[0].ends_with("request: granted 40000, seen 1424, outstanding 38576"),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].contains("GRANT") && lines[1].ends_with("request: granted 100000, seen 1424, outstanding 98576"),
        "{}",
        lines[1]
    );
    assert!(lines[1].contains("  +575.0 us  "), "{}", lines[1]);
    let end = &lines[lines.len() - 4..];
    assert_eq!(end[0], "rpc 1552 of 10.99.0.1:32779 to 10.99.0.2:4000: complete");
    assert!(end[1].starts_with("  request  100000 bytes, seen 100000 in "), "{}", end[1]);
    assert!(end[3].starts_with("  210 packets, 0 RESEND, acknowledged, duration "), "{}", end[3]);
    assert_eq!(lines.len(), 210 + 4);
}

/// The server's id is the client's plus one: either may be given.
#[test]
fn a_timeline_by_either_id_and_with_what_others_say() {
    let file = capture("13_ack_overflow_12x100B_parallel");
    let by = |id| output(&DissectArgs { rpc: Some(id), ..args() }, &file).0;
    assert_eq!(by(7762), by(7763));
    let text = by(7762);
    assert!(text.lines().nth(2).is_some_and(|line| line.contains("ACK      rpc 7772 lists 5 rpc 7762")), "{text}");
    assert!(text.ends_with("  2 packets, 0 RESEND, acknowledged, duration 2.04 ms\n"), "{text}");
    let (text, _, _) = output(&DissectArgs { rpc: Some(9320), ..args() }, &capture("15_port_unreachable"));
    assert!(text.contains("ICMP     port unreachable: packet of rpc 9320 to 10.99.0.2"), "{text}");
}

#[test]
fn an_rpc_that_is_not_there_is_a_failure() {
    let (text, remarks, result) = output(&DissectArgs { rpc: Some(4), ..args() }, &capture("01_single_100B"));
    assert_eq!((text.as_str(), result.expect("sound")), ("", Outcome::NoSuchRpc));
    assert_eq!(remarks, "note: no packet of RPC 4 among 4 Homa packets\n");
}

#[test]
fn json_has_every_field_by_name() {
    let lines = json(DissectArgs { fields: true, ..args() }, &capture("13_ack_overflow_12x100B_parallel"));
    assert_eq!(lines.len(), 1 + 26 + 1);
    let ack = lines.iter().find(|line| line["type"] == "ACK" && line["rpc"] == "7772").expect("five acks");
    assert_eq!(ack["fields"]["acks.client_id"], serde_json::json!(["7762", "7764", "7766", "7768", "7770"]));
    assert_eq!(ack["fields"]["acks.count"], 5);
    assert_eq!(ack["time"], "1796081774.609471");
    assert_eq!(lines[1]["fields"]["segment_offset"], -1);
    assert_eq!(
        (&lines[1]["start"], &lines[1]["end"], &lines[1]["message"]),
        (&0.into(), &100.into(), &"request".into())
    );
}

/// Requests of `count` clients, each with its first packet alone, then a whole exchange.
fn many_clients(count: u32) -> Vec<Record> {
    let frame = |client: [u8; 4], to_server: bool, homa: &[u8]| {
        let (from, to) = if to_server { (client, [10, 9, 9, 9]) } else { ([10, 9, 9, 9], client) };
        ethernet(0x800, &[], &ipv4_between(from, to, 146, &[], homa))
    };
    let half = |n: u32| record(u64::from(n), frame((n + 1).to_be_bytes(), true, &made::data(2, 200, 0, &[1; 100])));
    let mut records: Vec<_> = (0..count).map(half).collect();
    records.push(record(1 << 30, frame([1, 1, 1, 1], true, &made::data(2, 5, 0, b"hello"))));
    records.push(record(1 << 31, frame([1, 1, 1, 1], false, &made::data(3, 5, 0, b"world"))));
    records
}

#[test]
fn too_many_rpcs_are_said_aloud() {
    let file = pcap(false, true, 1, &many_clients(50));
    let whole = summary(&file);
    assert_eq!((&whole["incomplete"], &whole["complete"], &whole["not_followed"]), (&50.into(), &1.into(), &0.into()));
    let few = DissectArgs { max_rpcs: 40, summary: true, ..args() };
    let (text, remarks, result) = output(&few, &file);
    assert_eq!(result.expect("sound"), Outcome::Done);
    assert!(text.contains("12 packets of RPCs beyond --max-rpcs, not followed"), "{text}");
    assert!(text.contains("and 20 more"), "{text}");
    assert!(remarks.starts_with("note: frame 41: 40 RPCs are incomplete at once; "), "{remarks}");
    assert!(remarks.contains("note: 12 packets belong to RPCs that were not followed"), "{remarks}");
}

#[test]
fn complete_rpcs_make_room() {
    let exchange = |id: u64| {
        let frame = |homa: &[u8]| ethernet(0x800, &[], &crate::common::ipv4_between([1; 4], [2; 4], 146, &[], homa));
        let back = |homa: &[u8]| ethernet(0x800, &[], &crate::common::ipv4_between([2; 4], [1; 4], 146, &[], homa));
        let time = 1000 * id;
        [record(time, frame(&made::data(id, 1, 0, b"?"))), record(time + 250, back(&made::data(id + 1, 1, 0, b"!")))]
    };
    let records: Vec<_> = (1..=100).flat_map(|n| exchange(2 * n)).collect();
    let lines = json(DissectArgs { max_rpcs: 3, summary: true, ..args() }, &pcap(true, true, 1, &records));
    assert_eq!(
        (&lines[1]["complete"], &lines[1]["rpcs"], &lines[1]["not_followed"]),
        (&100.into(), &100.into(), &0.into())
    );
    assert_eq!(lines[1]["duration_ns"]["p50"], 250);
}

#[test]
fn a_refusal_is_no_mystery() {
    let frame = |homa: &[u8]| ethernet(0x800, &[], &crate::common::ipv4(146, &[], homa));
    let mut unknown = made::header(3, Packet::Unknown);
    unknown.sequence = homarus_proto::wire::Header::TOO_LONG;
    let back = ipv4_between([10, 0, 0, 2], [10, 0, 0, 1], 146, &[], &made::bytes(&unknown, &[]));
    let records = [record(0, frame(&made::data(2, 9000, 0, &[0; 1424]))), record(9, ethernet(0x800, &[], &back))];
    let summary = summary(&pcap(false, false, 1, &records));
    assert_eq!(summary["first_incomplete"][0]["state"], "refused by the server");
}

#[test]
fn a_file_without_homa_says_so() {
    let records = [record(0, ethernet(0x806, &[], &[0; 28]))];
    let (text, remarks, _) = output(&args(), &pcap(false, false, 1, &records));
    assert_eq!(text, "0 Homa packets in 1 frames; 0 RPCs, 0 of them complete\n");
    assert_eq!(remarks, "note: no Homa packets in 1 frames\n");
    let (_, remarks, _) = output(&args(), &pcap(false, false, 105, &records));
    assert!(remarks.contains("1 frames are of link types that are not understood"), "{remarks}");
}
