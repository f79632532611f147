use crate::decode::{Item, Seen};
use crate::table::{self, own_fields};
use homarus_proto::wire::PacketType;

/// The message that a packet is about, seen from who sent it.
pub(super) fn message_of(seen: &Seen) -> Option<&'static str> {
    match (seen.kind(), seen.header.from_client()) {
        (PacketType::Data, true) | (PacketType::Grant | PacketType::Resend, false) => Some("request"),
        (PacketType::Data, false) | (PacketType::Grant | PacketType::Resend, true) => Some("response"),
        _ => None,
    }
}

/// What matters of a packet, in the table's words.
pub(super) fn words(seen: &Seen) -> String {
    let mut text = format!("{:<8} rpc {}", table::type_name(seen.kind()), seen.header.client_id());
    if let Some(message) = message_of(seen) {
        text += &format!(" {message}");
    }
    if let Some((start, end)) = seen.range() {
        text += &format!(" {start}..{end}");
    }
    for field in own_fields(seen.kind()) {
        if let Some(brief) = field.in_brief(field.value(seen.head())) {
            text += " ";
            text += &brief;
        }
    }
    text += &format!(", prio {}", seen.priority);
    let uncut = seen.uncut.then_some("captured before a device cut it");
    let notes: Vec<&str> = uncut.into_iter().chain(seen.notes.iter().map(String::as_str)).collect();
    if !notes.is_empty() {
        text += &format!(" [{}]", notes.join("; "));
    }
    text
}

/// The ends of an item, and the rest of its line.
pub(super) fn line(item: &Item) -> String {
    match item {
        Item::Packet(seen) => format!("{} > {}  {}", seen.source, seen.dest, words(seen)),
        Item::Malformed { ends, reason } => format!("{} > {}  MALFORMED {reason}", ends[0], ends[1]),
        Item::Fragment { ends, offset, length, more } => {
            let last = if *more { "" } else { ", the last" };
            format!("{} > {}  FRAGMENT bytes {offset}..{}{last}", ends[0], ends[1], *offset as usize + length)
        }
        Item::Icmp { from, icmp } => {
            let rpc = icmp.quoted.sender_id.map_or(String::new(), |id| format!(" of rpc {}", id & !1));
            format!("{from} > {}  ICMP     {}: packet{rpc} to {}", icmp.quoted.source, icmp.reason, icmp.quoted.dest)
        }
    }
}
