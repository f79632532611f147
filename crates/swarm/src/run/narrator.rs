//! Tells what happens, line by line.

use crate::net::{Observer, Packet, Sight};
use homarus_proto::Instant;
use homarus_proto::wire::{self, Header};
use std::io::Write;

/// Seconds with nine digits.
pub(super) fn time(now: Instant) -> String {
    let nanos = now.as_nanos();
    format!("{:4}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

/// Prints a line; whoever stops listening does not stop the run.
pub(super) fn tell(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

pub(super) fn observer() -> Observer {
    Box::new(|now, sight| {
        let (what, packet, result) = match sight {
            Sight::Sent(packet) => ("sent", packet, None),
            Sight::Lost(packet) => ("LOST", packet, None),
            Sight::Overflow(packet) => ("OVERFLOW", packet, None),
            Sight::Downlink { .. } => return,
            Sight::Delivered { packet, result, .. } => ("arrived", packet, Some(result)),
            Sight::Outside(packet) => ("to nobody", packet, None),
        };
        let result = match result {
            Some(Err(why)) => format!(", discarded ({why}):"),
            _ => String::new(),
        };
        tell(&format!("{}   {what}{result} {}", time(now), describe(packet)));
    })
}

fn describe(packet: &Packet) -> String {
    let bytes = packet.to_vec();
    let ends = format!("{} > {} p{}", packet.from, packet.to(), packet.transmit.priority);
    let header = match Header::parse(&bytes) {
        Ok(header) => header,
        Err(why) => return format!("{ends} {} bytes ({why})", bytes.len()),
    };
    let fields = match header.packet {
        wire::Packet::Data(data) => {
            let start = header.data_offset(&data);
            let len = packet.transmit.len().saturating_sub(wire::DATA_LEN);
            format!("Data {start}+{len} of {} {data:?}", data.message_length)
        }
        other => format!("{other:?}"),
    };
    format!("{ends} {:#x} {fields}", header.sender_id)
}
