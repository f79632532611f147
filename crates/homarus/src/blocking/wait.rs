//! Waiting, which is what drives a blocking endpoint.

use super::Spin;
use super::leader::{Leadership, own_waker};
use crate::hub::{Hub, State};
use homarus_proto::Instant;
use rustix::event::{PollFd, PollFlags, poll};
use std::sync::{Arc, MutexGuard};
use std::task::Waker;
use std::thread;

/// Pauses of the processor to let another thread have the lock, before the scheduler is asked to.
const PAUSES: usize = 100;

/// Drives the endpoint on this thread, or sleeps while another one does, until `done` returns something. It is given
/// whom to wake when it should be asked again; nobody if this thread drives the endpoint.
pub(super) fn wait<'a, T>(
    hub: &'a Hub,
    leadership: &Leadership,
    spin: Spin,
    mut state: MutexGuard<'a, State>,
    mut done: impl FnMut(&mut State, Option<&Waker>) -> Option<T>,
) -> T {
    let mut member = leadership.enter();
    let mut wakes = Vec::new();
    let mut active = Activity { since: state.now(), now: true };
    loop {
        let leads = member.leads();
        let waker = if leads { None } else { Some(own_waker()) };
        if let Some(result) = done(&mut state, waker.as_ref()) {
            drop(state);
            return result;
        }
        if !leads {
            drop(state);
            member.follow();
            state = hub.lock();
            continue;
        }
        let readable = if active.is_worth_spinning(spin, &state) {
            if !active.now {
                drop(state);
                make_way(hub);
                state = hub.lock();
            }
            true
        } else {
            let (readable, rang) = sleep(state);
            state = hub.lock();
            if rang {
                state.timer().note_readable();
            }
            // Reports about packets that could not be sent do not always make the socket readable.
            readable || rang
        };
        let turn = state.turn(readable, &mut wakes);
        active.note(turn.received, &state);
        if !wakes.is_empty() {
            drop(state);
            wakes.drain(..).for_each(Waker::wake);
            state = hub.lock();
        }
    }
}

/// When packets last came.
struct Activity {
    since: Instant,
    /// Whether the last look at the socket brought some.
    now: bool,
}

impl Activity {
    fn note(&mut self, received: usize, state: &State) {
        self.now = received > 0;
        if self.now {
            self.since = state.now();
        }
    }

    fn is_worth_spinning(&self, spin: Spin, state: &State) -> bool {
        match spin {
            Spin::Never => false,
            Spin::For(limit) => state.now().saturating_since(self.since) < limit,
            Spin::Always => true,
        }
    }
}

/// Lets other threads have the lock, which one that spins would hold nearly always.
fn make_way(hub: &Hub) {
    for _ in 0..PAUSES {
        std::hint::spin_loop();
        if !hub.is_wanted() {
            return;
        }
    }
    thread::yield_now();
}

/// Sleeps until there is something to do and returns whether there may be something to receive, and whether the timer
/// has rung.
fn sleep(mut state: MutexGuard<'_, State>) -> (bool, bool) {
    let Some(socket) = state.socket().cloned() else { return (false, false) };
    state.timer().silence();
    let timer = Arc::clone(state.timer().fd());
    let writable = if state.is_full() { PollFlags::OUT } else { PollFlags::empty() };
    drop(state);
    let mut fds = [PollFd::new(&socket, PollFlags::IN | writable), PollFd::new(&timer, PollFlags::IN)];
    match poll(&mut fds, None) {
        Ok(_) => (!(fds[0].revents() - PollFlags::OUT).is_empty(), !fds[1].revents().is_empty()),
        // A signal: look at everything and come back.
        Err(_) => (true, true),
    }
}
