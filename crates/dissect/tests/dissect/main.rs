//! Captures read: the Linux module's, and files and frames made by hand.

#[path = "../common/mod.rs"]
mod common;

mod agree;
mod course;
mod damage;
mod files;
mod frames;
mod long_sends;
mod made;
mod tshark;

use homarus_dissect::{Capture, DissectArgs, DissectError, Outcome, decode, decode::Item};

/// What the command line's defaults are.
fn args() -> DissectArgs {
    DissectArgs {
        file: Some("made".into()),
        rpc: None,
        summary: false,
        fields: false,
        json: false,
        port: Vec::new(),
        max_rpcs: 100_000,
        lua: false,
    }
}

/// Everything of Homa in a file that is sound.
fn items(file: &[u8], ports: &[u16]) -> Vec<Item> {
    let mut capture = Capture::new(file).expect("a header");
    let ports = decode::UdpPorts { ports: ports.to_vec() };
    let mut found = Vec::new();
    while let Some(frame) = capture.next_frame().expect("a frame") {
        found.extend(decode(&frame, &ports).unwrap_or_default());
    }
    found
}

/// The packets among them; nothing else may be there.
fn packets(file: &[u8]) -> Vec<decode::Seen> {
    let packet = |item| match item {
        Item::Packet(seen) => *seen,
        other => panic!("no packet: {other:?}"),
    };
    items(file, &[]).into_iter().map(packet).collect()
}

/// What the command prints, its remarks, and how it ends.
fn output(args: &DissectArgs, file: &[u8]) -> (String, String, Result<Outcome, DissectError>) {
    let (mut out, mut remarks) = (Vec::new(), Vec::new());
    let result = homarus_dissect::dissect(args, "made", file, &mut out, &mut remarks);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(out), text(remarks), result)
}
