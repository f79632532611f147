use crate::driver::{CallId, Failure};
use bytes::Bytes;
use foldhash::fast::RandomState;
use homarus_proto::RpcError;
use std::collections::HashMap;
use std::task::Waker;

/// The calls that are outstanding, and the outcomes that nobody has fetched yet.
#[derive(Default)]
pub(crate) struct Calls {
    slots: HashMap<CallId, Slot, RandomState>,
}

enum Slot {
    /// Whom to wake; nobody if the caller itself drives the endpoint.
    Waiting(Option<Waker>),
    Ended(Result<Bytes, Failure>),
}

impl Calls {
    pub(crate) fn insert(&mut self, call: CallId, waker: Option<Waker>) {
        self.slots.insert(call, Slot::Waiting(waker));
    }

    /// Notes how a call ended and returns whom to wake.
    pub(crate) fn end(&mut self, call: CallId, result: Result<Bytes, Failure>) -> Option<Waker> {
        match std::mem::replace(self.slots.get_mut(&call)?, Slot::Ended(result)) {
            Slot::Waiting(waker) => waker,
            Slot::Ended(_) => None,
        }
    }

    /// Fetches the outcome; if there is none yet, `waker` will be woken by it.
    pub(crate) fn fetch(&mut self, call: CallId, waker: Option<&Waker>) -> Option<Result<Bytes, Failure>> {
        match self.slots.get_mut(&call) {
            Some(Slot::Waiting(kept)) => {
                match (&mut *kept, waker) {
                    (Some(kept), Some(waker)) => kept.clone_from(waker),
                    (kept, waker) => *kept = waker.cloned(),
                }
                None
            }
            Some(Slot::Ended(_)) => match self.slots.remove(&call) {
                Some(Slot::Ended(result)) => Some(result),
                _ => None,
            },
            None => Some(Err(Failure::Rpc(RpcError::Closed))),
        }
    }

    /// Forgets a call; whether it was still outstanding.
    pub(crate) fn forget(&mut self, call: CallId) -> bool {
        matches!(self.slots.remove(&call), Some(Slot::Waiting(_)))
    }

    /// Calls that have not ended.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }
}
