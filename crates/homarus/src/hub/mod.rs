//! An endpoint's state, and everything that may be done to it, under one lock.
//!
//! | file | what it does |
//! |---|---|
//! | `commands` | calls, answers and the like, and when their packets leave |
//! | `turn` | rounds of driving: receiving, what time demands, telling who waits |
//! | `ending` | draining and closing |

mod commands;
mod ending;
mod turn;

use crate::Metrics;
use crate::calls::Calls;
use crate::driver::Driver;
use crate::inbox::Inbox;
use crate::timer::Timer;
use commands::Deferred;
use ending::Phase;
use homarus_proto::{Instant, PeerView};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

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
        Metrics { stats: self.driver.stats().clone(), view: self.driver.view() }
    }

    pub(crate) fn peer(&self, peer: SocketAddr) -> Option<PeerView> {
        self.driver.peer_view(peer)
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
}
