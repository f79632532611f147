//! Files that are damaged, cut off or made to hurt.

use crate::common::{Order, Record, block, capture, enhanced, ethernet, interface, ipv4, pcap, record, section, udp};
use crate::{args, made, output};
use homarus_dissect::{DissectArgs, DissectError, MAX_RECORD};
use proptest::prelude::*;
use std::io::{self, Read, Write};

/// Where a file is damaged, and what is said of it.
fn complaint(file: &[u8]) -> (u64, String) {
    match output(&args(), file).2.expect_err("damage") {
        DissectError::File { source, path } => {
            assert_eq!(path, "made");
            (source.at, source.to_string())
        }
        other => panic!("{other}"),
    }
}

#[test]
fn no_capture_at_all() {
    for (file, expected) in [
        (&b""[..], "byte 0 (file header): expected the file's first 4 bytes, found the end of the file"),
        (b"ab", "byte 2 (file header): expected the file's first 4 bytes, found only 2 and the end of the file"),
        (b"#!/bin/sh", "byte 0 (file header): expected the magic number of pcap or pcapng, found 23212f62"),
        (
            &[0x1f, 0x8b, 8, 0, 0],
            "byte 0 (file header): expected the magic number of pcap or pcapng, found 1f8b0800 (gzip: unpack the file first)",
        ),
        (
            &[0xd4, 0xc3, 0xb2, 0xa1, 9, 0, 0, 0],
            "byte 8 (file header): expected 20 more bytes of header, found only 4 and the end of the file",
        ),
    ] {
        assert_eq!(complaint(file).1, expected);
    }
    let mut version = pcap(false, false, 1, &[]);
    version[4] = 7;
    assert_eq!(complaint(&version).1, "byte 4 (file header): expected version 2 of the format, found version 7");
}

/// What stands before the damage is shown.
#[test]
fn a_cut_capture_says_where_and_shows_what_it_has() {
    let file = capture("01_single_100B");
    // The header has 24 bytes; records have 16 and their frames.
    let (text, _, result) = output(&args(), &file[..300]);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert_eq!(
        result.expect_err("cut").to_string(),
        "made: byte 300 (record 2): expected 190 bytes, found only 54 and the end of the file"
    );
    assert_eq!(
        complaint(&file[..235]).1,
        "byte 235 (record 2): expected 16 bytes of record header, found only 5 and the end of the file"
    );
}

#[test]
fn absurd_lengths() {
    let mut file = capture("01_single_100B");
    file[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let (at, said) = complaint(&file);
    assert_eq!(
        (at, said.as_str()),
        (32, "byte 32 (record 1): expected a captured length of at most 1048576, found 4294967295")
    );
    let order = Order(false);
    let start = [section(order), interface(order, 1, 0, &[])].concat();
    let at = start.len() as u64;
    let with = |block: &[u8]| complaint(&[&start[..], block].concat());
    let mut long = enhanced(order, 0, 0, &record(0, vec![0; 8]));
    long[20..24].copy_from_slice(&9_000u32.to_le_bytes());
    let expected = "(block 3): expected a captured length of at most 20, found 9000";
    assert_eq!(with(&long), (at + 20, format!("byte {} {expected}", at + 20)));
    let mut short = block(order, 6, &[]);
    assert_eq!(
        with(&short).1,
        format!("byte {} (block 3): expected 20 bytes of packet header, found a body of 0", at + 8)
    );
    short[4] = 8;
    assert!(with(&short).1.ends_with("expected a block length of at least 12, a multiple of 4, found 8"));
    let mut trailer = block(order, 5, &[0; 8]);
    trailer[16] = 24;
    assert!(with(&trailer).1.ends_with("expected the block's length 20 once more, found 24"), "{}", with(&trailer).1);
    let mut skipped = block(order, 77, &[0; 8]);
    skipped[4..8].copy_from_slice(&0xffff_fff0u32.to_le_bytes());
    assert!(
        with(&skipped).1.contains("expected 4294967268 bytes, found only 12 and the end of the file"),
        "{}",
        with(&skipped).1
    );
    let option = interface(order, 1, 0, &[(9, vec![6])]);
    let mut broken = option.clone();
    broken[18] = 200;
    assert!(with(&broken).1.contains("expected an option of at most"), "{}", with(&broken).1);
    assert!(
        with(&enhanced(order, 3, 0, &record(0, vec![1])))
            .1
            .contains("expected an interface below 1, found interface 3")
    );
    let mut mark = section(order);
    mark[8] = 0;
    assert!(complaint(&mark).1.contains("expected the byte-order mark"), "{}", complaint(&mark).1);
}

/// A reader that fails after some bytes, and a writer whose reader is gone.
#[derive(Debug)]
struct Fails(&'static [u8], io::ErrorKind);

impl Read for Fails {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() { Err(self.1.into()) } else { self.0.read(out) }
    }
}

impl Write for Fails {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.1.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(self.1.into())
    }
}

