use std::time::Duration;
use thiserror::Error;

/// Why a request or response was not accepted for sending. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// The message is longer than [`Config::max_message_len`](crate::Config::max_message_len).
    #[error("message of {length} bytes exceeds the limit of {limit}: split it, or raise max_message_len on both sides")]
    TooLong {
        /// Bytes in the message.
        length: usize,
        /// The limit, bytes.
        limit: u32,
    },
    /// As many requests are outstanding as the configuration allows.
    #[error("{limit} requests are outstanding already: wait for some to end, or raise max_client_rpcs")]
    TooManyRpcs {
        /// The limit.
        limit: usize,
    },
    /// Every peer that can be remembered has RPCs in progress.
    #[error("{limit} peers have RPCs in progress already: wait for some to end, or raise max_peers")]
    TooManyPeers {
        /// The limit.
        limit: usize,
    },
    /// The messages waiting to be sent or acknowledged fill the send buffer.
    #[error("{limit} bytes of messages wait to be sent: wait for some to end, or raise max_send_buffer")]
    BufferFull {
        /// The limit, bytes.
        limit: usize,
    },
    /// The client no longer wants the response: it cancelled, gave up, or is dead.
    #[error("the client no longer waits for this response")]
    Gone,
    /// The endpoint has been closed.
    #[error("the endpoint is closed")]
    Closed,
}

/// Why a request ended without a response.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RpcError {
    /// No response within the deadline, though the server was heard.
    #[error("no response within {after:?}: the server may still execute the request")]
    Deadline {
        /// The deadline that passed.
        after: Duration,
    },
    /// No response within the deadline; all that the server said was that it is busy.
    #[error("the server was busy for {after:?}: retry later, or send it fewer requests")]
    ServerBusy {
        /// The deadline that passed.
        after: Duration,
    },
    /// The peer sent nothing for [`Config::dead_after`](crate::Config::dead_after).
    #[error("the peer sent nothing for {silent_for:?}: check that it runs and can be reached")]
    PeerDead {
        /// How long it was silent.
        silent_for: Duration,
    },
    /// The network reported that the packets cannot be delivered.
    #[error("the peer cannot be reached: {0}")]
    Unreachable(Unreachable),
    /// The server lost the RPC after it had received the request, as when it restarts. It may have executed it or not.
    #[error("the server restarted: the request may have been executed or not; retry it if that does no harm")]
    ServerRestarted,
    /// The server ended the RPC without a response: its application dropped the request, the server closed, or it
    /// gave up delivering the response.
    #[error("the server dropped the request without answering: see its log; it may have been executed")]
    Dropped,
    /// The request is longer than the server accepts.
    #[error("the server does not accept requests of {length} bytes: split it, or raise max_message_len there")]
    RequestTooLong {
        /// Bytes in the request.
        length: u32,
    },
    /// The response is longer than this endpoint accepts.
    #[error("the response has {length} bytes, more than the {limit} accepted: raise max_message_len")]
    ResponseTooLong {
        /// Bytes in the response.
        length: u32,
        /// The limit, bytes.
        limit: u32,
    },
    /// The endpoint was closed while the request was outstanding.
    #[error("the endpoint was closed")]
    Closed,
}

/// What an ICMP error said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unreachable {
    /// Nothing listens on that port.
    #[error("no endpoint listens on that port")]
    Port,
    /// The host does not take this protocol.
    #[error("the host does not accept the protocol")]
    Protocol,
    /// There is no way to the host.
    #[error("no route to the host")]
    Host,
}

/// Why a packet from the network was dropped. Each has a counter: [`Stats::discarded`](crate::Stats::discarded).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Discard {
    /// Shorter than its type requires.
    #[error("packet is too short for its type")]
    TooShort,
    /// A type that is not in the protocol.
    #[error("unknown packet type")]
    UnknownType,
    /// A field has a value that no correct sender gives it.
    #[error("malformed field")]
    Malformed,
    /// A message longer than this endpoint accepts.
    #[error("message longer than accepted")]
    TooLong,
    /// Contradicts earlier packets of the same message.
    #[error("inconsistent with earlier packets of the message")]
    Inconsistent,
    /// Nothing is known of the RPC, or it has ended.
    #[error("unknown or ended RPC")]
    UnknownRpc,
    /// All of its bytes had been received already.
    #[error("duplicate")]
    Duplicate,
    /// A bound on memory was reached.
    #[error("no room")]
    NoRoom,
    /// The sender may not send this kind of packet for this RPC.
    #[error("packet from the wrong side of the RPC")]
    WrongSide,
    /// The endpoint has been closed.
    #[error("the endpoint is closed")]
    Closed,
}

impl Discard {
    /// Every reason.
    pub const ALL: [Discard; 10] = [
        Discard::TooShort,
        Discard::UnknownType,
        Discard::Malformed,
        Discard::TooLong,
        Discard::Inconsistent,
        Discard::UnknownRpc,
        Discard::Duplicate,
        Discard::NoRoom,
        Discard::WrongSide,
        Discard::Closed,
    ];
}
