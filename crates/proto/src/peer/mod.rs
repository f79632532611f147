//! What is known of the other endpoints.

mod acks;
mod finished;
mod reply_credit;
mod resend_turn;
mod rtt;
mod table;

pub(crate) use acks::WaitingAcks;
pub(crate) use finished::Finished;
pub(crate) use reply_credit::ReplyCredit;
pub(crate) use resend_turn::ResendTurn;
pub(crate) use rtt::Rtt;
pub(crate) use table::{PeerKey, Peers};

use crate::{Config, Framing, Instant};
use std::net::SocketAddr;

/// State about one peer: an address and port over UDP, a host over IP.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) addr: SocketAddr,
    pub(crate) rtt: Rtt,
    /// MTU of the path, bytes of IP packet.
    pub(crate) mtu: usize,
    /// The peer's priorities for unscheduled bytes, and their version; version 0: none heard yet.
    pub(crate) cutoffs: [u32; 8],
    pub(crate) cutoff_version: u16,
    /// When our own cutoffs were last sent.
    pub(crate) cutoffs_sent_at: Option<Instant>,
    /// When any packet last came.
    pub(crate) heard: Instant,
    /// RESENDs and NEED_ACKs since then.
    pub(crate) unanswered: u32,
    /// Bytes that may be sent in reply to packets about RPCs that we do not know: never more than came.
    pub(crate) reply_credit: ReplyCredit,
    /// Acks for responses of this peer.
    pub(crate) acks: WaitingAcks,
    pub(crate) resend_turn: ResendTurn,
    /// This peer's requests that have been executed and forgotten.
    pub(crate) finished: Finished,
    /// RPCs in progress with the peer, both ways.
    pub(crate) rpcs: u32,
    /// Whether the peer knows homarus's extensions.
    pub(crate) knows_extensions: bool,
    /// Used since the table last looked for a peer to forget.
    pub(crate) touched: bool,
}

impl Peer {
    fn new(addr: SocketAddr, config: &Config, now: Instant) -> Peer {
        Peer {
            addr,
            rtt: Rtt::default(),
            mtu: config.mtu,
            cutoffs: [0; 8],
            cutoff_version: 0,
            cutoffs_sent_at: None,
            heard: now,
            unanswered: 0,
            reply_credit: ReplyCredit::default(),
            acks: WaitingAcks::default(),
            resend_turn: ResendTurn::default(),
            finished: Finished::default(),
            rpcs: 0,
            knows_extensions: false,
            touched: true,
        }
    }

    /// Payload bytes in a full DATA packet to this peer.
    pub(crate) fn packet_len(&self, framing: Framing) -> u32 {
        let ip = if self.addr.is_ipv4() { 20 } else { 40 };
        let udp = if framing == Framing::Udp { 8 } else { 0 };
        self.mtu.saturating_sub(ip + udp + crate::wire::DATA_LEN).max(1) as u32
    }

    /// Notes that a packet came.
    pub(crate) fn heard(&mut self, now: Instant, bytes: usize) {
        self.reply_credit.earn(bytes);
        self.heard = now;
        self.unanswered = 0;
        self.touched = true;
    }
}
