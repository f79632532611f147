use super::Doubt;
use crate::Instant;
use crate::peer::PeerKey;
use crate::recv::Incoming;
use crate::send::{Outgoing, SendRank};
use std::ops::Range;

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
    Replying(Box<Incoming>),
    /// Server: the request is arriving.
    Arriving(Box<Incoming>),
    /// Server: the application has the request.
    Executing,
    /// Server: the response is being sent, or waits for the client's ack.
    Responding(Outgoing),
}

/// One RPC: about three cache lines, for with many of them what costs is to fetch them.
#[derive(Debug)]
pub(crate) struct Rpc {
    /// The client's id.
    pub(crate) id: u64,
    pub(crate) peer: PeerKey,
    /// The other side's port, which over IP the peer's address lacks.
    pub(crate) port: u16,
    pub(crate) state: State,
    /// Rises from RPC to RPC: the order of age.
    pub(crate) born: u64,
    /// When the client gives up, and after how many nanoseconds that is; far in the future if never.
    pub(crate) deadline: Instant,
    pub(crate) deadline_nanos: u64,
    /// When the other side last showed signs of life about this RPC: DATA, GRANT or BUSY.
    pub(crate) heard: Instant,
    /// What was under way when the RPC was last heard of must have come before silence means a loss: the endpoint's
    /// count of received bytes then, and the count at which it has.
    pub(crate) expected_from: u64,
    pub(crate) expected_by: u64,
    /// The timer that counts; far in the future if there is none.
    pub(crate) timer: Instant,
    /// Place in the order of sending, while there is something to send.
    pub(crate) send_rank: Option<SendRank>,
    /// What was asked of the other side, if anything was.
    doubt: Option<Box<Doubt>>,
    /// Client: the server has shown that it knows the RPC.
    pub(crate) known_to_server: bool,
    /// Client: the server has said, with NEED_ACK, that it has sent the whole response.
    pub(crate) response_sent: bool,
    /// Client: the request carries the incast mark. Server: it did, so the response starts small.
    pub(crate) incast: bool,
    /// Whether it has lasted until a timer expired.
    pub(crate) lasts: bool,
}

impl Rpc {
    /// An RPC that begins `now`; `expected` are the counts of received bytes of which `expected_from` tells.
    pub(crate) fn new(
        (id, peer, port): (u64, PeerKey, u16),
        state: State,
        born: u64,
        now: Instant,
        expected: Range<u64>,
    ) -> Rpc {
        Rpc {
            id,
            peer,
            port,
            state,
            born,
            deadline: Instant::FAR_FUTURE,
            deadline_nanos: 0,
            heard: now,
            expected_from: expected.start,
            expected_by: expected.end,
            timer: Instant::FAR_FUTURE,
            send_rank: None,
            doubt: None,
            known_to_server: false,
            response_sent: false,
            incast: false,
            lasts: false,
        }
    }

    /// What was asked of the other side.
    pub(crate) fn doubt(&self) -> &Doubt {
        self.doubt.as_deref().unwrap_or(&Doubt::NONE)
    }

    /// The same, to be changed.
    pub(crate) fn doubt_mut(&mut self) -> &mut Doubt {
        self.doubt.get_or_insert_with(|| Box::new(Doubt::NONE))
    }

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
        if let Some(doubt) = &mut self.doubt {
            doubt.asked = 0;
            doubt.unknowns = 0;
        }
    }

    /// Notes that the RPC moves on.
    pub(crate) fn progressed(&mut self, now: Instant) {
        self.heard(now);
        if let Some(doubt) = &mut self.doubt {
            doubt.backoff = 0;
            doubt.only_busy = false;
        }
    }

    /// When the client gives up, if it ever does.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        (self.deadline < Instant::FAR_FUTURE).then_some(self.deadline)
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
