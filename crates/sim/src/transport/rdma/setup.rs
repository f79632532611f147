use super::super::Frames;
use crate::Time;

/// How RDMA's NICs are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicSetup {
    /// How messages are cut.
    pub frames: Frames,
    /// Bytes on the wire of an acknowledgement.
    pub ack: u32,
    /// Bytes on the wire of a congestion notification.
    pub notification: u32,
    /// Every so many packets are acknowledged, and the last of each message.
    pub ack_every: u32,
    /// When nothing is acknowledged for so long, everything that is not is sent again.
    pub timeout: Time,
    /// Congestion is told of once in so long for each queue pair.
    pub notify_every: Time,
    /// Priority class, or virtual lane, of messages.
    pub data_class: u8,
    /// Of acknowledgements and notifications.
    pub signal_class: u8,
}

/// What a NIC has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NicCounters {
    /// Packets of messages sent.
    pub sent: u64,
    /// How often an earlier packet came to be sent again, gaps and timeouts together.
    pub went_back: u64,
    /// Packets that were sent before and had to be sent again by that.
    pub resent: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Notifications of congestion that came.
    pub notified: u64,
}
