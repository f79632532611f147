//! What runs on hosts: one folder a transport.

pub mod dctcp;
mod frames;
pub mod homa;
pub mod infiniband;
pub mod pfabric;
pub mod rdma;
pub mod roce;
pub mod srpt;
pub mod tcp;

pub use frames::{Frames, SMALLEST_FRAME};

use crate::Time;
use crate::net::Packet;

/// A message, or a request with its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number among those under way.
    pub id: u32,
    /// Who sends it.
    pub from: u32,
    /// Who receives it.
    pub to: u32,
    /// Bytes.
    pub length: u32,
    /// Bytes of the response; `None` for a message that is not answered.
    pub reply: Option<u32>,
    /// When it began.
    pub begun: Time,
    /// What the application makes of it.
    pub tag: u32,
}

/// What a transport says of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The last byte of a message, or of a request, has arrived.
    Arrived(u32),
    /// The last byte of a response has arrived.
    Answered(u32),
}

/// A transport at one host. After each call that changes something the simulator asks for packets and for the next timeout.
pub trait Transport {
    /// What its packets carry.
    type Segment;

    /// The application sends a message from here.
    fn send(&mut self, now: Time, message: &Message);

    /// A packet has come. What it completes goes into `outcomes`.
    fn receive(&mut self, now: Time, packet: Packet<Self::Segment>, outcomes: &mut Vec<Outcome>);

    /// The application answers a request that has arrived here.
    fn respond(&mut self, now: Time, message: &Message);

    /// The next packet, when the uplink is free. `None`: nothing, until something happens here.
    fn next_packet(&mut self, now: Time) -> Option<Packet<Self::Segment>>;

    /// The switch stops packets of a priority, or lets them go on. What is sent of it nevertheless waits in the NIC and keeps
    /// all others there.
    fn uplink(&mut self, _now: Time, _priority: u8, _go: bool) {}

    /// When to call [`handle_timeout`](Self::handle_timeout) if nothing happens before; [`Time::NEVER`] if not at all.
    fn next_timeout(&self) -> Time;

    /// Does what time demands.
    fn handle_timeout(&mut self, now: Time);
}
