//! A progress bar with the time left, on standard error.

use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shows how much of a race whose length is known beforehand is over.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// Planned time of the steps that are over, ms.
    over: u64,
    ticking: Option<Ticking>,
}

#[derive(Debug)]
struct Ticking {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    planned: u64,
}

impl Progress {
    /// For a race that takes about `total`. Where standard error is no terminal only the steps' names are written.
    pub fn new(total: Duration) -> Progress {
        let bar = ProgressBar::new(total.as_millis() as u64);
        let style = ProgressStyle::with_template("{bar:30.cyan/dim} {percent:>3} %  {prefix:>6} left  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar, over: 0, ticking: None }
    }

    /// For nobody to see.
    pub fn hidden() -> Progress {
        Progress { bar: ProgressBar::hidden(), over: 0, ticking: None }
    }

    /// Ends the step that was going on and begins the next, which is planned to take so long.
    pub(crate) fn step(&mut self, name: String, planned: Duration) {
        self.end_step();
        if self.bar.is_hidden() {
            eprintln!("{name} …");
        }
        self.bar.set_message(name);
        let (bar, from, planned) = (self.bar.clone(), self.over, planned.as_millis() as u64);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let began = Instant::now();
            while !stopped.load(Ordering::Relaxed) {
                let position = from + (began.elapsed().as_millis() as u64).min(planned);
                bar.set_prefix(time(bar.length().unwrap_or(0).saturating_sub(position)));
                bar.set_position(position);
                std::thread::park_timeout(Duration::from_millis(250));
            }
        });
        self.ticking = Some(Ticking { stop, thread, planned });
    }

    fn end_step(&mut self) {
        if let Some(ticking) = self.ticking.take() {
            ticking.stop.store(true, Ordering::Relaxed);
            ticking.thread.thread().unpark();
            // It only drew.
            let _ = ticking.thread.join();
            self.over += ticking.planned;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end_step();
        self.bar.finish_and_clear();
    }
}

/// Minutes and seconds.
fn time(millis: u64) -> String {
    let seconds = millis.div_ceil(1000);
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_left_is_minutes_and_seconds() {
        assert_eq!([0, 1, 59_000, 61_000, 600_000].map(super::time), ["0:00", "0:01", "0:59", "1:01", "10:00"]);
    }
}
