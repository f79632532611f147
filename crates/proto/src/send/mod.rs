//! The sender's half: outgoing messages, the order in which they are sent, and the pace.

mod message;
mod pacer;
mod srpt;

pub(crate) use message::{Chunk, Outgoing, ResendOutcome, UnderWay};
pub(crate) use pacer::Pacer;
pub(crate) use srpt::{SendQueue, SendRank};
