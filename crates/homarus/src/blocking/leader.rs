//! Several threads, one socket: one of those that wait leads and drives the endpoint; the others sleep until what they
//! wait for has come, or until it is their turn to lead.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};

/// Who leads, and who waits to.
#[derive(Debug, Default)]
pub(super) struct Leadership {
    ranks: Mutex<Ranks>,
}

#[derive(Debug, Default)]
struct Ranks {
    led: bool,
    /// Threads that sleep and will lead if woken.
    followers: VecDeque<Thread>,
}

/// A thread that waits, and whether it leads. Whoever stops waiting leaves the lead to the next.
pub(super) struct Member<'a> {
    leadership: &'a Leadership,
    leads: bool,
    /// Whether it has been among the followers since it last woke.
    followed: bool,
}

impl Leadership {
    pub(super) fn enter(&self) -> Member<'_> {
        Member { leadership: self, leads: false, followed: false }
    }

    fn lock(&self) -> MutexGuard<'_, Ranks> {
        self.ranks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Member<'_> {
    /// Whether this thread leads, which it now does if nobody else did.
    pub(super) fn leads(&mut self) -> bool {
        if !self.leads {
            let mut ranks = self.leadership.lock();
            self.leads = !ranks.led;
            ranks.led = true;
        }
        self.leads
    }

    /// Sleeps until woken: because what it waits for may have come, or because nobody leads.
    pub(super) fn follow(&mut self) {
        {
            let mut ranks = self.leadership.lock();
            if !ranks.led {
                return;
            }
            ranks.followers.push_back(thread::current());
        }
        self.followed = true;
        thread::park();
        let own = thread::current().id();
        self.leadership.lock().followers.retain(|thread| thread.id() != own);
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if !self.leads && !self.followed {
            return;
        }
        let next = {
            let mut ranks = self.leadership.lock();
            if self.leads {
                ranks.led = false;
            }
            // A follower may have been woken to lead and have found that it need not wait any longer.
            if ranks.led { None } else { ranks.followers.pop_front() }
        };
        if let Some(next) = next {
            next.unpark();
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    static OWN_WAKER: Waker = Waker::from(Arc::new(Unpark(thread::current())));
}

/// What wakes this thread from [`Member::follow`].
pub(super) fn own_waker() -> Waker {
    OWN_WAKER.with(Waker::clone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn one_leads_at_a_time_and_everybody_gets_to() {
        let leadership = Leadership::default();
        let leading = AtomicUsize::new(0);
        let led = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut member = leadership.enter();
                    while !member.leads() {
                        member.follow();
                    }
                    assert_eq!(leading.fetch_add(1, Ordering::SeqCst), 0);
                    thread::yield_now();
                    leading.fetch_sub(1, Ordering::SeqCst);
                    led.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(led.into_inner(), 8);
        assert!(leadership.lock().followers.is_empty());
    }

    #[test]
    fn a_follower_that_need_not_lead_passes_it_on() {
        let leadership = Leadership::default();
        let mut leader = leadership.enter();
        assert!(leader.leads());
        thread::scope(|scope| {
            // Woken to lead, it leaves at once; the other must be woken in its place.
            scope.spawn(|| leadership.enter().follow());
            scope.spawn(|| {
                let mut member = leadership.enter();
                while !member.leads() {
                    member.follow();
                }
            });
            while leadership.lock().followers.len() < 2 {
                thread::yield_now();
            }
            drop(leader);
        });
    }
}