#[test]
fn failures_of_the_system_are_told_apart() {
    let reader = Fails(&[0xd4, 0xc3, 0xb2, 0xa1], io::ErrorKind::PermissionDenied);
    let error = homarus_dissect::dissect(&args(), "disk", reader, &mut Vec::new(), &mut Vec::new());
    assert_eq!(error.expect_err("no more bytes").to_string(), "cannot read disk beyond byte 4");
    let there = |name: &str| DissectArgs { file: Some(crate::common::capture_path(name)), ..args() };
    let run = |args: &DissectArgs, kind| homarus_dissect::run(args, &mut Fails(&[], kind), &mut Vec::new());
    assert!(run(&there("01_single_100B"), io::ErrorKind::BrokenPipe).is_ok(), "head has seen enough");
    let full = run(&there("01_single_100B"), io::ErrorKind::StorageFull).expect_err("a full disk");
    assert_eq!(full.to_string(), "cannot write the output");
    let missing = run(&there("99_missing"), io::ErrorKind::Other).expect_err("no such file");
    assert!(missing.to_string().starts_with("cannot open "), "{missing}");
}

/// All ways to run the command over a file.
fn run_all(file: &[u8]) {
    let plain = args();
    for args in [
        DissectArgs { fields: true, ..plain.clone() },
        DissectArgs { json: true, fields: true, port: vec![4000], ..plain.clone() },
        DissectArgs { summary: true, max_rpcs: 2, ..plain.clone() },
        DissectArgs { rpc: Some(2), ..plain },
    ] {
        let (text, _, _) = output(&args, file);
        if args.json {
            for line in text.lines() {
                serde_json::from_str::<serde_json::Value>(line).expect("JSON");
            }
        }
    }
}

/// Small captures of every kind, to be damaged.
fn samples() -> Vec<Vec<u8>> {
    let mut frames: Vec<Record> =
        made::each_type().iter().map(|homa| record(0, ethernet(0x800, &[0x8100], &ipv4(146, &[], homa)))).collect();
    frames.push(record(5, ethernet(0x800, &[], &ipv4(17, &[], &udp(4000, 40_000, &made::each_type().concat())))));
    frames.push(record(
        5,
        ethernet(
            0x86dd,
            &[],
            &crate::common::ipv6(146, &[(0, vec![0; 7]), (44, vec![0; 7])], &made::data(2, 9, 0, &[1; 9])),
        ),
    ));
    let order = Order(false);
    let mut pcapng = [section(order), interface(order, 1, 0, &[(9, vec![9]), (14, vec![1; 8])])].concat();
    frames.iter().for_each(|frame| pcapng.extend(enhanced(order, 0, 7, frame)));
    vec![
        pcap(false, false, 1, &frames),
        pcap(true, true, 1, &frames),
        pcapng,
        capture("00_cold_first_contact_100B"),
        capture("15_port_unreachable"),
    ]
}

#[test]
fn cut_at_every_byte() {
    for file in samples() {
        for end in 0..file.len() {
            let (text, _, result) = output(&args(), &file[..end]);
            assert!(result.is_err() || text.contains(" frames; "), "{end}");
        }
    }
}

#[test]
fn a_capture_of_everything_cut_stays_within_the_largest_record() {
    let record = Record { time: 0, data: vec![0; MAX_RECORD as usize], wire_len: usize::MAX & 0xffff_ffff };
    let (text, _, result) = output(&args(), &pcap(false, false, 101, &[record]));
    result.expect("as long as permitted");
    assert!(text.starts_with("0 Homa packets in 1 frames"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..600), magic in 0usize..5) {
        let start: &[u8] = [&[][..], &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0], &[0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4], &[10, 13, 13, 10], &[10, 13, 13, 10, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0]][magic];
        run_all(&[start, &bytes].concat());
    }

    /// Any bytes in a frame of any link type.
    #[test]
    fn random_frames(link in prop::sample::select(vec![0u16, 1, 101, 108, 113, 228, 229, 276]), frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8)) {
        let records: Vec<_> = frames.into_iter().map(|frame| record(1, frame)).collect();
        run_all(&pcap(false, false, link, &records));
    }

    /// Captures with some bytes changed: most stay readable, and say other things.
    #[test]
    fn mutated_captures(which in 0usize..5, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12), from in 0usize..3) {
        let mut file = samples().swap_remove(which);
        let from = [0, 24, 80][from].min(file.len() - 1);
        for (at, value) in changes {
            let at = from + at.index(file.len() - from);
            file[at] = value;
        }
        run_all(&file);
    }

    /// Homa packets with any header, of any length, in either form: each becomes one packet or is called malformed.
    #[test]
    fn random_headers(mut homa in prop::collection::vec(any::<u8>(), 12..3000), code in 0x0fu8..=0x19, doff in prop::sample::select(vec![0x50u8, 0xd0, 0xe0]), cut in 0usize..50) {
        homa[11] = code;
        if homa.len() > 12 {
            homa[12] = doff;
        }
        let mut records = vec![record(0, ipv4(146, &[], &homa)), record(1, ipv4(17, &[], &udp(4000, 1, &homa)))];
        for record in &mut records {
            let kept = record.data.len() - cut.min(homa.len());
            record.data.truncate(kept);
        }
        run_all(&pcap(false, false, 101, &records));
        prop_assert!(!crate::items(&pcap(false, false, 101, &records), &[4000]).is_empty());
    }
}
