use super::{COMMON_LEN, DATA_LEN, PacketType, u32_at};

/// Cuts the first Homa packet off a UDP datagram; the rest is the second half of the pair.
///
/// Homa packets say how long they are only indirectly: a control packet by its type, and a DATA packet that begins a
/// message by the message's length. Any other DATA packet reaches to the end of the datagram. So short packets can
/// share a datagram without further framing, and a datagram with one packet is the plain case of the same rule.
pub fn split_datagram(datagram: &[u8]) -> (&[u8], &[u8]) {
    datagram.split_at(first_packet_len(datagram))
}

fn first_packet_len(datagram: &[u8]) -> usize {
    if datagram.len() < COMMON_LEN {
        return datagram.len();
    }
    let Some(kind) = PacketType::from_code(datagram[11]) else {
        return datagram.len();
    };
    let len = match kind {
        PacketType::Data if datagram.len() >= DATA_LEN => {
            let begins_message = match u32_at(datagram, 52) {
                super::NO_SEGMENT_OFFSET => u32_at(datagram, 4) == 0,
                offset => offset == 0,
            };
            if begins_message { DATA_LEN.saturating_add(u32_at(datagram, 28) as usize) } else { datagram.len() }
        }
        kind => kind.header_len(),
    };
    len.min(datagram.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{ACK_LEN, Data, Header, Packet};

    fn emitted(packet: Packet, payload: &[u8]) -> Vec<u8> {
        let mut bytes = [0; ACK_LEN];
        let len = Header::new(1, 2, 4, packet).emit(&mut bytes);
        [&bytes[..len], payload].concat()
    }

    #[test]
    fn control_packets_and_whole_messages_share_a_datagram() {
        let whole = Packet::Data(Data { message_length: 5, incoming: 5, ..Data::default() });
        let grant = Packet::Grant { offset: 9, priority: 1 };
        let packets =
            [emitted(grant, &[]), emitted(whole, b"short"), emitted(Packet::Busy, &[]), emitted(whole, b"final")];
        let datagram = packets.concat();
        let mut rest = &datagram[..];
        for packet in &packets {
            let (first, after) = split_datagram(rest);
            assert_eq!(first, packet);
            rest = after;
        }
        assert!(rest.is_empty());
    }
}
