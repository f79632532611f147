use crate::args::DissectArgs;
use crate::decode::{Item, UdpPorts, decode};
use crate::error::DissectError;
use crate::file::{Capture, Frame, ReadError};
use crate::report::{Json, Place, Report, Text};
use crate::rpcs::{RpcKey, Rpcs, acked};
use crate::summary::{Counts, Summary};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::process::ExitCode;

/// How a run ended that had no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The file was read to its end, or whoever read the output wants no more.
    Done,
    /// The file was read to its end, but does not hold the RPC that was asked for.
    NoSuchRpc,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        match outcome {
            Outcome::Done => ExitCode::SUCCESS,
            Outcome::NoSuchRpc => ExitCode::FAILURE,
        }
    }
}

/// Runs the command: results go to `out`, remarks to `remarks`. An error of the file comes after everything before the
/// damage was shown, with the summary of it; the command exits with 1 then.
pub fn run(args: &DissectArgs, out: &mut dyn Write, remarks: &mut dyn Write) -> Result<Outcome, DissectError> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let result = print(args, &mut out, remarks).and_then(|outcome| out.flush().map(|()| outcome).map_err(Into::into));
    match result {
        Err(DissectError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(Outcome::Done),
        Err(error) => {
            // What was shown before the error must be seen; if that fails too, the first error says more.
            let _ = out.flush();
            Err(error)
        }
        done => done,
    }
}

fn print(args: &DissectArgs, out: &mut dyn Write, remarks: &mut dyn Write) -> Result<Outcome, DissectError> {
    let Some(file) = args.file.as_ref().filter(|_| !args.lua) else {
        out.write_all(crate::lua::dissector().as_bytes())?;
        return Ok(Outcome::Done);
    };
    let path = file.display().to_string();
    let reader: Box<dyn Read> = if path == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(file).map_err(|source| DissectError::Open { path: path.clone(), source })?)
    };
    dissect(args, &path, reader, out, remarks)
}

/// As [`run`] with a file, but reads it from `reader`; `path` is what messages call it.
pub fn dissect(
    args: &DissectArgs,
    path: &str,
    reader: impl Read,
    out: &mut dyn Write,
    remarks: &mut dyn Write,
) -> Result<Outcome, DissectError> {
    let explain = |error| match error {
        ReadError::File(source) => DissectError::File { path: path.to_owned(), source },
        ReadError::Io { at, source } => DissectError::Read { path: path.to_owned(), at, source },
    };
    let mut capture = Capture::new(reader).map_err(explain)?;
    let mut text;
    let mut json;
    let report: &mut dyn Report = if args.json {
        json = Json { out, fields: args.fields };
        &mut json
    } else {
        text = Text { out, fields: args.fields };
        &mut text
    };
    report.start(path, capture.format())?;
    let mut reading = Reading::new(args);
    let damage = loop {
        match capture.next_frame() {
            Ok(Some(frame)) => reading.frame(&frame, report, remarks)?,
            Ok(None) => break None,
            Err(error) => break Some(explain(error)),
        }
    };
    let outcome = reading.finish(report, remarks)?;
    match damage {
        Some(error) => Err(error),
        None => Ok(outcome),
    }
}

/// What is known in the midst of a file.
struct Reading<'a> {
    args: &'a DissectArgs,
    ports: UdpPorts,
    rpcs: Rpcs,
    counts: Counts,
    /// Of the file's first frame that has one.
    first_time: Option<u64>,
    /// Times of the first and the last packet of each RPC in a timeline; as many as RPCs are followed.
    timelines: BTreeMap<RpcKey, (Option<u64>, Option<u64>)>,
    warned: bool,
}

