//! The dissector in Lua, run by tshark where that is installed: it says what the library says.

use crate::common::{CAPTURES, Record, capture, ethernet, ipv4, ipv6, pcap, record, udp};
use crate::{items, long_sends, made};
use homarus_dissect::decode::{Item, Seen};
use homarus_dissect::table::{self, COMMON, Kind, own_fields};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that goes away again.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("homarus-dissect-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Folder(path)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("a temporary file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder left behind in /tmp is no reason to fail.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs tshark with the dissector; `None` without tshark.
fn tshark(script: &Path, file: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("tshark")
        .env("HOME", script.parent().expect("a folder"))
        .args(["-n", "-X", &format!("lua_script:{}", script.display()), "-r"])
        .arg(file)
        .args(arguments)
        .output();
    let output = match output {
        Ok(output) => output,
        Err(why) => {
            println!("SKIPPED: tshark cannot be run ({why}); the dissector in Lua was not tried");
            return None;
        }
    };
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    assert!(!complaints.to_lowercase().contains("lua"), "{complaints}");
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

/// Names of the fields in the order of the table, each once.
fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    for field in COMMON.iter().chain(table::types().flat_map(own_fields)) {
        if !names.contains(&field.name) {
            names.push(field.name);
        }
    }
    names
}

/// What tshark should print of a frame's fields: several values with commas between.
fn expected(packets: &[&Seen]) -> Vec<String> {
    let mut columns: Vec<String> = names()
        .iter()
        .map(|name| {
            let values = packets.iter().flat_map(|seen| seen.fields()).filter(|(field, _)| field.name == *name);
            let show = |(field, value): (&table::Field, u64)| match field.kind {
                Kind::Signed => field.signed(value).to_string(),
                Kind::Hex | Kind::Flags(_) => format!("0x{value:0width$x}", width = 2 * field.width),
                Kind::Bytes => format!("{value:0width$x}", width = 2 * field.width),
                _ => value.to_string(),
            };
            values.map(show).collect::<Vec<_>>().join(",")
        })
        .collect();
    let each =
        |show: &dyn Fn(&&&Seen) -> Option<String>| packets.iter().filter_map(|seen| show(&seen)).collect::<Vec<_>>();
    columns.push(each(&|seen| Some(seen.header.client_id().to_string())).join(","));
    columns.push(each(&|seen| seen.range().map(|range| range.0.to_string())).join(","));
    columns.push(each(&|seen| seen.range().map(|_| seen.payload.to_string())).join(","));
    columns.push(each(&|seen| Some(info(seen))).join(" | "));
    columns
}

/// The line of the library without what Wireshark shows elsewhere: priority and notes.
fn info(seen: &Seen) -> String {
    let kind = table::type_name(seen.kind());
    let message = match (kind, seen.header.from_client()) {
        ("DATA", true) | ("GRANT" | "RESEND", false) => " request",
        ("DATA", false) | ("GRANT" | "RESEND", true) => " response",
        _ => "",
    };
    let line = format!("{kind} rpc {}{message}", seen.header.client_id());
    // The rest is the library's own text; see `course.rs` for what that is.
    let file = pcap(false, false, 101, &[record(0, ipv4(146, &[], seen.head()))]);
    let (text, _, _) = crate::output(&crate::args(), &file);
    let rest =
        text.lines().next().and_then(|text| text.split_once(&format!("rpc {}{message}", seen.header.client_id())));
    let rest = rest.expect("a line").1.split(", prio").next().expect("a line");
    match seen.range() {
        // The header alone was shown, so the end is what it was with no payload.
        Some((start, end)) => format!(
            "{line} {}",
            rest.trim_start().replacen(&format!("{start}..{start}"), &format!("{start}..{end}"), 1)
        ),
        None => line + rest,
    }
}

fn check(folder: &Folder, script: &Path, name: &str, file: &[u8]) -> Option<usize> {
    let path = folder.write(name, file);
    let mut arguments = vec!["-T".to_owned(), "fields".into(), "-E".into(), "separator=/t".into()];
    arguments.extend(["-E", "occurrence=a", "-E", "aggregator=,"].map(String::from));
    let fields = names().into_iter().map(|name| format!("homa.{name}"));
    let made = ["homa.rpc", "homa.start", "homa.payload_length", "_ws.col.Info"].map(String::from);
    for field in fields.chain(made) {
        arguments.extend(["-e".to_owned(), field]);
    }
    arguments.extend(["-Y".to_owned(), "homa && !icmp && !icmpv6".into()]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let text = tshark(script, &path, &arguments)?;
    let mut by_frame: Vec<Vec<Seen>> = Vec::new();
    let mut capture = homarus_dissect::Capture::new(file).expect("a header");
    while let Some(frame) = capture.next_frame().expect("sound") {
        let found = homarus_dissect::decode(&frame, &Default::default()).unwrap_or_default();
        let packets: Vec<Seen> = found
            .into_iter()
            .filter_map(|item| if let Item::Packet(seen) = item { Some(*seen) } else { None })
            .collect();
        if !packets.is_empty() {
            by_frame.push(packets);
        }
    }
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), by_frame.len(), "{name}: frames with Homa");
    for (number, (line, packets)) in lines.iter().zip(&by_frame).enumerate() {
        let columns: Vec<&str> = line.split('\t').collect();
        let expected = expected(&packets.iter().collect::<Vec<_>>());
        for (index, (column, expected)) in columns.iter().zip(&expected).enumerate() {
            let field = names().get(index).map_or_else(|| format!("column {index}"), |name| (*name).to_owned());
            assert_eq!(column, expected, "{name}, frame {number} with Homa: {field}");
        }
        assert_eq!(columns.len(), expected.len(), "{name}");
    }
    let odd = tshark(
        script,
        &path,
        &["-Y", "_ws.malformed || _ws.lua.error || homa.malformed || homa.beyond || homa.trailing"],
    )?;
    assert_eq!(odd, "", "{name}");
    Some(by_frame.iter().map(Vec::len).sum())
}

