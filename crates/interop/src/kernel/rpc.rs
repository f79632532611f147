use super::incoming::Incoming;
use super::outgoing::Outgoing;
use std::net::{IpAddr, SocketAddr};

/// How RPCs are told apart: a client's by id alone, a server's also by the client's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Client(u64),
    Server(IpAddr, u64),
}

impl Key {
    /// What a packet from `from` is about. An even id means that its sender is the client.
    pub(super) fn of(from: IpAddr, sender_id: u64) -> Key {
        if sender_id & 1 == 0 { Key::Server(from, sender_id) } else { Key::Client(sender_id & !1) }
    }

    /// The id that this side puts into its packets.
    pub(super) fn sender_id(self) -> u64 {
        match self {
            Key::Client(id) => id,
            Key::Server(_, id) => id | 1,
        }
    }

    pub(super) fn is_client(self) -> bool {
        matches!(self, Key::Client(_))
    }
}

/// How far an RPC is.
#[derive(Clone, Debug)]
pub(super) enum State {
    /// Our message is going out, or was sent: the request of a client, the response of a server.
    Outgoing,
    /// The other side's message is coming in.
    Incoming(Incoming),
    /// Server: the application has the request.
    InService,
}

#[derive(Clone, Debug)]
pub(super) struct Rpc {
    /// The other side, as it was addressed or as it called.
    pub(super) remote: SocketAddr,
    /// Where our packets leave from.
    pub(super) local: SocketAddr,
    pub(super) state: State,
    /// Our message, once there is one.
    pub(super) outgoing: Option<Outgoing>,
    /// Ticks since anything came that counts: DATA, GRANT, BUSY.
    pub(super) silent: u32,
    /// Tick in which the last byte of a response left.
    pub(super) done_at: Option<u64>,
    /// Order of birth.
    pub(super) born: u64,
    /// For the account: whether a RESEND or a NEED_ACK was sent.
    pub(super) asked: bool,
    /// For the account: whether the other side may have been told to start over, before this began.
    pub(super) disowned: bool,
    /// For the account: whether a late copy of a request that had ended began it.
    pub(super) reborn: bool,
    /// What the first transmissions of the incoming message said: `incoming`, and whether they knew our cutoffs.
    pub(super) declared: Option<(u32, bool)>,
}

impl Rpc {
    pub(super) fn incoming(&self) -> Option<&Incoming> {
        match &self.state {
            State::Incoming(message) => Some(message),
            _ => None,
        }
    }

    pub(super) fn incoming_mut(&mut self) -> Option<&mut Incoming> {
        match &mut self.state {
            State::Incoming(message) => Some(message),
            _ => None,
        }
    }

    /// Whether the state is that our message goes out and the application has nothing to do.
    pub(super) fn is_outgoing(&self) -> bool {
        matches!(self.state, State::Outgoing)
    }
}