impl Reading<'_> {
    fn new(args: &DissectArgs) -> Reading<'_> {
        Reading {
            args,
            ports: UdpPorts { ports: args.port.clone() },
            rpcs: Rpcs::new(args.max_rpcs as usize),
            counts: Counts::new(),
            first_time: None,
            timelines: BTreeMap::new(),
            warned: false,
        }
    }

    fn frame(&mut self, frame: &Frame<'_>, report: &mut dyn Report, remarks: &mut dyn Write) -> io::Result<()> {
        self.counts.frame(frame.time);
        self.first_time = self.first_time.or(frame.time);
        let items = match decode(frame, &self.ports) {
            Ok(items) => items,
            Err(other) => {
                self.counts.other(other);
                return Ok(());
            }
        };
        for item in items {
            self.counts.item(&item);
            let since = frame.time.zip(self.first_time).map(|(time, first)| time.saturating_sub(first));
            let place = Place { frame: frame.number, time: frame.time, since, gap: None, digits: frame.digits };
            match self.args.rpc {
                Some(id) => self.in_timeline(id & !1, place, &item, report, remarks)?,
                None => {
                    self.follow(&place, &item, remarks)?;
                    if !self.args.summary {
                        report.item(&place, &item, None)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes a packet into the table of RPCs.
    fn follow(&mut self, place: &Place, item: &Item, remarks: &mut dyn Write) -> io::Result<()> {
        let Item::Packet(seen) = item else {
            return Ok(());
        };
        match self.rpcs.take(seen, place.time) {
            Some(change) => self.counts.change(&change, &self.rpcs, &RpcKey::of(seen)),
            None if !self.warned => {
                self.warned = true;
                let max = self.args.max_rpcs;
                writeln!(
                    remarks,
                    "note: frame {}: {max} RPCs are incomplete at once; what further ones do is counted as not \
                     followed (--max-rpcs permits more)",
                    place.frame
                )?;
            }
            None => {}
        }
        Ok(())
    }

    /// Shows what an item has to do with the RPC that was asked for.
    fn in_timeline(
        &mut self,
        id: u64,
        mut place: Place,
        item: &Item,
        report: &mut dyn Report,
        remarks: &mut dyn Write,
    ) -> io::Result<()> {
        let key = match item {
            Item::Packet(seen) if seen.header.client_id() == id => {
                self.follow(&place, item, remarks)?;
                RpcKey::of(seen)
            }
            Item::Packet(seen) if acked(seen).contains(&id) => {
                self.rpcs.take_acks(seen);
                RpcKey::with_id(seen, id)
            }
            Item::Icmp { icmp, .. } => match icmp.quoted.rpc() {
                Some(key) if key.id == id => key,
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        let Some(rpc) = self.rpcs.get(&key) else {
            return Ok(());
        };
        if !self.timelines.contains_key(&key) && self.timelines.len() >= self.args.max_rpcs as usize {
            self.rpcs.not_followed += 1;
            return Ok(());
        }
        let (first, last) = self.timelines.entry(key).or_insert((place.time, None));
        place.since = place.time.zip(*first).map(|(time, first)| time.saturating_sub(first));
        place.gap = place.time.zip(*last).map(|(time, last)| time.saturating_sub(last));
        *last = place.time.or(*last);
        report.item(&place, item, Some((&key, rpc)))
    }

    fn finish(self, report: &mut dyn Report, remarks: &mut dyn Write) -> io::Result<Outcome> {
        let summary: Summary = self.counts.finish(&self.rpcs);
        remark(&summary, self.args, remarks)?;
        match self.args.rpc {
            Some(id) => {
                for key in self.timelines.keys() {
                    if let Some(rpc) = self.rpcs.get(key) {
                        report.rpc(key, rpc)?;
                    }
                }
                if self.timelines.is_empty() {
                    writeln!(remarks, "note: no packet of RPC {id} among {} Homa packets", summary.homa_packets())?;
                    return Ok(Outcome::NoSuchRpc);
                }
            }
            None if self.args.summary => report.summary(&summary)?,
            None => report.totals(&summary)?,
        }
        Ok(Outcome::Done)
    }
}

/// Says what a user may not expect of the figures.
fn remark(summary: &Summary, args: &DissectArgs, remarks: &mut dyn Write) -> io::Result<()> {
    if summary.not_followed > 0 {
        writeln!(remarks, "note: {} packets belong to RPCs that were not followed", summary.not_followed)?;
    }
    if summary.unknown_link > 0 {
        let count = summary.unknown_link;
        writeln!(
            remarks,
            "note: {count} frames are of link types that are not understood (docs/dissect.md lists those that are)"
        )?;
    }
    if summary.homa_packets() + summary.malformed == 0 && summary.frames > 0 {
        let hint = if args.port.is_empty() { "" } else { ": do they use another port than --port says?" };
        writeln!(remarks, "note: no Homa packets in {} frames{hint}", summary.frames)?;
    }
    Ok(())
}
