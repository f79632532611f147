//! Counts over a whole capture.

use crate::decode::{Item, Other, Seen};
use crate::rpcs::{Change, RpcKey, Rpcs};
use crate::table::TYPES;
use hdrhistogram::Histogram;
use homarus_proto::wire::Packet;
use serde::Serialize;
use std::collections::BTreeMap;

/// Incomplete RPCs that a summary lists; it counts all.
pub const LISTED: usize = 20;

/// Some values of a distribution; within 0.1 % of what was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// How many values.
    pub count: u64,
    /// The least.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// 90 % are at most this.
    pub p90: u64,
    /// 99 % are at most this.
    pub p99: u64,
    /// 99.9 % are at most this.
    pub p999: u64,
    /// The greatest.
    pub max: u64,
}

/// A distribution being recorded, in memory that does not grow.
#[derive(Debug)]
struct Recorded {
    histogram: Histogram<u64>,
    /// Exactly, while the histogram rounds.
    range: Option<(u64, u64)>,
}

impl Recorded {
    fn new() -> Recorded {
        // The crate refuses other bounds than these: 1 to 2^62 with three significant digits take half a megabyte.
        let histogram = Histogram::new_with_bounds(1, 1 << 62, 3).expect("three digits are permitted");
        Recorded { histogram, range: None }
    }

    fn record(&mut self, value: u64) {
        self.histogram.saturating_record(value);
        self.range = Some(self.range.map_or((value, value), |(min, max)| (min.min(value), max.max(value))));
    }

    fn spread(&self) -> Option<Spread> {
        let (min, max) = self.range?;
        let at = |quantile| self.histogram.value_at_quantile(quantile).clamp(min, max);
        Some(Spread {
            count: self.histogram.len(),
            min,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max,
        })
    }
}

/// An RPC whose response was not seen wholly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Incomplete {
    /// The id as the client knows it, decimal.
    pub rpc: String,
    /// The client's end.
    pub client: String,
    /// The server's end.
    pub server: String,
    /// How far it came.
    pub state: &'static str,
    /// Bytes in the request, if DATA of it was seen.
    pub request_length: Option<u32>,
    /// Bytes of the request that were seen.
    pub request_seen: u32,
    /// Bytes in the response, if DATA of it was seen.
    pub response_length: Option<u32>,
    /// Bytes of the response that were seen.
    pub response_seen: u32,
}

/// What a capture holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Frames read.
    pub frames: u64,
    /// Nanoseconds from the earliest frame to the latest.
    pub span_ns: Option<u64>,
    /// Homa packets of each type.
    pub packets: BTreeMap<&'static str, u64>,
    /// Packets about which there is something odd.
    pub with_notes: u64,
    /// Packets captured as parts of longer sends.
    pub uncut: u64,
    /// Homa's bytes that made no packet.
    pub malformed: u64,
    /// Pieces of IP packets of Homa.
    pub fragments: u64,
    /// ICMP messages about Homa packets.
    pub icmp: u64,
    /// Frames of other protocols.
    pub other_frames: u64,
    /// Frames of link types that are not understood.
    pub unknown_link: u64,
    /// Frames with IP headers that were cut or impossible.
    pub broken_ip: u64,
    /// RPCs of which DATA was seen.
    pub rpcs: u64,
    /// Those of which the whole response was seen.
    pub complete: u64,
    /// The others.
    pub incomplete: u64,
    /// RPCs of which control packets alone were seen.
    pub control_only: u64,
    /// Packets of RPCs that were not followed, because there were too many.
    pub not_followed: u64,
    /// Lengths of requests, bytes.
    pub request_bytes: Option<Spread>,
    /// Lengths of responses, bytes.
    pub response_bytes: Option<Spread>,
    /// Nanoseconds from the first DATA of a request to the last byte of its response.
    pub duration_ns: Option<Spread>,
    /// Payload of all DATA packets, bytes.
    pub payload_bytes: u64,
    /// DATA packets marked as retransmissions.
    pub resent_packets: u64,
    /// Their payload, bytes.
    pub resent_bytes: u64,
    /// Payload that the capture had seen before, marked or not, bytes.
    pub seen_before_bytes: u64,
    /// The first of the incomplete RPCs.
    pub first_incomplete: Vec<Incomplete>,
}

