//! A peer that the test plays by hand: a bare socket that speaks the wire.
#![allow(dead_code, unreachable_pub)]

use homarus_proto::wire::{ACK_LEN, Data, Header, NO_SEGMENT_OFFSET, Packet, split_datagram};
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// A packet that has come: its header and what follows it.
pub type Arrived = (Header, Vec<u8>);

pub struct Puppet {
    socket: UdpSocket,
    waiting: VecDeque<Arrived>,
}

impl Puppet {
    pub fn new() -> Puppet {
        Self::bind(super::LOCAL.parse().expect("address"))
    }

    pub fn bind(addr: SocketAddr) -> Puppet {
        let socket = UdpSocket::bind(addr).expect("bind");
        Puppet { socket, waiting: VecDeque::new() }
    }

    pub fn addr(&self) -> SocketAddr {
        self.socket.local_addr().expect("address")
    }

    /// The next packet, if one comes within `patience`.
    pub fn recv(&mut self, patience: Duration) -> Option<Arrived> {
        let mut buffer = vec![0; 1 << 16];
        self.socket.set_read_timeout(Some(patience)).expect("timeout");
        while self.waiting.is_empty() {
            // An error that ICMP reported is not the end.
            let length = match self.socket.recv(&mut buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => continue,
                Err(_) => return None,
            };
            let mut rest = &buffer[..length];
            while !rest.is_empty() {
                let (packet, after) = split_datagram(rest);
                rest = after;
                let header = Header::parse(packet).expect("endpoints send whole packets");
                self.waiting.push_back((header, packet[header.packet.packet_type().header_len()..].to_vec()));
            }
        }
        self.waiting.pop_front()
    }

    /// The first DATA packet that comes within a few seconds.
    pub fn recv_data(&mut self) -> (Header, Data, Vec<u8>) {
        for _ in 0..1000 {
            let (header, contents) = self.recv(Duration::from_secs(10)).expect("a packet");
            if let Packet::Data(data) = header.packet {
                return (header, data, contents);
            }
        }
        panic!("no DATA among a thousand packets");
    }

    pub fn send(&self, to: SocketAddr, id: u64, packet: Packet, contents: &[u8]) {
        let header = Header::new(self.addr().port(), to.port(), id, packet);
        let mut bytes = [0; ACK_LEN];
        let length = header.emit(&mut bytes);
        self.send_raw(to, &[&bytes[..length], contents].concat());
    }

    /// Part of a message of `whole` bytes.
    pub fn send_data(&self, to: SocketAddr, id: u64, whole: usize, offset: usize, contents: &[u8]) {
        let packet = Packet::Data(data(whole, offset));
        self.send(to, id, packet, contents);
    }

    pub fn send_raw(&self, to: SocketAddr, bytes: &[u8]) {
        // A full or refused socket is the network's loss.
        drop(self.socket.send_to(bytes, to));
    }
}

/// The DATA fields of a packet at `offset` of a message that is sent wholly unscheduled.
pub fn data(whole: usize, offset: usize) -> Data {
    let segment_offset = u32::try_from(offset).expect("short");
    assert_ne!(segment_offset, NO_SEGMENT_OFFSET);
    let whole = u32::try_from(whole).expect("short");
    Data { message_length: whole, incoming: whole, segment_offset, ..Data::default() }
}
