use super::Packet;
use homarus_proto::Instant;
use std::time::Duration;

/// What becomes of a packet that leaves a host.
#[derive(Clone, Debug)]
pub enum Fate {
    /// It goes its way.
    Deliver,
    /// It is lost, as corrupted packets are too once the checksum has been looked at.
    Drop,
    /// It is held up for this long, so that later ones may overtake it.
    Late(Duration),
    /// It goes its way, and a copy follows this much later.
    Twice(Duration),
    /// It goes its way, and so does another packet that none of the endpoints sent.
    With(Box<Packet>),
    /// Another packet arrives in its place: checksums do not catch everything.
    Instead(Box<Packet>),
}

/// Decides the fate of each packet as it leaves its host.
pub type Judge = Box<dyn FnMut(Instant, &Packet) -> Fate>;
