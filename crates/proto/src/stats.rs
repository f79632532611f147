use crate::Discard;

/// Counters of an endpoint, all since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets given to the driver.
    pub packets_sent: u64,
    /// Packets taken from the network, discarded ones included.
    pub packets_received: u64,
    /// Bytes of message contents sent, retransmissions included.
    pub bytes_sent: u64,
    /// Bytes of message contents received and used.
    pub bytes_received: u64,
    /// DATA packets sent again.
    pub data_resent: u64,
    /// GRANT packets sent.
    pub grants_sent: u64,
    /// RESEND packets sent.
    pub resends_sent: u64,
    /// BUSY packets sent.
    pub busy_sent: u64,
    /// UNKNOWN packets sent.
    pub unknown_sent: u64,
    /// NEED_ACK packets sent.
    pub need_acks_sent: u64,
    /// ACK packets sent; most acks ride on requests instead.
    pub acks_sent: u64,
    /// CUTOFFS packets sent.
    pub cutoffs_sent: u64,
    /// Control packets dropped because the driver did not take them.
    pub control_dropped: u64,
    /// Requests begun as a client.
    pub requests_sent: u64,
    /// Requests that ended with a response.
    pub requests_answered: u64,
    /// Requests that ended with an error.
    pub requests_failed: u64,
    /// Requests that the application cancelled.
    pub requests_cancelled: u64,
    /// Requests handed to the application as a server.
    pub requests_received: u64,
    /// Responses that the application gave.
    pub responses_sent: u64,
    /// Requests or responses given up as a server because the client was dead or never acknowledged.
    pub server_rpcs_abandoned: u64,
    /// Requests with the incast mark, sent or received.
    pub incast_marked: u64,
    pub(crate) discarded: [u64; Discard::ALL.len()],
}

impl Stats {
    /// Packets from the network dropped for this reason.
    pub fn discarded(&self, why: Discard) -> u64 {
        self.discarded[why as usize]
    }

    pub(crate) fn discard(&mut self, why: Discard) {
        self.discarded[why as usize] += 1;
    }
}
