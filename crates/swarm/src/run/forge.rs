//! Packets that no honest endpoint sends.

use crate::dice::Dice;
use crate::net::Packet;
use homarus_proto::wire::{self, ACK_LEN, Ack, Data, ExtensionBits, Header, MAX_ACKS};
use homarus_proto::{Payload, Transmit};
use std::net::{Ipv4Addr, SocketAddr};

/// Values at which code tends to break.
const EDGES: [u32; 14] =
    [0, 1, 2, 5, 199, 1_424, 40_000, 65_535, 1_000_000, 1 << 30, (1 << 31) - 1, 1 << 31, u32::MAX - 1, u32::MAX];

/// A packet with some of its bytes changed.
pub(super) fn mutate(dice: &mut Dice, packet: &Packet, ids: &[u64]) -> Packet {
    let mut bytes = packet.to_vec();
    for _ in 0..dice.within(1, 3) {
        change(dice, &mut bytes, ids);
    }
    let from = if dice.chance(0.1) { stranger(dice) } else { packet.from };
    let transmit = match packet.transmit.payload {
        Payload::Phantom(len) if bytes.len() <= Transmit::MAX_HEADER => {
            Transmit::new(packet.to(), packet.transmit.priority, &bytes, Payload::Phantom(len))
        }
        _ => Transmit::new(packet.to(), packet.transmit.priority, &[], bytes.into()),
    };
    Packet { from, transmit }
}

fn change(dice: &mut Dice, bytes: &mut Vec<u8>, ids: &[u64]) {
    let len = bytes.len();
    match dice.within(0, 5) {
        0 if len > 0 => bytes.truncate(dice.within(0, len as u64 - 1) as usize),
        1 => bytes.extend((0..dice.within(1, 60)).map(|byte| byte as u8)),
        2 if len >= 12 => bytes[11] = dice.within(0x0f, 0x19) as u8,
        3 if len >= 28 && !ids.is_empty() => bytes[20..28].copy_from_slice(&any_id(dice, ids).to_be_bytes()),
        4 if len >= 32 => {
            let at = dice.within(28, (len as u64 - 4).min(52)) as usize;
            bytes[at..at + 4].copy_from_slice(&edge(dice).to_be_bytes());
        }
        _ if len > 0 => {
            let at = dice.within(0, len as u64 - 1) as usize;
            bytes[at] ^= 1 << dice.within(0, 7);
        }
        _ => {}
    }
}

/// A packet out of the blue: from a stranger, or with the address of one of the hosts.
pub(super) fn forge(dice: &mut Dice, addresses: &[SocketAddr], ids: &[u64]) -> Packet {
    let from = if dice.chance(0.5) { dice.pick(addresses) } else { stranger(dice) };
    let to = dice.pick(addresses);
    if dice.chance(0.2) {
        let noise = (0..dice.within(0, 100)).map(|_| dice.number() as u8).collect();
        return Packet::raw(from, to, noise);
    }
    let mut header = Header::new(from.port(), to.port(), any_id(dice, ids), any_fields(dice, ids));
    header.sequence = edge(dice);
    let mut buffer = [0; ACK_LEN];
    let len = header.emit(&mut buffer);
    let mut bytes = buffer[..len].to_vec();
    if let wire::Packet::Data(data) = header.packet {
        let payload = if dice.chance(0.5) { data.message_length.min(1_400) as u64 } else { dice.within(0, 1_400) };
        bytes.resize(len + payload as usize, 0xee);
    }
    Packet::raw(from, to, bytes)
}

fn any_fields(dice: &mut Dice, ids: &[u64]) -> wire::Packet {
    match dice.within(0, 9) {
        0 => wire::Packet::Grant { offset: edge(dice), priority: dice.number() as u8 },
        1 => wire::Packet::Resend {
            offset: edge(dice),
            length: if dice.chance(0.5) { -1 } else { edge(dice) as i32 },
            priority: dice.number() as u8,
        },
        2 => wire::Packet::Unknown,
        3 => wire::Packet::Busy,
        4 => {
            let version = dice.number() as u16;
            wire::Packet::Cutoffs { cutoffs: std::array::from_fn(|_| edge(dice)), version }
        }
        5 => wire::Packet::Freeze,
        6 => wire::Packet::NeedAck,
        7 => wire::Packet::Ack {
            count: dice.within(0, MAX_ACKS as u64) as u16,
            acks: std::array::from_fn(|_| any_ack(dice, ids)),
        },
        _ => wire::Packet::Data(Data {
            message_length: edge(dice),
            incoming: edge(dice),
            ack: any_ack(dice, ids),
            cutoff_version: dice.within(0, 3) as u16,
            retransmit: dice.within(0, 1) as u8,
            pad: ExtensionBits([dice.number() as u8, 0, 0]),
            segment_offset: edge(dice),
        }),
    }
}

fn any_ack(dice: &mut Dice, ids: &[u64]) -> Ack {
    if dice.chance(0.5) {
        return Ack::default();
    }
    Ack { client_id: any_id(dice, ids), server_port: dice.pick(&[4_000, 0, 1]) }
}

/// An id that is in use, one beside it, or any.
fn any_id(dice: &mut Dice, ids: &[u64]) -> u64 {
    if ids.is_empty() || dice.chance(0.2) {
        return dice.number();
    }
    dice.pick(ids).wrapping_add(dice.pick(&[0, 0, 0, 1, 2, u64::MAX, u64::MAX - 1]))
}

fn edge(dice: &mut Dice) -> u32 {
    if dice.chance(0.7) { dice.pick(&EDGES) } else { dice.spread(1, u64::from(u32::MAX)) as u32 }
}

fn stranger(dice: &mut Dice) -> SocketAddr {
    let host = dice.within(1, 200) as u8;
    SocketAddr::from((Ipv4Addr::new(192, 168, 0, host), dice.pick(&[1, 4_000, 50_000])))
}

/// All RPC ids that a packet names, as their clients know them.
pub(super) fn ids_in(bytes: &[u8]) -> Vec<u64> {
    let Ok(header) = Header::parse(bytes) else { return Vec::new() };
    let mut ids = vec![header.client_id()];
    match header.packet {
        wire::Packet::Data(data) => ids.push(data.ack.client_id),
        wire::Packet::Ack { acks, .. } => ids.extend(acks.iter().map(|ack| ack.client_id)),
        _ => {}
    }
    ids
}

/// A whole request as if it were another one; `None` for any other packet.
pub(super) fn under_another_id(packet: &Packet) -> Option<Packet> {
    let mut header = Header::parse(packet.transmit.header()).ok()?;
    let wire::Packet::Data(data) = header.packet else { return None };
    if !header.from_client() || data.message_length as usize != packet.transmit.payload.len() {
        return None;
    }
    header.sender_id ^= 0x100;
    let mut buffer = [0; ACK_LEN];
    let len = header.emit(&mut buffer);
    let Transmit { to, priority, ref payload, .. } = packet.transmit;
    Some(Packet { from: packet.from, transmit: Transmit::new(to, priority, &buffer[..len], payload.clone()) })
}
