use super::line::{line, message_of};
use super::{Place, Report};
use crate::decode::{Item, Seen};
use crate::file::Format;
use crate::rpcs::{Message, Rpc, RpcKey};
use crate::summary::{LISTED, Spread, Summary};
use crate::units::{nanos, seconds};
use std::io::{self, Write};

/// Lines for people.
pub(crate) struct Text<'a> {
    pub(crate) out: &'a mut dyn Write,
    pub(crate) fields: bool,
}

impl Report for Text<'_> {
    fn start(&mut self, _file: &str, _format: Format) -> io::Result<()> {
        Ok(())
    }

    fn item(&mut self, place: &Place, item: &Item, rpc: Option<(&RpcKey, &Rpc)>) -> io::Result<()> {
        let time = place.since.map_or("-".to_owned(), |since| seconds(since, place.digits));
        match rpc {
            None => writeln!(self.out, "{time:>12}  {}", line(item))?,
            Some((key, rpc)) => {
                let gap = place.gap.map_or("-".to_owned(), |gap| format!("+{}", nanos(gap)));
                let standing = standing(item, rpc, key.id).map_or(String::new(), |text| format!("  | {text}"));
                writeln!(self.out, "{time:>12} {gap:>10}  {}{standing}", line(item))?;
            }
        }
        if let (true, Item::Packet(seen)) = (self.fields, item) {
            self.list(seen)?;
        }
        Ok(())
    }

    fn rpc(&mut self, key: &RpcKey, rpc: &Rpc) -> io::Result<()> {
        writeln!(self.out, "rpc {} of {} to {}: {}", key.id, rpc.client, rpc.server, rpc.state())?;
        self.message("request", &rpc.request)?;
        self.message("response", &rpc.response)?;
        let duration = rpc.duration().map_or("not known".to_owned(), nanos);
        let acked = if rpc.acked { "acknowledged" } else { "no ack seen" };
        writeln!(self.out, "  {} packets, {} RESEND, {acked}, duration {duration}", rpc.packets, rpc.resends)
    }

    fn totals(&mut self, summary: &Summary) -> io::Result<()> {
        writeln!(
            self.out,
            "{} Homa packets in {} frames; {} RPCs, {} of them complete",
            summary.homa_packets(),
            summary.frames,
            summary.rpcs,
            summary.complete
        )
    }

    fn summary(&mut self, summary: &Summary) -> io::Result<()> {
        let span = summary.span_ns.map_or(String::new(), |span| format!(" in {}", nanos(span)));
        writeln!(self.out, "frames           {}{span}; {} of other protocols", summary.frames, summary.other_frames)?;
        let types: Vec<String> = summary.by_type().map(|(name, count)| format!("{name} {count}")).collect();
        writeln!(self.out, "Homa packets     {} ({})", summary.homa_packets(), types.join(", "))?;
        for (count, what) in [
            (summary.with_notes, "packets with something odd (list the packets to see what)"),
            (summary.uncut, "packets captured before a device cut them off longer sends"),
            (summary.malformed, "malformed packets"),
            (summary.fragments, "IP fragments of Homa, not put together"),
            (summary.icmp, "ICMP messages about Homa packets"),
            (summary.unknown_link, "frames of link types that are not understood"),
            (summary.broken_ip, "frames with cut or impossible IP headers"),
            (summary.not_followed, "packets of RPCs beyond --max-rpcs, not followed"),
        ] {
            if count > 0 {
                writeln!(self.out, "                 {count} {what}")?;
            }
        }
        let (complete, incomplete) = (summary.complete, summary.incomplete);
        writeln!(self.out, "RPCs             {} ({complete} complete, {incomplete} incomplete)", summary.rpcs)?;
        if summary.control_only > 0 {
            writeln!(self.out, "                 {} more seen in control packets only", summary.control_only)?;
        }
        self.spread("request bytes", &summary.request_bytes, |bytes| bytes.to_string())?;
        self.spread("response bytes", &summary.response_bytes, |bytes| bytes.to_string())?;
        self.spread("duration", &summary.duration_ns, nanos)?;
        writeln!(
            self.out,
            "payload          {} bytes in DATA; sent again {} bytes in {} packets; seen before {} bytes",
            summary.payload_bytes, summary.resent_bytes, summary.resent_packets, summary.seen_before_bytes
        )?;
        self.incomplete(summary)
    }
}

impl Text<'_> {
    fn list(&mut self, seen: &Seen) -> io::Result<()> {
        for (field, value) in seen.fields() {
            writeln!(
                self.out,
                "    {:>3} {:<16} {:<28} {}",
                field.offset,
                field.name,
                field.show(value),
                field.meaning
            )?;
        }
        writeln!(self.out, "        {} bytes of payload, checksum {}", seen.payload, seen.checksum.name())
    }

    fn message(&mut self, name: &str, message: &Message) -> io::Result<()> {
        match message.length {
            None => writeln!(self.out, "  {name:<8} no DATA seen"),
            Some(length) => writeln!(
                self.out,
                "  {name:<8} {length} bytes, seen {} in {} packets, sent again {}, granted {}",
                message.covered(),
                message.packets,
                message.resent,
                message.granted
            ),
        }
    }

    fn spread(&mut self, name: &str, spread: &Option<Spread>, show: impl Fn(u64) -> String) -> io::Result<()> {
        let Some(spread) = spread else {
            return Ok(());
        };
        let values = [
            ("min", spread.min),
            ("p50", spread.p50),
            ("p90", spread.p90),
            ("p99", spread.p99),
            ("p99.9", spread.p999),
            ("max", spread.max),
        ];
        let values: Vec<String> = values.map(|(name, value)| format!("{name} {}", show(value))).into();
        writeln!(self.out, "{name:<16} {}; {} of them", values.join(", "), spread.count)
    }

    fn incomplete(&mut self, summary: &Summary) -> io::Result<()> {
        for rpc in &summary.first_incomplete {
            let length = |length: Option<u32>| length.map_or("?".to_owned(), |length| length.to_string());
            writeln!(
                self.out,
                "incomplete       rpc {} of {} to {}: {}; request {} of {}, response {} of {}",
                rpc.rpc,
                rpc.client,
                rpc.server,
                rpc.state,
                rpc.request_seen,
                length(rpc.request_length),
                rpc.response_seen,
                length(rpc.response_length)
            )?;
        }
        match summary.incomplete.saturating_sub(LISTED as u64) {
            0 => Ok(()),
            more => writeln!(self.out, "                 and {more} more"),
        }
    }
}

/// How the message that a packet is about stands.
fn standing(item: &Item, rpc: &Rpc, id: u64) -> Option<String> {
    let Item::Packet(seen) = item else {
        return None;
    };
    if seen.header.client_id() != id {
        return None;
    }
    let name = message_of(seen)?;
    let message = if name == "request" { &rpc.request } else { &rpc.response };
    Some(format!(
        "{name}: granted {}, seen {}, outstanding {}",
        message.granted,
        message.covered(),
        message.outstanding()
    ))
}
