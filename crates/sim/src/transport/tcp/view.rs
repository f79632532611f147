use super::connection::Connection;
use super::sender::Chunk;
use crate::Time;

/// What a host's TCP has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Segments with data sent, those sent again included.
    pub segments: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Acknowledgements sent without data.
    pub acks: u64,
    /// Bytes of data sent, those sent again included, and received in order.
    pub bytes_sent: u64,
    /// Bytes received in order.
    pub bytes_received: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Probes for lost ends.
    pub probes: u64,
}

/// One end of a connection, as it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectionView {
    /// The host at the other end.
    pub peer: u32,
    /// Whether this end opened it.
    pub opener: bool,
    /// Congestion window, segments.
    pub window: u32,
    /// Slow-start threshold, segments; infinite before the first reduction.
    pub threshold: f64,
    /// Segments in the network, as far as is known.
    pub in_flight: u32,
    /// Bytes that have arrived here in order.
    pub received: u64,
    /// Smoothed round trip, 0 before the first measurement.
    pub smoothed_rtt: Time,
    /// The shortest round trip, [`Time::NEVER`] before the first measurement.
    pub shortest_rtt: Time,
    /// DCTCP's estimate of the share of bytes that are marked.
    pub marked_share: Option<f64>,
}

impl TcpCounts {
    #[inline]
    pub(super) fn note_sent(&mut self, chunk: &Chunk) {
        self.segments += 1;
        self.retransmissions += u64::from(chunk.again);
        self.bytes_sent += u64::from(chunk.length);
    }
}

impl ConnectionView {
    pub(super) fn of(connection: &Connection) -> ConnectionView {
        let sender = &connection.sender;
        ConnectionView {
            peer: connection.place.peer,
            opener: connection.place.opener,
            window: sender.window.segments(),
            threshold: sender.window.threshold(),
            in_flight: sender.board.in_flight(),
            received: connection.receiver.next(),
            smoothed_rtt: sender.rto.smoothed(),
            shortest_rtt: sender.board.shortest_rtt(),
            marked_share: sender.window.marked_share(),
        }
    }
}
