use super::State;
use homarus_proto::Instant;
use std::task::Waker;
use std::time::Duration;

/// What an endpoint's user may still do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    /// Takes no new requests; waits until then for what is in flight.
    Draining(Instant),
    Closed,
}

impl State {
    /// Takes no new requests from now on and lets what is in flight end, until `timeout` has passed.
    pub(crate) fn drain(&mut self, timeout: Duration, wakes: &mut Vec<Waker>) {
        if self.phase != Phase::Open {
            return;
        }
        let now = self.driver.now();
        self.phase = Phase::Draining(now + timeout);
        let abandoned = self.inbox.end(wakes);
        self.reject_all(now, abandoned);
        self.push_out(now);
        self.nudge(now);
    }

    /// Whether draining is over, and then how many exchanges it left in flight. Otherwise `waker` is woken when it may
    /// be over.
    pub(crate) fn drained(&mut self, waker: Option<&Waker>) -> Option<usize> {
        if self.is_closed() || self.is_drained(self.driver.now()) {
            return Some(self.in_flight());
        }
        self.await_end(waker);
        None
    }

    /// Whether the endpoint is closed and its socket free. Otherwise `waker` is woken when it is.
    pub(crate) fn released(&mut self, waker: Option<&Waker>) -> bool {
        if !self.released {
            self.await_end(waker);
        }
        self.released
    }

    fn await_end(&mut self, waker: Option<&Waker>) {
        if let Some(waker) = waker
            && !self.ending.iter().any(|other| other.will_wake(waker))
        {
            self.ending.push(waker.clone());
        }
    }

    pub(super) fn is_draining(&self) -> bool {
        matches!(self.phase, Phase::Draining(_))
    }

    pub(super) fn is_drained(&self, now: Instant) -> bool {
        let Phase::Draining(until) = self.phase else { return false };
        now >= until || (self.in_flight() == 0 && now >= self.driver.delivered_by())
    }

    /// When to look whether draining is over, if nothing happens before.
    pub(super) fn end_of_draining(&self, now: Instant, until: Instant) -> Instant {
        let delivered = self.driver.delivered_by();
        if delivered > now { until.min(delivered) } else { until }
    }

    fn in_flight(&self) -> usize {
        let view = self.driver.view();
        view.client_rpcs + view.server_rpcs
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    /// Ends everything at once.
    pub(crate) fn close(&mut self, wakes: &mut Vec<Waker>) {
        if self.is_closed() {
            return;
        }
        self.phase = Phase::Closed;
        let now = self.driver.now();
        if let Err(error) = self.driver.close(now) {
            tracing::debug!(%error, "the peers could not be told that the endpoint closes");
        }
        self.inbox.end(wakes);
        self.inbox.clear();
        self.dispatch(now, wakes);
        wakes.append(&mut self.ending);
        self.socket = None;
        self.nudge(now);
        self.task = None;
    }
}
