use super::State;
use crate::Error;
use crate::driver::{Asked, CallId};
use crate::inbox::Arrival;
use bytes::Bytes;
use homarus_proto::{CallOptions, Instant, RpcError, SendError};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// Calls outstanding from which on a new one leaves it to the driver task to send its request, together with those
/// of the others that are about to call.
const CROWD: usize = 4;
/// Longest that packets wait for the driver task while it is scheduled; then whoever has the next ones sends all.
const MAX_DEFERRAL: Duration = Duration::from_micros(40);
/// Commands whose packets wait for the driver task at most: enough to share the cost of a system call, and few enough for
/// the peer to begin with them while this side goes on.
const MAX_DEFERRED: usize = 16;

/// Packets that wait for the driver task's next turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deferred {
    since: Instant,
    /// Calls, answers and the like that have added to them.
    commands: usize,
}

impl State {
    /// Starts a call; `waker` is woken when it ends.
    pub(crate) fn call(
        &mut self,
        peer: SocketAddr,
        message: Bytes,
        options: CallOptions,
        waker: Option<&Waker>,
    ) -> Result<CallId, Error> {
        let now = self.driver.now();
        self.last_active = now;
        let call = self.driver.request(now, peer, message, options).map_err(|error| self.explain(error))?;
        self.calls.insert(call, waker.cloned());
        if self.deferred.is_none() && self.task.is_some() && self.calls.len() >= CROWD {
            self.deferred = Some(Deferred { since: now, commands: 1 });
            self.nudge(now);
        } else {
            self.push_out(now);
        }
        Ok(call)
    }

    /// The outcome of a call; if there is none yet, `waker` is woken when there is.
    pub(crate) fn outcome(&mut self, call: CallId, waker: Option<&Waker>) -> Option<Result<Bytes, Error>> {
        let result = self.calls.fetch(call, waker)?;
        Some(result.map_err(|error| self.explain(error.into())))
    }

    /// Gives up a call.
    pub(crate) fn cancel(&mut self, call: CallId) {
        if self.calls.forget(call) {
            let now = self.driver.now();
            self.driver.cancel(now, call);
            self.push_out(now);
        }
    }

    pub(crate) fn respond(&mut self, rpc: Asked, message: Bytes) -> Result<(), Error> {
        let now = self.driver.now();
        self.last_active = now;
        let answered = self.driver.respond(now, rpc, message).map_err(|error| self.explain(error));
        self.push_out(now);
        answered
    }

    pub(crate) fn reject(&mut self, rpc: Asked) {
        let now = self.driver.now();
        self.driver.reject(now, rpc);
        self.push_out(now);
    }

    pub(super) fn reject_all(&mut self, now: Instant, arrivals: impl IntoIterator<Item = Arrival>) {
        for (rpc, _) in arrivals {
            self.driver.reject(now, rpc);
        }
    }

    /// One receiver of requests less.
    pub(crate) fn part(&mut self) {
        let abandoned = self.inbox.part();
        if !abandoned.is_empty() {
            let now = self.driver.now();
            self.reject_all(now, abandoned);
            self.push_out(now);
        }
    }

    /// Sends what a command produced: now, or in the driver task's turn if that is about to come.
    pub(super) fn push_out(&mut self, now: Instant) {
        if let Some(deferred) = &mut self.deferred {
            deferred.commands += 1;
            if deferred.commands < MAX_DEFERRED && now.saturating_since(deferred.since) < MAX_DEFERRAL {
                return;
            }
            *deferred = Deferred { since: now, commands: 0 };
        }
        if let Err(error) = self.driver.flush(now).and_then(|()| self.arm(now)) {
            self.failure.get_or_insert(Arc::new(error));
        }
        // Whoever waits for a call, or for the end of all exchanges, is told by whoever drives the endpoint.
        if self.driver.is_full() || self.driver.has_news() || self.failure.is_some() || self.is_draining() {
            self.nudge(now);
        }
    }

    /// Lets packets wait for the driver task's next turn, which is scheduled.
    pub(crate) fn defer(&mut self) {
        self.deferred = Some(Deferred { since: self.driver.now(), commands: 0 });
    }

    /// Whether packets wait for the driver task.
    pub(crate) fn is_deferred(&self) -> bool {
        self.deferred.is_some()
    }

    /// Tells an endpoint closed by its user from one closed because the socket broke.
    fn explain(&self, error: Error) -> Error {
        match (error, &self.failure) {
            (Error::Rpc(RpcError::Closed) | Error::Send(SendError::Closed), Some(failure)) => {
                Error::Socket(Arc::clone(failure))
            }
            (Error::Rpc(RpcError::Closed) | Error::Send(SendError::Closed), None) => Error::Closed,
            (error, _) => error,
        }
    }
}
