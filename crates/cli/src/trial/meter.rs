use super::{Job, Spec};
use anyhow::{Result, bail};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counts RPCs between the end of the warm-up and the end of the trial.
///
/// The clock is read once per round trip where latency is measured, and rarely where only the rate is.
pub struct Meter {
    job: Job,
    size: usize,
    begin: Instant,
    end: Instant,
    over: AtomicBool,
    count: Mutex<Count>,
}

struct Count {
    phase: Phase,
    first: Instant,
    last: Instant,
    rpcs: u64,
    since_clock: u64,
    lost: u64,
    nanos: Histogram<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    WarmUp,
    Measure,
    Over,
}

impl Meter {
    /// Small RPCs between two looks at the clock.
    const CLOCK_EVERY: u64 = 16;
    /// Longest round trip that is told from longer ones.
    const LONGEST: Duration = Duration::from_secs(60);

    /// Starts the warm-up.
    pub fn start(spec: &Spec) -> Meter {
        let begin = Instant::now() + spec.warmup();
        let nanos = Histogram::new_with_bounds(1, Meter::LONGEST.as_nanos() as u64, 3);
        Meter {
            job: spec.job,
            size: spec.size,
            begin,
            end: begin + spec.measure(),
            over: AtomicBool::new(false),
            count: Mutex::new(Count {
                phase: Phase::WarmUp,
                first: begin,
                last: begin,
                rpcs: 0,
                since_clock: 0,
                lost: 0,
                nanos: nanos.expect("bounds are constant and valid"),
            }),
        }
    }

    /// Whether another request is wanted.
    pub fn running(&self) -> bool {
        !self.over.load(Ordering::Relaxed)
    }

    /// A round trip that began at `sent` has ended.
    pub fn round_trip(&self, sent: Instant) {
        let now = Instant::now();
        let mut count = self.lock();
        if count.phase == Phase::Measure {
            count.rpcs += 1;
            count.nanos.saturating_record(u64::try_from((now - sent).as_nanos()).unwrap_or(u64::MAX));
        }
        self.tick(&mut count, now);
    }

    /// `rpcs` more RPCs have ended.
    pub fn count(&self, rpcs: u64) {
        let mut count = self.lock();
        if count.phase == Phase::Measure {
            count.rpcs += rpcs;
        }
        count.since_clock += rpcs;
        if count.since_clock >= Meter::CLOCK_EVERY || self.job == Job::Bulk {
            count.since_clock = 0;
            self.tick(&mut count, Instant::now());
        }
    }

    /// `rpcs` requests were lost and had to be sent again or given up.
    pub fn lost(&self, rpcs: u64) {
        let mut count = self.lock();
        count.lost += rpcs;
        self.tick(&mut count, Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self, count: &mut Count, now: Instant) {
        match count.phase {
            Phase::WarmUp if now >= self.begin => {
                count.phase = Phase::Measure;
                count.first = now;
                count.last = now;
            }
            Phase::Measure => {
                count.last = now;
                if now >= self.end {
                    count.phase = Phase::Over;
                    self.over.store(true, Ordering::Relaxed);
                }
            }
            Phase::WarmUp | Phase::Over => {}
        }
    }

    /// What was measured.
    pub fn outcome(&self, spec: &Spec) -> Result<Outcome> {
        let count = self.lock();
        let rpcs = count.rpcs;
        let seconds = (count.last - count.first).as_secs_f64();
        if rpcs == 0 || seconds == 0.0 {
            bail!(
                "no RPC ended within {:?} after a warm-up of {:?}: lengthen the trial",
                spec.measure(),
                spec.warmup()
            );
        }
        Ok(Outcome {
            rpcs,
            seconds,
            rpc_per_s: rpcs as f64 / seconds,
            gbit_per_s: rpcs as f64 * self.size as f64 * 8.0 / seconds / 1e9,
            lost: count.lost,
            latency: Latency::of(&count.nanos),
        })
    }
}

/// What one trial measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// RPCs that ended in the measured time.
    pub rpcs: u64,
    /// Measured time, seconds.
    pub seconds: f64,
    /// RPCs per second.
    pub rpc_per_s: f64,
    /// Bits of requests per second, in units of 10⁹.
    pub gbit_per_s: f64,
    /// Requests that were lost and sent again or given up.
    pub lost: u64,
    /// Round trips, where they were measured.
    pub latency: Option<Latency>,
}

/// Round-trip times, microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Median.
    pub p50_us: f64,
    /// 90th percentile.
    pub p90_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Longest.
    pub max_us: f64,
}

impl Latency {
    /// Percentiles of times in nanoseconds; `None` if there are none.
    pub fn of(nanos: &Histogram<u64>) -> Option<Latency> {
        let at = |quantile| nanos.value_at_quantile(quantile) as f64 / 1e3;
        (!nanos.is_empty()).then(|| Latency {
            p50_us: at(0.5),
            p90_us: at(0.9),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: nanos.max() as f64 / 1e3,
        })
    }
}
