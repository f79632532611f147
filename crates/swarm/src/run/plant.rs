//! Bugs planted on purpose, to see that the checks find them.

use homarus_proto::{Payload, RpcError};

/// A bug to plant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// A server's application is given a request twice.
    ExecutedTwice,
    /// A byte of a request is flipped on its way to the application.
    FlippedRequest,
    /// A byte of a response is flipped on its way to the application.
    FlippedResponse,
    /// A client never hears how a request ended.
    LostOutcome,
    /// A server forgets to answer.
    LeakedRpc,
    /// The network delivers an old request again, under another id.
    OldRequestAgain,
    /// A server loses its memory and nobody takes note.
    Amnesia,
}

/// How many chances a planted bug passes by before it strikes.
const PASSED_BY: u32 = 3;

/// The planted bug, and how often it could have struck.
#[derive(Debug)]
pub(super) struct Planted {
    plant: Option<Plant>,
    chances: u32,
}

impl Planted {
    pub(super) fn new(plant: Option<Plant>) -> Planted {
        Planted { plant, chances: 0 }
    }

    fn strikes(&mut self, plant: Plant) -> bool {
        if self.plant != Some(plant) {
            return false;
        }
        self.chances += 1;
        self.chances == PASSED_BY + 1
    }

    pub(super) fn change_request(&mut self, message: Payload) -> Payload {
        if message.as_slice().is_empty() || !self.strikes(Plant::FlippedRequest) { message } else { flipped(message) }
    }

    pub(super) fn executes_twice(&mut self) -> bool {
        self.strikes(Plant::ExecutedTwice)
    }

    pub(super) fn forgets_request(&mut self) -> bool {
        self.strikes(Plant::LeakedRpc)
    }

    pub(super) fn loses_memory(&mut self) -> bool {
        self.strikes(Plant::Amnesia)
    }

    /// None if the outcome gets lost.
    pub(super) fn change_outcome(&mut self, result: Result<Payload, RpcError>) -> Option<Result<Payload, RpcError>> {
        match result {
            _ if self.strikes(Plant::LostOutcome) => None,
            Ok(message) if !message.as_slice().is_empty() && self.strikes(Plant::FlippedResponse) => {
                Some(Ok(flipped(message)))
            }
            other => Some(other),
        }
    }
}

fn flipped(message: Payload) -> Payload {
    let mut bytes = message.as_slice().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    bytes.into()
}
