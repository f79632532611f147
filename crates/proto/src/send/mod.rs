//! The sender's half: outgoing messages, the order in which they are sent, and the pace.

mod message;
mod pacer;
mod repairs;
mod srpt;

pub(crate) use message::{Chunk, Outgoing, ResendOutcome};
pub(crate) use pacer::Pacer;
pub(crate) use repairs::UnderWay;
pub(crate) use srpt::{SendQueue, SendRank};
