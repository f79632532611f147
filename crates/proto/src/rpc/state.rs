use crate::Instant;
use crate::peer::PeerKey;
use crate::recv::Incoming;
use crate::send::{Outgoing, SendRank};
use std::net::SocketAddr;
use std::time::Duration;

/// Which end of an RPC this endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// How far an RPC has come.
///
/// ```text
/// client:  Requesting ──first response byte──▶ Replying ──complete──▶ (gone, acked)
/// server:  Arriving ──complete──▶ Executing ──send_response──▶ Responding ──ack──▶ (gone)
/// ```
#[derive(Debug)]
pub(crate) enum State {
    /// Client: the request is being sent, or was, and no byte of the response has come.
    Requesting(Outgoing),
    /// Client: the response is arriving.
    Replying(Incoming),
    /// Server: the request is arriving.
    Arriving(Incoming),
    /// Server: the application has the request.
    Executing,
    /// Server: the response is being sent, or waits for the client's ack.
    Responding(Outgoing),
}

/// One RPC.
#[derive(Debug)]
pub(crate) struct Rpc {
    /// The client's id.
    pub(crate) id: u64,
    pub(crate) peer: PeerKey,
    /// Where packets go; over IP the port is the other side's, which the peer's address lacks.
    pub(crate) remote: SocketAddr,
    pub(crate) state: State,
    /// Rises from RPC to RPC: the order of age.
    pub(crate) born: u64,
    /// When the client gives up, and after how long that is.
    pub(crate) deadline: Option<(Instant, Duration)>,
    /// When the other side last showed signs of life about this RPC: DATA, GRANT or BUSY.
    pub(crate) heard: Instant,
    /// What was under way when the RPC was last heard of must have come before silence means a loss: the endpoint's
    /// count of received bytes then, and the count at which it has.
    pub(crate) expected_from: u64,
    pub(crate) expected_by: u64,
    /// Silence was found to be no loss; when to look again.
    pub(crate) not_before: Instant,
    /// RESENDs or NEED_ACKs since then.
    pub(crate) asked: u32,
    /// When the first of them left, and the last.
    pub(crate) asking_since: Instant,
    pub(crate) asked_at: Instant,
    /// Times that silence has been waited for in vain; unlike `asked`, BUSY does not reset it.
    pub(crate) backoff: u32,
    /// Client: the server has been heard to have no room, and nothing else.
    pub(crate) only_busy: bool,
    /// Client: the server has shown that it knows the RPC.
    pub(crate) known_to_server: bool,
    /// Client: the server has said, with NEED_ACK, that it has sent the whole response.
    pub(crate) response_sent: bool,
    /// This side said nothing for so long, as when its process is paused, that the other may have ended the RPC and
    /// forgotten it.
    pub(crate) was_stopped: bool,
    /// Client: times in a row that the server said it does not know the RPC, after it had shown that it does.
    pub(crate) unknowns: u8,
    /// Client: the request carries the incast mark. Server: it did, so the response starts small.
    pub(crate) incast: bool,
    /// Waits for its turn to ask the peer for retransmission.
    pub(crate) waits_for_turn: bool,
    /// May ask once although another RPC has the turn.
    pub(crate) asks_along: bool,
    /// Whether it has lasted until a timer expired.
    pub(crate) lasts: bool,
    /// The timer that counts.
    pub(crate) timer: Option<Instant>,
    /// Place in the order of sending, while there is something to send.
    pub(crate) send_rank: Option<SendRank>,
}

impl Rpc {
    pub(crate) fn side(&self) -> Side {
        match self.state {
            State::Requesting(_) | State::Replying(_) => Side::Client,
            State::Arriving(_) | State::Executing | State::Responding(_) => Side::Server,
        }
    }

    /// The id that this side puts into its packets.
    pub(crate) fn sender_id(&self) -> u64 {
        match self.side() {
            Side::Client => self.id,
            Side::Server => self.id | 1,
        }
    }

    pub(crate) fn outgoing(&self) -> Option<&Outgoing> {
        match &self.state {
            State::Requesting(message) | State::Responding(message) => Some(message),
            _ => None,
        }
    }

    pub(crate) fn outgoing_mut(&mut self) -> Option<&mut Outgoing> {
        match &mut self.state {
            State::Requesting(message) | State::Responding(message) => Some(message),
            _ => None,
        }
    }

    pub(crate) fn incoming(&self) -> Option<&Incoming> {
        match &self.state {
            State::Replying(message) | State::Arriving(message) => Some(message),
            _ => None,
        }
    }

    pub(crate) fn incoming_mut(&mut self) -> Option<&mut Incoming> {
        match &mut self.state {
            State::Replying(message) | State::Arriving(message) => Some(message),
            _ => None,
        }
    }

    /// Notes a sign of life about this RPC.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.asked = 0;
        self.unknowns = 0;
    }

    /// Notes that the RPC moves on.
    pub(crate) fn progressed(&mut self, now: Instant) {
        self.heard(now);
        self.backoff = 0;
        self.only_busy = false;
    }

    /// Since when the other side owes us something, or `None` if it is our turn, or the application's.
    pub(crate) fn waiting_since(&self) -> Option<Instant> {
        match &self.state {
            State::Requesting(request) if request.sendable() => None,
            State::Requesting(request) => Some(self.heard.max(request.last_sent)),
            State::Replying(message) | State::Arriving(message) if message.outstanding() == 0 => None,
            State::Replying(message) | State::Arriving(message) => Some(self.heard.max(message.granted_at)),
            // Of a client whose request is being executed a sign is wanted that it still waits.
            State::Executing => Some(self.heard),
            State::Responding(response) if response.sendable() => None,
            State::Responding(response) => Some(self.heard.max(response.last_sent)),
        }
    }
}
