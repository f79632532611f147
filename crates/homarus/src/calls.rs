use bytes::Bytes;
use foldhash::fast::RandomState;
use homarus_proto::{RpcError, RpcId};
use std::collections::HashMap;
use std::task::Waker;

/// The calls that are outstanding, and the outcomes that nobody has fetched yet.
#[derive(Default)]
pub(crate) struct Calls {
    slots: HashMap<RpcId, Slot, RandomState>,
}

enum Slot {
    /// Whom to wake; nobody if the caller itself drives the endpoint.
    Waiting(Option<Waker>),
    Ended(Result<Bytes, RpcError>),
}

impl Calls {
    pub(crate) fn insert(&mut self, rpc: RpcId, waker: Option<Waker>) {
        self.slots.insert(rpc, Slot::Waiting(waker));
    }

    /// Notes how a call ended and returns whom to wake.
    pub(crate) fn end(&mut self, rpc: RpcId, result: Result<Bytes, RpcError>) -> Option<Waker> {
        match std::mem::replace(self.slots.get_mut(&rpc)?, Slot::Ended(result)) {
            Slot::Waiting(waker) => waker,
            Slot::Ended(_) => None,
        }
    }

    /// Fetches the outcome; if there is none yet, `waker` will be woken by it.
    pub(crate) fn fetch(&mut self, rpc: RpcId, waker: Option<&Waker>) -> Option<Result<Bytes, RpcError>> {
        match self.slots.get_mut(&rpc) {
            Some(Slot::Waiting(kept)) => {
                match (&mut *kept, waker) {
                    (Some(kept), Some(waker)) => kept.clone_from(waker),
                    (kept, waker) => *kept = waker.cloned(),
                }
                None
            }
            Some(Slot::Ended(_)) => match self.slots.remove(&rpc) {
                Some(Slot::Ended(result)) => Some(result),
                _ => None,
            },
            None => Some(Err(RpcError::Closed)),
        }
    }

    /// Forgets a call; whether it was still outstanding.
    pub(crate) fn forget(&mut self, rpc: RpcId) -> bool {
        matches!(self.slots.remove(&rpc), Some(Slot::Waiting(_)))
    }

    /// Calls that have not ended.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }
}
