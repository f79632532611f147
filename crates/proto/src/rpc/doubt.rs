use crate::Instant;

/// What an RPC remembers of its questions to the other side, once it had reason to ask. Most RPCs never do, so this is
/// not part of what each of them holds.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    /// Silence was found to be no loss; when to look again.
    pub(crate) not_before: Instant,
    /// RESENDs or NEED_ACKs since the RPC was last heard of.
    pub(crate) asked: u32,
    /// When the first of them left, and the last.
    pub(crate) asking_since: Instant,
    pub(crate) asked_at: Instant,
    /// Times that silence has been waited for in vain; unlike `asked`, BUSY does not reset it.
    pub(crate) backoff: u32,
    /// Client: times in a row that the server said it does not know the RPC, after it had shown that it does.
    pub(crate) unknowns: u8,
    /// Client: the server has been heard to have no room, and nothing else.
    pub(crate) only_busy: bool,
    /// This side said nothing for so long, as when its process is paused, that the other may have ended the RPC and
    /// forgotten it.
    pub(crate) was_stopped: bool,
    /// Waits for its turn to ask the peer for retransmission.
    pub(crate) waits_for_turn: bool,
    /// May ask once although another RPC has the turn.
    pub(crate) asks_along: bool,
}

impl Doubt {
    /// Nothing was ever asked.
    pub(crate) const NONE: Doubt = Doubt {
        not_before: Instant::ZERO,
        asked: 0,
        asking_since: Instant::ZERO,
        asked_at: Instant::ZERO,
        backoff: 0,
        unknowns: 0,
        only_busy: false,
        was_stopped: false,
        waits_for_turn: false,
        asks_along: false,
    };
}
