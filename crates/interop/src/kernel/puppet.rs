//! A host that sends nothing by itself: a capture says what it sent. What comes to it it takes or drops as ever, and
//! what it knows follows from both.

use super::rpc::Key;
use super::wire::{Body, Packet};
use super::{Kernel, KernelConfig};
use std::net::{IpAddr, SocketAddr};

impl Kernel {
    /// A host on strings.
    pub fn puppet(config: KernelConfig) -> Kernel {
        Kernel { is_puppet: true, ..Kernel::new(config) }
    }

    /// The capture begins a request with this id.
    pub fn begins(&mut self, id: u64, to: SocketAddr, message: Vec<u8>) {
        self.call_as(id, to, message);
    }

    /// The capture sends a packet about an RPC that has begun.
    pub fn has_sent(&mut self, to: IpAddr, packet: &Packet) {
        let id = packet.sender_id & !1;
        let key = if packet.sender_id & 1 == 0 { Key::Client(id) } else { Key::Server(to, id) };
        match &packet.body {
            Body::Data(data) => {
                self.versions_named.insert(data.cutoff_version);
                let end = packet.offset(data) + data.contents.len() as u32;
                if let Some(message) = self.rpcs.get_mut(&key).and_then(|rpc| rpc.outgoing.as_mut()) {
                    message.grant(end, 0);
                }
                self.send_data(key);
            }
            Body::Grant { offset, .. } => {
                if let Some(message) = self.rpcs.get_mut(&key).and_then(|rpc| rpc.incoming_mut()) {
                    message.granted = message.granted.max((*offset).min(message.length()));
                }
            }
            Body::Resend { .. } | Body::NeedAck => {
                if let Some(rpc) = self.rpcs.get_mut(&key) {
                    rpc.asked = true;
                }
            }
            Body::Unknown => {
                self.disowned.insert(key);
            }
            Body::Busy | Body::Cutoffs { .. } | Body::Freeze | Body::Ack(_) => {}
        }
    }

    /// The capture is over: from now on the host acts by itself.
    pub fn wake(&mut self) {
        self.is_puppet = false;
    }
}
