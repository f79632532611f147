use homarus_proto::Instant;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A timer that whoever drives the endpoint waits for next to the socket.
///
/// The runtime's own timers tick in milliseconds, too coarse for round trips of microseconds. Setting this one
/// costs a system call, so it is only ever moved earlier: after an early ring the driver finds nothing due and
/// sets it again, which happens a few hundred times a second at most, not once per message.
pub(crate) struct Timer {
    fd: Arc<OwnedFd>,
    armed: Instant,
}

impl Timer {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Timer {
            fd: Arc::new(fd),
            armed: Instant::FAR_FUTURE,
        })
    }

    /// What becomes readable when the timer rings.
    pub(crate) fn fd(&self) -> &Arc<OwnedFd> {
        &self.fd
    }

    /// Makes the timer ring at `at` or earlier.
    pub(crate) fn arm(&mut self, now: Instant, at: Instant) -> io::Result<()> {
        if at >= self.armed {
            return Ok(());
        }
        // Zero would disarm it.
        let wait = at.saturating_since(now).as_nanos().max(1);
        let value = Timespec {
            tv_sec: (wait / 1_000_000_000) as i64,
            tv_nsec: (wait % 1_000_000_000) as i64,
        };
        let once = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: value,
        };
        timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &once)?;
        self.armed = at;
        Ok(())
    }

    /// Notes that the time `now` has come: a timer armed for it has rung.
    pub(crate) fn settle(&mut self, now: Instant) {
        if now >= self.armed {
            self.armed = Instant::FAR_FUTURE;
        }
    }
}

/// Stops a timer from being readable because of an earlier ring.
pub(crate) fn silence(timer: &OwnedFd) {
    // Nothing to read means that it was set again since it rang, which is just as well.
    let _ = rustix::io::read(timer, &mut [0; 8]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn is_readable(timer: &Timer) -> bool {
        let mut fds = [rustix::event::PollFd::new(
            &timer.fd,
            rustix::event::PollFlags::IN,
        )];
        let wait = Timespec {
            tv_sec: 5,
            tv_nsec: 0,
        };
        rustix::event::poll(&mut fds, Some(&wait)).expect("poll") == 1
    }

    #[test]
    fn rings_and_is_silenced() {
        let mut timer = Timer::new().expect("timer");
        let at = Instant::ZERO + Duration::from_micros(50);
        timer.arm(Instant::ZERO, at).expect("arm");
        assert!(is_readable(&timer));
        silence(&timer.fd);
        timer.settle(at);
        assert_eq!(timer.armed, Instant::FAR_FUTURE);
    }

    #[test]
    fn only_moves_earlier() {
        let mut timer = Timer::new().expect("timer");
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        timer.arm(Instant::ZERO, at(20)).expect("arm");
        timer.arm(Instant::ZERO, at(30)).expect("arm");
        assert_eq!(timer.armed, at(20));
        timer.arm(Instant::ZERO, at(10)).expect("arm");
        assert_eq!(timer.armed, at(10));
        timer.settle(at(9));
        assert_eq!(timer.armed, at(10));
    }

    #[test]
    fn a_time_that_has_passed_rings_at_once() {
        let mut timer = Timer::new().expect("timer");
        timer
            .arm(Instant::ZERO + Duration::from_secs(1), Instant::ZERO)
            .expect("arm");
        assert!(is_readable(&timer));
    }
}
