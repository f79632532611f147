use foldhash::fast::RandomState;
use homarus_proto::Instant;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// Calls that have not ended, by the cookie that each bears.
#[derive(Default)]
pub(super) struct Calls {
    all: HashMap<u64, Call, RandomState>,
    deadlines: BTreeSet<(Instant, u64)>,
    /// Cookies given out so far.
    cookies: u64,
}

/// A call that has not ended.
pub(super) struct Call {
    /// The kernel's id; `None` before it has taken the request.
    pub(super) id: Option<u64>,
    pub(super) since: Instant,
    deadline: Option<Instant>,
    /// How long after its beginning the deadline is, if there is one.
    pub(super) patience: Duration,
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// How many have a deadline.
    pub(super) fn deadlines(&self) -> usize {
        self.deadlines.len()
    }

    /// Begins a call and returns its cookie.
    pub(super) fn begin(&mut self, now: Instant, patience: Option<Duration>) -> u64 {
        self.cookies += 1;
        let cookie = self.cookies;
        let deadline = patience.map(|patience| now + patience);
        self.deadlines.extend(deadline.map(|at| (at, cookie)));
        let patience = patience.unwrap_or_default();
        self.all.insert(cookie, Call { id: None, since: now, deadline, patience });
        cookie
    }

    pub(super) fn contains(&self, cookie: u64) -> bool {
        self.all.contains_key(&cookie)
    }

    pub(super) fn get_mut(&mut self, cookie: u64) -> Option<&mut Call> {
        self.all.get_mut(&cookie)
    }

    /// Ends a call, if it has not ended already.
    pub(super) fn remove(&mut self, cookie: u64) -> Option<Call> {
        let call = self.all.remove(&cookie)?;
        if let Some(at) = call.deadline {
            self.deadlines.remove(&(at, cookie));
        }
        Some(call)
    }

    /// Ends the call whose deadline passed first, if one has by `now`.
    pub(super) fn remove_due(&mut self, now: Instant) -> Option<(u64, Call)> {
        let &(_, cookie) = self.deadlines.first().filter(|(at, _)| *at <= now)?;
        Some((cookie, self.remove(cookie)?))
    }

    /// When the next deadline passes.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Ends all calls and returns their cookies.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = u64> + use<> {
        self.deadlines.clear();
        std::mem::take(&mut self.all).into_keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn deadlines_pass_in_order_and_leave_with_their_calls() {
        let mut calls = Calls::default();
        let begin = |calls: &mut Calls, millis| calls.begin(at(0), Some(Duration::from_millis(millis)));
        let (late, early, ended) = (begin(&mut calls, 30), begin(&mut calls, 10), begin(&mut calls, 5));
        let patient = calls.begin(at(0), None);
        assert!(calls.remove(ended).is_some() && calls.remove(ended).is_none());
        assert_eq!((calls.next_due(), calls.deadlines()), (Some(at(10)), 2));
        assert!(calls.remove_due(at(9)).is_none());
        assert_eq!(calls.remove_due(at(40)).map(|(cookie, _)| cookie), Some(early));
        assert_eq!(calls.remove_due(at(40)).map(|(cookie, _)| cookie), Some(late));
        assert!(calls.remove_due(at(40)).is_none() && calls.next_due().is_none());
        assert_eq!(calls.drain().collect::<Vec<_>>(), [patient]);
        assert_eq!((calls.len(), calls.deadlines()), (0, 0));
    }
}