/// A summary being made.
#[derive(Debug)]
pub(crate) struct Counts {
    summary: Summary,
    times: Option<(u64, u64)>,
    requests: Recorded,
    responses: Recorded,
    durations: Recorded,
}

impl Counts {
    pub(crate) fn new() -> Counts {
        Counts {
            summary: Summary::default(),
            times: None,
            requests: Recorded::new(),
            responses: Recorded::new(),
            durations: Recorded::new(),
        }
    }

    pub(crate) fn frame(&mut self, time: Option<u64>) {
        self.summary.frames += 1;
        if let Some(time) = time {
            self.times = Some(self.times.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        }
    }

    pub(crate) fn other(&mut self, other: Other) {
        match other {
            Other::Link => self.summary.unknown_link += 1,
            Other::BrokenIp(_) => self.summary.broken_ip += 1,
            Other::NotIp | Other::NotHoma => self.summary.other_frames += 1,
        }
    }

    pub(crate) fn item(&mut self, item: &Item) {
        match item {
            Item::Packet(seen) => self.packet(seen),
            Item::Malformed { .. } => self.summary.malformed += 1,
            Item::Fragment { .. } => self.summary.fragments += 1,
            Item::Icmp { .. } => self.summary.icmp += 1,
        }
    }

    fn packet(&mut self, seen: &Seen) {
        let summary = &mut self.summary;
        *summary.packets.entry(crate::table::type_name(seen.kind())).or_default() += 1;
        summary.with_notes += u64::from(!seen.notes.is_empty());
        summary.uncut += u64::from(seen.uncut);
        if let Packet::Data(data) = &seen.header.packet {
            summary.payload_bytes += u64::from(seen.payload);
            if data.retransmit != 0 {
                summary.resent_packets += 1;
                summary.resent_bytes += u64::from(seen.payload);
            }
        }
    }

    /// Takes what a packet meant for its RPC.
    pub(crate) fn change(&mut self, change: &Change, rpcs: &Rpcs, key: &RpcKey) {
        self.summary.seen_before_bytes += u64::from(change.seen_before);
        if let Some((is_request, length)) = change.new_message {
            let lengths = if is_request { &mut self.requests } else { &mut self.responses };
            lengths.record(u64::from(length));
        }
        if change.completed {
            self.summary.complete += 1;
            if let Some(duration) = rpcs.get(key).and_then(|rpc| rpc.duration()) {
                self.durations.record(duration);
            }
        }
    }

    pub(crate) fn finish(self, rpcs: &Rpcs) -> Summary {
        let mut summary = self.summary;
        summary.span_ns = self.times.map(|(first, last)| last - first);
        summary.not_followed = rpcs.not_followed;
        summary.request_bytes = self.requests.spread();
        summary.response_bytes = self.responses.spread();
        summary.duration_ns = self.durations.spread();
        for (key, rpc) in rpcs.in_order() {
            if !rpc.has_data() {
                summary.control_only += 1;
            } else if !rpc.is_complete() {
                summary.incomplete += 1;
                if summary.first_incomplete.len() < LISTED {
                    summary.first_incomplete.push(Incomplete {
                        rpc: key.id.to_string(),
                        client: rpc.client.to_string(),
                        server: rpc.server.to_string(),
                        state: rpc.state(),
                        request_length: rpc.request.length,
                        request_seen: rpc.request.covered(),
                        response_length: rpc.response.length,
                        response_seen: rpc.response.covered(),
                    });
                }
            }
        }
        summary.rpcs = summary.complete + summary.incomplete;
        summary
    }
}

impl Summary {
    /// Homa packets of all types.
    pub fn homa_packets(&self) -> u64 {
        self.packets.values().sum()
    }

    /// Homa packets of one type, by its name.
    pub fn packets_of(&self, name: &str) -> u64 {
        self.packets.get(name).copied().unwrap_or(0)
    }

    /// How many of each type, in the order of their codes.
    pub(crate) fn by_type(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        TYPES.iter().map(|(_, name)| (*name, self.packets_of(name))).filter(|(_, count)| *count > 0)
    }
}
