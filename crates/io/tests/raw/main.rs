//! The driver for Homa over IP, over raw sockets in network namespaces of its own.

#[path = "../common/mod.rs"]
mod common;
mod errors;
mod packets;
mod ports;
mod wire;

use homarus_io::{PacketIo, RawConfig, RawIo};
use homarus_proto::Transmit;
use std::net::SocketAddr;

/// An endpoint's driver on a Homa port; 0 for any.
pub(crate) fn bind_port(ip: &str, port: u16) -> RawIo {
    RawIo::bind(SocketAddr::new(ip.parse().unwrap(), port), RawConfig::default()).unwrap()
}

/// The packet with a header that says which ports it goes from and to, as the core writes it.
pub(crate) fn between(from: u16, packet: Transmit) -> Transmit {
    let mut header = packet.header().to_vec();
    header[..2].copy_from_slice(&from.to_be_bytes());
    header[2..4].copy_from_slice(&packet.to.port().to_be_bytes());
    Transmit::new(packet.to, packet.priority, &header, packet.payload)
}

/// Sends packets that say that they are the endpoint's, and returns them.
pub(crate) fn post(io: &mut RawIo, packets: impl IntoIterator<Item = Transmit>) -> Vec<Transmit> {
    let from = io.local_addr().port();
    let batch: Vec<_> = packets.into_iter().map(|packet| between(from, packet)).collect();
    common::send_all(io, &batch);
    batch
}
