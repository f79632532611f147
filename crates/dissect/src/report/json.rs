use super::line::message_of;
use super::{Place, Report};
use crate::decode::{Item, Seen};
use crate::file::Format;
use crate::rpcs::{Message, Rpc, RpcKey};
use crate::summary::Summary;
use crate::table::{Field, Kind};
use crate::units::seconds;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// The name of the format, and its version: it changes when something is renamed or removed, or means another thing.
const SCHEMA: &str = "homarus-dissect";
const SCHEMA_VERSION: u32 = 1;

/// One object a line.
pub(crate) struct Json<'a> {
    pub(crate) out: &'a mut dyn Write,
    pub(crate) fields: bool,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Start {
        schema: &'static str,
        schema_version: u32,
        file: &'a str,
        format: &'static str,
    },
    Packet(Packet),
    Malformed {
        #[serde(flatten)]
        at: At,
        source: String,
        dest: String,
        reason: &'a str,
    },
    Fragment {
        #[serde(flatten)]
        at: At,
        source: String,
        dest: String,
        offset: u32,
        length: usize,
        more: bool,
    },
    Icmp {
        #[serde(flatten)]
        at: At,
        from: String,
        reason: &'static str,
        source: String,
        dest: String,
        rpc: Option<String>,
    },
    Rpc {
        rpc: String,
        client: String,
        server: String,
        state: &'static str,
        duration_ns: Option<u64>,
        packets: u64,
        resends: u64,
        acked: bool,
        request: Standing,
        response: Standing,
    },
    Summary(&'a Summary),
}

/// Where something stands in the file. Seconds are text: a double has not digits enough.
#[derive(Serialize)]
struct At {
    frame: u64,
    time: Option<String>,
    since_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap_ns: Option<u64>,
}

#[derive(Serialize)]
struct Packet {
    #[serde(flatten)]
    at: At,
    source: String,
    dest: String,
    #[serde(rename = "type")]
    kind: &'static str,
    rpc: String,
    from_client: bool,
    message: Option<&'static str>,
    start: Option<u32>,
    end: Option<u32>,
    payload: u32,
    priority: u8,
    checksum: &'static str,
    uncut: bool,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<Standing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Map<String, Value>>,
}

#[derive(Serialize)]
struct Standing {
    length: Option<u32>,
    granted: u32,
    seen: u32,
    outstanding: u32,
    packets: u64,
    resent_bytes: u64,
}

impl Standing {
    fn of(message: &Message) -> Standing {
        Standing {
            length: message.length,
            granted: message.granted,
            seen: message.covered(),
            outstanding: message.outstanding(),
            packets: message.packets,
            resent_bytes: message.resent,
        }
    }
}

impl At {
    fn of(place: &Place) -> At {
        let time = place.time.map(|time| seconds(time, place.digits));
        At { frame: place.frame, time, since_ns: place.since, gap_ns: place.gap }
    }
}

impl Json<'_> {
    fn print(&mut self, line: &Line<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut *self.out, line)?;
        self.out.write_all(b"\n")
    }

    fn packet(&self, place: &Place, seen: &Seen, rpc: Option<(&RpcKey, &Rpc)>) -> Packet {
        let (source, dest) = (seen.source.to_string(), seen.dest.to_string());
        let message = message_of(seen);
        Packet {
            at: At::of(place),
            source,
            dest,
            kind: crate::table::type_name(seen.kind()),
            rpc: seen.header.client_id().to_string(),
            from_client: seen.header.from_client(),
            message,
            start: seen.range().map(|range| range.0),
            end: seen.range().map(|range| range.1),
            payload: seen.payload,
            priority: seen.priority,
            checksum: seen.checksum.name(),
            uncut: seen.uncut,
            notes: seen.notes.clone(),
            standing: rpc.filter(|(key, _)| key.id == seen.header.client_id()).zip(message).map(
                |((_, rpc), message)| Standing::of(if message == "request" { &rpc.request } else { &rpc.response }),
            ),
            fields: self.fields.then(|| fields(seen)),
        }
    }
}

/// All fields of the table by name; one that comes several times becomes a list.
fn fields(seen: &Seen) -> Map<String, Value> {
    let mut map = Map::new();
    for (field, value) in seen.fields() {
        let value = number(field, value);
        match map.get_mut(field.name) {
            None => {
                map.insert(field.name.to_owned(), value);
            }
            Some(Value::Array(values)) => values.push(value),
            Some(one) => *one = Value::Array(vec![one.take(), value]),
        }
    }
    map
}

/// A number as JSON; ids as text, because readers that know only doubles would round them.
fn number(field: &Field, value: u64) -> Value {
    match field.kind {
        Kind::Signed => field.signed(value).into(),
        _ if field.width > 4 => value.to_string().into(),
        _ => value.into(),
    }
}

impl Report for Json<'_> {
    fn start(&mut self, file: &str, format: Format) -> io::Result<()> {
        self.print(&Line::Start { schema: SCHEMA, schema_version: SCHEMA_VERSION, file, format: format.name() })
    }

    fn item(&mut self, place: &Place, item: &Item, rpc: Option<(&RpcKey, &Rpc)>) -> io::Result<()> {
        let at = At::of(place);
        let line = match item {
            Item::Packet(seen) => Line::Packet(self.packet(place, seen, rpc)),
            Item::Malformed { ends, reason } => {
                Line::Malformed { at, source: ends[0].to_string(), dest: ends[1].to_string(), reason }
            }
            Item::Fragment { ends, offset, length, more } => Line::Fragment {
                at,
                source: ends[0].to_string(),
                dest: ends[1].to_string(),
                offset: *offset,
                length: *length,
                more: *more,
            },
            Item::Icmp { from, icmp } => Line::Icmp {
                at,
                from: from.to_string(),
                reason: icmp.reason,
                source: icmp.quoted.source.to_string(),
                dest: icmp.quoted.dest.to_string(),
                rpc: icmp.quoted.sender_id.map(|id| (id & !1).to_string()),
            },
        };
        self.print(&line)
    }

    fn rpc(&mut self, key: &RpcKey, rpc: &Rpc) -> io::Result<()> {
        self.print(&Line::Rpc {
            rpc: key.id.to_string(),
            client: rpc.client.to_string(),
            server: rpc.server.to_string(),
            state: rpc.state(),
            duration_ns: rpc.duration(),
            packets: rpc.packets,
            resends: rpc.resends,
            acked: rpc.acked,
            request: Standing::of(&rpc.request),
            response: Standing::of(&rpc.response),
        })
    }

    fn totals(&mut self, summary: &Summary) -> io::Result<()> {
        self.summary(summary)
    }

    fn summary(&mut self, summary: &Summary) -> io::Result<()> {
        self.print(&Line::Summary(summary))
    }
}
