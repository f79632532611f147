use anyhow::{Context, Result};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::OwnedFd;
use tokio::io::unix::AsyncFd;

/// Wakes at an absolute monotonic time, to the precision of the kernel's timers; the runtime's own timer counts whole milliseconds.
#[derive(Debug)]
pub(crate) struct Timer {
    fd: AsyncFd<OwnedFd>,
}

impl Timer {
    /// Call it within a runtime.
    pub(crate) fn new() -> Result<Timer> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)
            .context("cannot make a timer")?;
        // SAFETY: the descriptor is open, owned, and neither replaced nor closed while it is watched.
        let fd = unsafe { AsyncFd::register(fd) }.context("cannot watch a timer")?;
        Ok(Timer { fd })
    }

    /// Waits until `nanos`; not at all if that has passed.
    pub(crate) async fn until(&mut self, nanos: u64) -> Result<()> {
        if crate::sys::now_nanos() >= nanos {
            return Ok(());
        }
        let value = Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = Itimerspec { it_interval: never, it_value: value };
        timerfd_settime(self.fd.get_ref(), TimerfdTimerFlags::ABSTIME, &setting).context("cannot set a timer")?;
        loop {
            let mut ready = self.fd.readable().await.context("cannot wait for a timer")?;
            let mut expirations = [0; 8];
            match ready.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut expirations)?)) {
                Ok(read) => return read.map(drop).context("cannot read a timer"),
                Err(_would_block) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::now_nanos;

    #[test]
    fn it_wakes_at_the_time_and_not_before() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut timer = Timer::new().unwrap();
            for wait in [0, 300_000, 100_000, 2_000_000] {
                let due = now_nanos() + wait;
                timer.until(due).await.unwrap();
                assert!(now_nanos() >= due);
            }
        });
    }
}
