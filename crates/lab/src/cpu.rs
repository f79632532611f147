//! Processor time: kept from dozing off, how much is left over, and how long hosts wait for it.

use crate::control::{Order, Reply};
use crate::rack::Rack;
use crate::sys;
use anyhow::{Context, Result, bail};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

/// A thread for each core that spins when nothing else wants the core.
///
/// An idle core halts; a halted virtual one takes up to a millisecond to wake, which would be measured as latency of whatever
/// transport leaves the cores idle most. Dropping it ends the threads.
#[derive(Debug)]
pub(crate) struct Spinners {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Spinners {
    /// Starts them; where the system does not let a thread be of the idle class, none spins.
    pub(crate) fn start() -> Spinners {
        let stop = Arc::new(AtomicBool::new(false));
        let spin = |core| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                if sys::become_idle_thread_of(core).is_err() {
                    return;
                }
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..cores()).map(spin).collect();
        Spinners { stop, threads }
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}

/// Processor time of a rack, since it was made.
#[derive(Debug)]
pub(crate) struct CpuMeter {
    began: Instant,
    hosts: Vec<ThreadTime>,
    packets: u64,
}

/// What a [`CpuMeter`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CpuUse {
    /// Share of all cores' time that neither the hosts nor the delivery of packets used, 0 to 1. What other programs took is
    /// in it: hosts that may run before other programs do not miss it, and hosts that may not had to wait.
    pub(crate) left: f64,
    /// Share of the time that the host which waited most had to wait for a core.
    pub(crate) waited: f64,
}

impl CpuMeter {
    /// Starts to measure.
    pub(crate) fn start(rack: &mut Rack) -> Result<CpuMeter> {
        Ok(CpuMeter { began: Instant::now(), hosts: thread_times(rack)?, packets: packet_nanos()? })
    }

    /// Ends the measurement.
    pub(crate) fn finish(self, rack: &mut Rack) -> Result<CpuUse> {
        let elapsed = self.began.elapsed().as_nanos() as f64;
        let after = thread_times(rack)?;
        let hosts = after.iter().zip(&self.hosts);
        let used: u64 = hosts.clone().map(|(after, before)| after.ran - before.ran).sum();
        let waited = hosts.map(|(after, before)| after.waited - before.waited).max().unwrap_or(0);
        let used = used + packet_nanos()?.saturating_sub(self.packets);
        Ok(CpuUse {
            left: (1.0 - used as f64 / elapsed / cores() as f64).max(0.0),
            waited: (waited as f64 / elapsed).min(1.0),
        })
    }
}

fn thread_times(rack: &mut Rack) -> Result<Vec<ThreadTime>> {
    let replies = rack.ask_each(|_| Some(Order::Usage))?;
    let time = |reply| match reply {
        Reply::Usage { ran, waited } => Ok(ThreadTime { ran, waited }),
        other => bail!("expected a host's use of the processors, found {other:?}"),
    };
    replies.into_iter().map(time).collect()
}

/// How long a thread has run, and how long it could have run but for want of a core; ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadTime {
    pub(crate) ran: u64,
    pub(crate) waited: u64,
}

impl ThreadTime {
    /// This thread's; zero where the kernel does not count it.
    pub(crate) fn of_this_thread() -> Result<ThreadTime> {
        let Ok(text) = std::fs::read_to_string("/proc/thread-self/schedstat") else { return Ok(ThreadTime::default()) };
        let mut numbers = text.split_whitespace().map_while(|word| word.parse().ok());
        match (numbers.next(), numbers.next()) {
            (Some(ran), Some(waited)) => Ok(ThreadTime { ran, waited }),
            _ => bail!("/proc/thread-self/schedstat says {text:?}, expected two numbers of nanoseconds"),
        }
    }
}

/// Cores of this machine.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}

/// Time that all cores together have spent on interrupts and the delivery of packets since the machine started.
fn packet_nanos() -> Result<u64> {
    let path = "/proc/stat";
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let fields = text.lines().next().unwrap_or_default().split_whitespace();
    let ticks: Option<Vec<u64>> = fields.skip(6).take(2).map(|field| field.parse().ok()).collect();
    // Linux tells these times in hundredths of a second on every architecture.
    ticks
        .map(|ticks| ticks.iter().sum::<u64>() * 10_000_000)
        .with_context(|| format!("{path} does not begin as expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_has_run() {
        let before = ThreadTime::of_this_thread().unwrap();
        let mut sum = 0u64;
        for n in 0..20_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(n));
        }
        let after = ThreadTime::of_this_thread().unwrap();
        assert!(after == ThreadTime::default() || after.ran > before.ran);
        assert!(packet_nanos().unwrap() <= u64::MAX / 2);
    }
}
