//! Homa packets made by `homarus-proto`.

use homarus_proto::wire::{ACK_LEN, Ack, Data, ExtensionBits, Header, MAX_ACKS, NO_SEGMENT_OFFSET, Packet};

pub(crate) const CLIENT_PORT: u16 = 40_000;
pub(crate) const SERVER_PORT: u16 = 4000;

pub(crate) fn bytes(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut out = [0; ACK_LEN];
    let length = header.emit(&mut out);
    [&out[..length], payload].concat()
}

/// A packet of an RPC; odd ids are the server's.
pub(crate) fn header(id: u64, packet: Packet) -> Header {
    let (source, dest) = if id & 1 == 0 { (CLIENT_PORT, SERVER_PORT) } else { (SERVER_PORT, CLIENT_PORT) };
    Header::new(source, dest, id, packet)
}

/// A DATA packet with a part of a message.
pub(crate) fn data(id: u64, length: u32, start: u32, payload: &[u8]) -> Vec<u8> {
    let fields = Data {
        message_length: length,
        incoming: length,
        segment_offset: NO_SEGMENT_OFFSET,
        pad: ExtensionBits([ExtensionBits::HOMARUS, 64, 0]),
        ..Data::default()
    };
    let mut header = header(id, Packet::Data(fields));
    header.sequence = start;
    bytes(&header, payload)
}

/// One packet of each type, with every field different from its default.
pub(crate) fn each_type() -> Vec<Vec<u8>> {
    let ack = |n: u64| Ack { client_id: 0x8000_0000_0000_0000 + 2 * n, server_port: 5000 + n as u16 };
    let acks: [Ack; MAX_ACKS] = [1, 2, 3, 4, 5].map(ack);
    let fields = Data {
        message_length: 100,
        incoming: 90,
        ack: ack(9),
        cutoff_version: 3,
        retransmit: 1,
        pad: ExtensionBits([ExtensionBits::HOMARUS | ExtensionBits::INCAST, 77, 5]),
        segment_offset: 40,
    };
    let packets = [
        (0, Packet::Data(fields)),
        (0, Packet::Grant { offset: 70_000, priority: 2 }),
        (0, Packet::Resend { offset: 1424, length: -1, priority: 6 }),
        (0, Packet::Resend { offset: 2848, length: 1424, priority: 7 }),
        (Header::ENDED, Packet::Unknown),
        (Header::TOO_LONG, Packet::Unknown),
        (0, Packet::Unknown),
        (Header::NO_ROOM, Packet::Busy),
        (0, Packet::Busy),
        (0, Packet::Cutoffs { cutoffs: [8, 7, 6, 5, 4, 3, 2, 1], version: 12 }),
        (0, Packet::Freeze),
        (0, Packet::NeedAck),
        (0, Packet::Ack { count: 5, acks }),
    ];
    packets
        .into_iter()
        .map(|(sequence, packet)| {
            let mut header = header(0xf000_0000_0000_0011, packet);
            header.sequence = sequence;
            header.checksum = 0;
            let payload: &[u8] = if matches!(packet, Packet::Data(_)) { &[7; 60] } else { &[] };
            bytes(&header, payload)
        })
        .collect()
}
