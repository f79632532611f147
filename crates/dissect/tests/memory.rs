//! A capture of 100 MB is read in bounded memory. Alone in its process, because it looks at the process's memory.

mod common;

use common::{ethernet, ipv4_between, pcap, record};
use homarus_dissect::DissectArgs;
use homarus_proto::wire::{ACK_LEN, Data, Header, NO_SEGMENT_OFFSET, Packet};
use std::io::{self, Read, Write};

/// Makes a capture while it is read: RPCs of 20,000 bytes each way, every tenth without an end, until it is as long as
/// was asked for.
struct Made {
    ready: Vec<u8>,
    taken: usize,
    given: u64,
    wanted: u64,
    next_id: u64,
}

impl Made {
    fn of(wanted: u64) -> Made {
        Made { ready: pcap(false, true, 1, &[]), taken: 0, given: 0, wanted, next_id: 2 }
    }

    fn make_rpc(&mut self) {
        let id = self.next_id;
        self.next_id += 2;
        let ends_well = !id.is_multiple_of(20);
        let mut records = Vec::new();
        for sender in if ends_well { vec![id, id | 1] } else { vec![id] } {
            for start in (0..20_000u32).step_by(1424) {
                let fields = Data {
                    message_length: 20_000,
                    incoming: 20_000,
                    segment_offset: NO_SEGMENT_OFFSET,
                    ..Data::default()
                };
                let mut header = Header::new(40_000, 4000, sender, Packet::Data(fields));
                header.sequence = start;
                let mut out = [0; ACK_LEN];
                let length = header.emit(&mut out);
                let payload = [7; 1424];
                let homa = [&out[..length], &payload[..1424.min(20_000 - start as usize)]].concat();
                let (from, to) =
                    if sender == id { ([10, 0, 0, 1], [10, 0, 0, 2]) } else { ([10, 0, 0, 2], [10, 0, 0, 1]) };
                let time = 10_000 * id + records.len() as u64;
                records.push(record(time, ethernet(0x800, &[], &ipv4_between(from, to, 146, &[], &homa))));
            }
        }
        self.ready = pcap(false, true, 1, &records).split_off(24);
        self.taken = 0;
    }
}

impl Read for Made {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.ready.len() {
            if self.given >= self.wanted {
                return Ok(0);
            }
            self.make_rpc();
        }
        let length = out.len().min(self.ready.len() - self.taken);
        out[..length].copy_from_slice(&self.ready[self.taken..self.taken + length]);
        self.taken += length;
        self.given += length as u64;
        Ok(length)
    }
}

/// Counts what is written.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The most memory that the process had, bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| 1024 * kilobytes)
}

#[test]
fn a_hundred_megabytes_in_bounded_memory() {
    const LENGTH: u64 = 100_000_000;
    const MORE: u64 = 16 << 20;
    let Some(before) = peak() else {
        println!("SKIPPED: no /proc/self/status to read the process's memory from");
        return;
    };
    for summary in [false, true] {
        let args = DissectArgs {
            file: Some("made".into()),
            rpc: None,
            summary,
            fields: false,
            json: true,
            port: Vec::new(),
            max_rpcs: 1000,
            lua: false,
        };
        let (mut out, mut remarks) = (Counted(0), Vec::new());
        let start = std::time::Instant::now();
        homarus_dissect::dissect(&args, "made", Made::of(LENGTH), &mut out, &mut remarks).expect("a sound file");
        let more = peak().expect("read before").saturating_sub(before);
        println!(
            "{LENGTH} bytes read, {} written in {:.1} s; {} KiB more memory than before",
            out.0,
            start.elapsed().as_secs_f64(),
            more >> 10
        );
        assert!(more < MORE, "{more} bytes of memory");
        assert!(remarks.is_empty(), "{}", String::from_utf8_lossy(&remarks));
    }
}
