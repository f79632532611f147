//! Waiting, which is what drives a blocking endpoint.

use super::leader::{Leadership, own_waker};
use super::spin::{Habit, Spin};
use crate::hub::{Hub, State};
use rustix::event::{PollFd, PollFlags, poll};
use std::sync::{Arc, MutexGuard};
use std::task::Waker;
use std::thread;

/// Pauses of the processor to let another thread have the lock, before the scheduler is asked to.
const PAUSES: usize = 100;

/// What the threads that wait on a blocking endpoint have in common.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    leadership: Leadership,
    spin: Spin,
    habit: Habit,
}

impl Waiting {
    pub(super) fn new(spin: Spin) -> Self {
        Waiting { spin, ..Waiting::default() }
    }

    /// Drives the endpoint on this thread, or sleeps while another one does, until `done` returns something. It is given
    /// whom to wake when it should be asked again; nobody if this thread drives the endpoint.
    pub(super) fn until<'a, T>(
        &self,
        hub: &'a Hub,
        mut state: MutexGuard<'a, State>,
        mut done: impl FnMut(&mut State, Option<&Waker>) -> Option<T>,
    ) -> T {
        let mut member = self.leadership.enter();
        let mut spinning = self.habit.begin(self.spin, state.last_active());
        let mut wakes = Vec::new();
        let mut idle = false;
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
            let readable = if spinning.goes_on(|| state.now()) {
                if idle {
                    drop(state);
                    if spinning.is_generous() {
                        thread::yield_now();
                    }
                    make_way(hub);
                    state = hub.lock();
                }
                true
            } else {
                spinning.give_up();
                let (readable, rang) = sleep(state);
                state = hub.lock();
                state.wake_up(rang);
                // Reports about packets that could not be sent do not always make the socket readable.
                readable || rang
            };
            idle = state.turn(readable, &mut wakes).received == 0;
            if !idle {
                spinning.renew(state.last_active());
            }
            if !wakes.is_empty() {
                drop(state);
                wakes.drain(..).for_each(Waker::wake);
                state = hub.lock();
            }
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
    if state.fall_asleep().is_err() {
        // The next turn fails and ends the endpoint, if this is not transient.
        return (true, true);
    }
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