#[test]
fn every_capture_says_the_same_in_tshark() {
    let folder = Folder::new("captures");
    let script = folder.write("homa.lua", homarus_dissect::dissector().as_bytes());
    for (name, count) in CAPTURES {
        match check(&folder, &script, name, &capture(name)) {
            Some(checked) => assert_eq!(checked, count, "{name}"),
            None => return,
        }
    }
}

#[test]
fn made_packets_say_the_same_in_tshark() {
    let folder = Folder::new("made");
    let script = folder.write("homa.lua", homarus_dissect::dissector().as_bytes());
    let each = made::each_type();
    let mut frames: Vec<_> = each.iter().map(|homa| ethernet(0x800, &[], &ipv4(146, &[], homa))).collect();
    frames.extend(each.iter().map(|homa| ethernet(0x86dd, &[0x8100], &ipv6(146, &[], homa))));
    frames.extend(each.iter().map(|homa| ethernet(0x86dd, &[], &ipv6(17, &[], &udp(40_000, 4000, homa)))));
    let several =
        [made::data(6, 100, 0, &[1; 100]), each[1].clone(), each[12].clone(), made::data(8, 9999, 1424, &[1; 500])];
    frames.push(ethernet(0x800, &[], &ipv4(17, &[], &udp(40_000, 4000, &several.concat()))));
    let parts: Vec<u8> = (0..6).flat_map(|n| made::data(8, 100_000, n * 1416, &[n as u8; 1416])).collect();
    frames.push(ethernet(0x800, &[], &ipv4(17, &[], &udp(40_000, 4000, &parts))));
    let long = long_sends::linux_super_packet(2848, 1424, 5, 700);
    frames.push(ethernet(0x800, &[], &ipv4(146, &[], &long)));
    let records: Vec<_> = frames.into_iter().enumerate().map(|(n, frame)| record(1000 * n as u64, frame)).collect();
    let file = pcap(false, true, 1, &records);
    let count = items(&file, &[]).len();
    assert_eq!(count, 3 * each.len() + 4 + 6 + 5);
    if let Some(checked) = check(&folder, &script, "made.pcap", &file) {
        assert_eq!(checked, count);
    }
}

#[test]
fn what_is_no_packet_is_marked_in_tshark() {
    let folder = Folder::new("malformed");
    let script = folder.write("homa.lua", homarus_dissect::dissector().as_bytes());
    let ack = &made::each_type()[12][..40];
    let mut unknown = made::data(2, 9, 0, &[0; 9]);
    unknown[11] = 0x44;
    let mut records =
        [ack, &unknown, &[1, 2, 3]].map(|homa| record(0, ethernet(0x800, &[], &ipv4(146, &[], homa)))).to_vec();
    // Cut by the capture, which is nobody's mistake.
    let whole = record(0, ethernet(0x800, &[], &ipv4(146, &[], &made::data(2, 9000, 0, &[0; 900]))));
    for kept in [40, 60, 85, 100, 300] {
        records.push(Record { data: whole.data[..kept].to_vec(), ..whole.clone() });
    }
    let path = folder.write("malformed.pcap", &pcap(false, true, 1, &records));
    let Some(text) = tshark(&script, &path, &["-Y", "homa.malformed", "-T", "fields", "-e", "frame.number"]) else {
        return;
    };
    assert_eq!(text, "1\n2\n3\n");
    assert_eq!(tshark(&script, &path, &["-Y", "_ws.lua.error"]).as_deref(), Some(""));
}

#[test]
fn a_port_can_be_decoded_as_homa_in_tshark() {
    let folder = Folder::new("port");
    let script = folder.write("homa.lua", homarus_dissect::dissector().as_bytes());
    let mut odd = made::data(2, 9, 0, &[0; 9]);
    odd[13] = 0x77;
    let records = [record(0, ethernet(0x800, &[], &ipv4(17, &[], &udp(40_000, 4000, &odd))))];
    let path = folder.write("port.pcap", &pcap(false, true, 1, &records));
    let fields = ["-T", "fields", "-e", "homa.flags"];
    let Some(by_contents) = tshark(&script, &path, &fields) else {
        return;
    };
    assert_eq!(by_contents, "\n", "not plausible");
    let by_port = [&fields[..], &["-d", "udp.port==4000,homa_udp"]].concat();
    assert_eq!(tshark(&script, &path, &by_port).as_deref(), Some("0x77\n"));
}
