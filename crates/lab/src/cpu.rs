//! Processor time: kept from dozing off, and how much is left over.

use crate::sys;
use anyhow::{Context, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    /// Processor time used by each thread, ns.
    used: Vec<Arc<AtomicU64>>,
}

impl Spinners {
    /// Starts them; where the system does not let a thread be of the idle class, none spins.
    pub(crate) fn start() -> Spinners {
        let stop = Arc::new(AtomicBool::new(false));
        let mut spinners = Spinners { stop: Arc::clone(&stop), threads: Vec::new(), used: Vec::new() };
        for core in 0..cores() {
            let used = Arc::new(AtomicU64::new(0));
            spinners.used.push(Arc::clone(&used));
            let stop = Arc::clone(&stop);
            spinners.threads.push(std::thread::spawn(move || {
                if sys::become_idle_thread_of(core).is_err() {
                    return;
                }
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..1000 {
                        std::hint::spin_loop();
                    }
                    used.store(sys::thread_cpu_nanos(), Ordering::Relaxed);
                }
            }));
        }
        spinners
    }

    fn used_nanos(&self) -> u64 {
        self.used.iter().map(|used| used.load(Ordering::Relaxed)).sum()
    }

    /// Starts to measure how much processor time is left over.
    pub(crate) fn meter(&self) -> Result<CpuMeter<'_>> {
        Ok(CpuMeter { spinners: self, began: Instant::now(), spun: self.used_nanos(), idle: idle_nanos()? })
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

/// Measures processor time left over since it was made.
#[derive(Debug)]
pub(crate) struct CpuMeter<'a> {
    spinners: &'a Spinners,
    began: Instant,
    spun: u64,
    idle: u64,
}

impl CpuMeter<'_> {
    /// Share of all cores' time that nothing but the spinners used, 0 to 1.
    pub(crate) fn left(&self) -> Result<f64> {
        let left = self.spinners.used_nanos() - self.spun + idle_nanos()?.saturating_sub(self.idle);
        let all = self.began.elapsed().as_nanos() as f64 * cores() as f64;
        Ok((left as f64 / all).clamp(0.0, 1.0))
    }
}

/// Cores of this machine.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}

/// Time that all cores together have been idle since the machine started.
fn idle_nanos() -> Result<u64> {
    let path = "/proc/stat";
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let ticks: Option<u64> = text.lines().next().and_then(|line| line.split_whitespace().nth(4)?.parse().ok());
    // Linux tells these times in hundredths of a second on every architecture.
    ticks.map(|ticks| ticks * 10_000_000).with_context(|| format!("{path} does not begin as expected"))
}

/// Time that this thread wanted to run and had to wait for a core, ns; 0 where the kernel does not count it.
pub(crate) fn waited_nanos() -> Result<u64> {
    match std::fs::read_to_string("/proc/thread-self/schedstat") {
        Ok(text) => {
            let waited = text.split_whitespace().nth(1).and_then(|number| number.parse().ok());
            waited.context("/proc/thread-self/schedstat is not as expected")
        }
        Err(_not_counted) => Ok(0),
    }
}
