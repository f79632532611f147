use homarus_proto::Instant;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// Most that the timer lags behind what the core asks for.
const MAX_SLACK: Duration = Duration::from_millis(5);
/// Lag after the first ring in vain.
const MIN_SLACK: Duration = Duration::from_micros(50);

/// A timer that whoever drives the endpoint waits for next to the socket.
///
/// The runtime's own timers tick in milliseconds, too coarse for round trips of microseconds. But to set this one, and to
/// be woken by it, costs as much as a round trip, and most of what it is set for, such as asking for a response again,
/// is no longer needed when the time comes. So where time is not critical, each ring in vain amid traffic lets the next
/// one lag, and a ring that comes near meanwhile is put off, until in steady traffic there is hardly any. What was
/// waited for is then seen when packets come. A ring that was needed makes the timer precise again.
pub(crate) struct Timer {
    fd: Arc<OwnedFd>,
    armed: Instant,
    /// Whether the timer may be readable because it rang and was not set again.
    rung: bool,
    slack: Duration,
}

impl Timer {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Timer { fd: Arc::new(fd), armed: Instant::FAR_FUTURE, rung: false, slack: Duration::ZERO })
    }

    /// What becomes readable when the timer rings.
    pub(crate) fn fd(&self) -> &Arc<OwnedFd> {
        &self.fd
    }

    /// Makes the timer ring at `due`, or soon after it if time is not `critical`.
    pub(crate) fn arm(&mut self, now: Instant, due: Instant, critical: bool) -> io::Result<()> {
        let at = if critical { due } else { due.max(now + self.slack) };
        if at < self.armed {
            return self.set(now, at);
        }
        let near = self.armed.saturating_since(now) < self.slack / 2;
        if near && at > self.armed {
            self.lag_more();
            return self.set(now, at);
        }
        Ok(())
    }

    /// Makes the timer ring at once.
    pub(crate) fn ring(&mut self, now: Instant) -> io::Result<()> {
        self.set(now, now)
    }

    fn set(&mut self, now: Instant, at: Instant) -> io::Result<()> {
        // Zero would disarm it.
        let wait = at.saturating_since(now).as_nanos().max(1);
        let value = Timespec { tv_sec: (wait / 1_000_000_000) as i64, tv_nsec: (wait % 1_000_000_000) as i64 };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &once)?;
        self.armed = at;
        self.rung = false;
        Ok(())
    }

    /// Notes that the time `now` has come, and returns whether the timer has rung.
    pub(crate) fn settle(&mut self, now: Instant) -> bool {
        let rings = now >= self.armed;
        if rings {
            self.armed = Instant::FAR_FUTURE;
            self.rung = true;
        }
        rings
    }

    /// Notes that the timer rang in vain amid traffic.
    pub(crate) fn lag_more(&mut self) {
        self.slack = (self.slack * 2).clamp(MIN_SLACK, MAX_SLACK);
    }

    /// Notes that it was good that the timer rang.
    pub(crate) fn be_precise(&mut self) {
        self.slack = Duration::ZERO;
    }

    /// Notes that the timer is readable.
    pub(crate) fn note_readable(&mut self) {
        self.rung = true;
    }

    /// Stops the timer from being readable because of a ring that has been heard.
    pub(crate) fn silence(&mut self) {
        if self.rung {
            // Nothing to read means that it has not really rung yet; then it will be noted again.
            let _ = rustix::io::read(&self.fd, &mut [0; 8]);
            self.rung = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn is_readable(timer: &Timer) -> bool {
        let mut fds = [rustix::event::PollFd::new(&timer.fd, rustix::event::PollFlags::IN)];
        let wait = Timespec { tv_sec: 5, tv_nsec: 0 };
        rustix::event::poll(&mut fds, Some(&wait)).expect("poll") == 1
    }

    #[test]
    fn rings_and_is_silenced() {
        let mut timer = Timer::new().expect("timer");
        let at = Instant::ZERO + Duration::from_micros(50);
        timer.arm(Instant::ZERO, at, false).expect("arm");
        assert!(is_readable(&timer));
        assert!(timer.settle(at));
        timer.silence();
        assert!(!timer.rung);
        assert_eq!(timer.armed, Instant::FAR_FUTURE);
    }

    #[test]
    fn only_moves_earlier() {
        let mut timer = Timer::new().expect("timer");
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        timer.arm(Instant::ZERO, at(20), false).expect("arm");
        timer.arm(Instant::ZERO, at(30), false).expect("arm");
        assert_eq!(timer.armed, at(20));
        timer.arm(Instant::ZERO, at(10), false).expect("arm");
        assert_eq!(timer.armed, at(10));
        assert!(!timer.settle(at(9)));
        assert_eq!(timer.armed, at(10));
    }

    #[test]
    fn lags_after_rings_in_vain_until_one_was_needed() {
        let mut timer = Timer::new().expect("timer");
        let now = Instant::ZERO + Duration::from_millis(1);
        for _ in 0..20 {
            timer.lag_more();
        }
        timer.arm(now, now, false).expect("arm");
        assert_eq!(timer.armed, now + MAX_SLACK);
        timer.arm(now, now, true).expect("arm");
        assert_eq!(timer.armed, now);
        assert!(timer.settle(now + MAX_SLACK));
        timer.be_precise();
        timer.arm(now, now, false).expect("arm");
        assert_eq!(timer.armed, now);
    }

    #[test]
    fn a_ring_that_would_be_in_vain_is_postponed() {
        let mut timer = Timer::new().expect("timer");
        for _ in 0..20 {
            timer.lag_more();
        }
        let mut now = Instant::ZERO;
        for _ in 0..1000 {
            timer.arm(now, now + Duration::from_micros(100), false).expect("arm");
            now += Duration::from_micros(100);
            assert!(!timer.settle(now));
        }
    }

    #[test]
    fn a_time_that_has_passed_rings_at_once() {
        let mut timer = Timer::new().expect("timer");
        timer.arm(Instant::ZERO + Duration::from_secs(1), Instant::ZERO, false).expect("arm");
        assert!(is_readable(&timer));
    }
}
