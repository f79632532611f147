use crate::calls::Calls;
use crate::driver::Driver;
use crate::inbox::{Arrival, Inbox};
use crate::timer::Timer;
use crate::{Error, Metrics};
use bytes::Bytes;
use homarus_proto::{CallOptions, Event, IncomingRpc, Instant, PeerView, RpcError, RpcId, SendError};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
/// What was sent or received so recently makes a ring of the timer fall amid traffic.
const TRAFFIC: Duration = Duration::from_micros(200);
/// How soon to try a full socket again, should nobody be told that it has become writable.
const FULL_RETRY: Duration = Duration::from_millis(1);

/// An endpoint's state behind its one lock.
pub(crate) struct Hub {
    state: Mutex<State>,
    /// Threads that are about to take the lock: one that spins on the socket lets them in.
    interested: AtomicUsize,
}

impl Hub {
    /// `socket` becomes readable when `driver` has something to receive.
    pub(crate) fn new(driver: Driver, socket: OwnedFd) -> io::Result<Self> {
        let state = State {
            driver,
            socket: Some(Arc::new(socket)),
            timer: Timer::new()?,
            calls: Calls::default(),
            inbox: Inbox::default(),
            task: None,
            deferred: None,
            phase: Phase::Open,
            failure: None,
            last_active: Instant::ZERO,
            asleep: false,
            ending: Vec::new(),
            released: false,
        };
        Ok(Hub { state: Mutex::new(state), interested: AtomicUsize::new(0) })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.interested.fetch_add(1, Ordering::Relaxed);
        let guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.interested.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// Whether somebody waits for the lock.
    pub(crate) fn is_wanted(&self) -> bool {
        self.interested.load(Ordering::Relaxed) > 0
    }

    /// Closes the endpoint at once, if it is open.
    pub(crate) fn close(&self) {
        let mut wakes = Vec::new();
        self.lock().close(&mut wakes);
        wakes.into_iter().for_each(Waker::wake);
    }

    /// Notes that the driver task is gone, and with it the last use of the socket.
    pub(crate) fn release(&self) {
        self.close();
        let wakes = {
            let mut state = self.lock();
            state.released = true;
            std::mem::take(&mut state.ending)
        };
        wakes.into_iter().for_each(Waker::wake);
    }
}

/// What a round of driving brought.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    /// Datagrams and reports received.
    pub(crate) received: usize,
    /// Requests that arrived and calls that ended.
    pub(crate) events: usize,
}

/// Packets that wait for the driver task's next turn.
#[derive(Clone, Copy, Debug)]
struct Deferred {
    since: Instant,
    /// Calls, answers and the like that have added to them.
    commands: usize,
}

/// What an endpoint's user may still do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Takes no new requests; waits until then for what is in flight.
    Draining(Instant),
    Closed,
}

/// The driver, and who waits for what it brings.
///
/// Wakers are collected in `wakes` and woken by the caller after it has released the lock.
pub(crate) struct State {
    driver: Driver,
    /// To wait for the socket; gone when the endpoint is closed.
    socket: Option<Arc<OwnedFd>>,
    timer: Timer,
    calls: Calls,
    inbox: Inbox,
    /// Wakes the task that drives the endpoint. None drives a blocking one: the timer wakes the thread that does.
    task: Option<Waker>,
    /// When something was last received, called for or answered.
    last_active: Instant,
    /// Whether whoever drives the endpoint sleeps, so that the timer must wake it.
    asleep: bool,
    /// Since when packets wait for the driver task's next turn, if it is scheduled.
    deferred: Option<Deferred>,
    phase: Phase,
    /// What broke the socket.
    failure: Option<Arc<io::Error>>,
    /// Who waits for the endpoint to be drained or released.
    ending: Vec<Waker>,
    /// Whether the driver task is gone.
    released: bool,
}

impl State {
    pub(crate) fn now(&self) -> Instant {
        self.driver.now()
    }

    /// When something was last received, called for or answered.
    pub(crate) fn last_active(&self) -> Instant {
        self.last_active
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.driver.local_addr()
    }

    /// Whether packets wait for the socket to become writable.
    pub(crate) fn is_full(&self) -> bool {
        self.driver.is_full()
    }

    /// What whoever drives the endpoint waits for; `None` when it is closed.
    pub(crate) fn socket(&self) -> Option<&Arc<OwnedFd>> {
        self.socket.as_ref()
    }

    pub(crate) fn timer(&mut self) -> &mut Timer {
        &mut self.timer
    }

    pub(crate) fn inbox(&mut self) -> &mut Inbox {
        &mut self.inbox
    }

    pub(crate) fn metrics(&self) -> Metrics {
        Metrics { stats: self.driver.core().stats().clone(), view: self.driver.core().view() }
    }

    pub(crate) fn peer(&self, peer: SocketAddr) -> Option<PeerView> {
        self.driver.core().peer_view(peer)
    }

    /// The task to wake when there is something to drive.
    pub(crate) fn set_task(&mut self, waker: &Waker) {
        match &mut self.task {
            Some(task) => task.clone_from(waker),
            None => self.task = Some(waker.clone()),
        }
        // Between its turns.
        self.asleep = true;
    }

    /// Has the endpoint driven soon.
    fn nudge(&mut self, now: Instant) {
        match &self.task {
            Some(task) => task.wake_by_ref(),
            // If it cannot be set, whoever drives the endpoint finds out at its next turn.
            None => drop(self.timer.ring(now)),
        }
    }

    /// Starts a call; `waker` is woken when it ends.
    pub(crate) fn call(
        &mut self,
        peer: SocketAddr,
        message: Bytes,
        options: CallOptions,
        waker: Option<&Waker>,
    ) -> Result<RpcId, Error> {
        let now = self.driver.now();
        self.last_active = now;
        let rpc = self.driver.request(now, peer, message, options).map_err(|error| self.explain(error))?;
        self.calls.insert(rpc, waker.cloned());
        if self.deferred.is_none() && self.task.is_some() && self.calls.len() >= CROWD {
            self.deferred = Some(Deferred { since: now, commands: 1 });
            self.nudge(now);
        } else {
            self.push_out(now);
        }
        Ok(rpc)
    }

    /// The outcome of a call; if there is none yet, `waker` is woken when there is.
    pub(crate) fn outcome(&mut self, rpc: RpcId, waker: Option<&Waker>) -> Option<Result<Bytes, Error>> {
        let result = self.calls.fetch(rpc, waker)?;
        Some(result.map_err(|error| self.explain(error.into())))
    }

    /// Gives up a call.
    pub(crate) fn cancel(&mut self, rpc: RpcId) {
        if self.calls.forget(rpc) {
            let now = self.driver.now();
            self.driver.cancel(now, rpc);
            self.push_out(now);
        }
    }

    pub(crate) fn respond(&mut self, rpc: IncomingRpc, message: Bytes) -> Result<(), Error> {
        let now = self.driver.now();
        self.last_active = now;
        let answered = self.driver.respond(now, rpc, message).map_err(|error| self.explain(error));
        self.push_out(now);
        answered
    }

    pub(crate) fn reject(&mut self, rpc: IncomingRpc) {
        let now = self.driver.now();
        self.driver.reject(now, rpc);
        self.push_out(now);
    }

    fn reject_all(&mut self, now: Instant, arrivals: impl IntoIterator<Item = Arrival>) {
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
    fn push_out(&mut self, now: Instant) {
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
        if self.driver.is_full() || self.failure.is_some() {
            self.nudge(now);
        }
    }

    /// One round of driving: receives a batch if the socket may be `readable`, does what is due, tells who waits,
    /// sends.
    pub(crate) fn turn(&mut self, readable: bool, wakes: &mut Vec<Waker>) -> Turn {
        if self.is_closed() {
            return Turn::default();
        }
        let now = self.driver.now();
        let rang = self.timer.settle(now) && self.deferred.is_none();
        let sent = self.driver.sent();
        let result = self.try_turn(now, readable, wakes);
        if let Ok(turn) = &result {
            let needed = turn.received == 0 && (turn.events > 0 || self.driver.sent() > sent);
            let amid_traffic = turn.received > 0 || now.saturating_since(self.last_active) < TRAFFIC;
            match rang {
                // Nothing but the time can have led to it.
                true if needed => self.timer.be_precise(),
                true if amid_traffic => self.timer.lag_more(),
                _ => {}
            }
            if turn.received > 0 {
                self.last_active = now;
            }
        }
        if let Some(error) = self.failure.clone().or(result.as_ref().err().cloned()) {
            tracing::error!(%error, "the socket failed");
            self.failure = Some(error);
            self.close(wakes);
        }
        result.unwrap_or_default()
    }

    fn try_turn(&mut self, now: Instant, readable: bool, wakes: &mut Vec<Waker>) -> Result<Turn, Arc<io::Error>> {
        let received = if readable { self.driver.receive(now)? } else { 0 };
        let expired = self.driver.expire(now);
        let deferred = self.deferred.take().is_some();
        let idle = received == 0 && !expired && !deferred && !self.driver.is_full();
        if idle && self.phase == Phase::Open {
            self.arm(now)?;
            return Ok(Turn::default());
        }
        let events = self.dispatch(now, wakes);
        self.driver.flush(now)?;
        if self.is_drained(now) {
            wakes.append(&mut self.ending);
        }
        self.arm(now)?;
        Ok(Turn { received, events })
    }

    fn dispatch(&mut self, now: Instant, wakes: &mut Vec<Waker>) -> usize {
        let mut events = 0;
        while let Some(event) = self.driver.next_event() {
            match event {
                Event::Response { rpc, result } => {
                    wakes.extend(self.calls.end(rpc, result.map(|message| message.into_bytes())));
                }
                Event::Request { rpc, message } => match self.inbox.offer(rpc, message.into_bytes()) {
                    Ok(waker) => wakes.extend(waker),
                    Err(rpc) => self.driver.reject(now, rpc),
                },
            }
            events += 1;
        }
        events
    }

    /// Whoever drives the endpoint is about to sleep, until the socket or the timer wakes it.
    pub(crate) fn fall_asleep(&mut self) -> io::Result<()> {
        self.asleep = true;
        self.timer.silence();
        self.arm(self.driver.now())
    }

    /// Whoever drives the endpoint is awake; `rang` if it was the timer that woke it.
    pub(crate) fn wake_up(&mut self, rang: bool) {
        self.asleep = false;
        if rang {
            self.timer.note_readable();
        }
    }

    fn arm(&mut self, now: Instant) -> io::Result<()> {
        if !self.asleep {
            return Ok(());
        }
        let drained = match self.phase {
            Phase::Draining(until) if now < until => Some(until),
            _ => None,
        };
        let due = match self.driver.is_full() {
            true => Some(now + FULL_RETRY),
            false => self.driver.next_timeout(),
        };
        match due.into_iter().chain(drained).min() {
            Some(at) => self.timer.arm(now, at, self.driver.is_time_critical()),
            None => Ok(()),
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

    fn is_drained(&self, now: Instant) -> bool {
        matches!(self.phase, Phase::Draining(until) if now >= until || self.in_flight() == 0)
    }

    fn in_flight(&self) -> usize {
        let view = self.driver.core().view();
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
