//! Watches the switch's queues while a run goes on.

use super::queue::{QueueReader, QueueState};
use crate::sys::{become_real_time, now_nanos};
use crate::wire::UNCOUNTED;
use anyhow::{Result, anyhow};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two looks at the queues. A queue that rises and falls within it may be missed.
const PERIOD: Duration = Duration::from_millis(2);

/// What happened at one switch port.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PortUse {
    /// Most bytes seen waiting.
    pub(crate) peak: u64,
    /// Mean of the bytes seen waiting.
    pub(crate) mean: f64,
    /// Packets dropped.
    pub(crate) drops: u64,
    /// Bytes sent, with preamble and gap, within the window.
    pub(crate) wire_bytes: u64,
    /// Packets sent within the window.
    pub(crate) packets: u64,
}

/// A thread that looks at the root qdiscs of some interfaces every two milliseconds.
#[derive(Debug)]
pub(crate) struct QueueWatch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Vec<PortUse>>>,
}

impl QueueWatch {
    /// Starts watching. Peaks and drops count from now; bytes and packets within `window` (monotonic ns).
    pub(crate) fn start(interfaces: &[u32], window: std::ops::Range<u64>) -> Result<QueueWatch> {
        let mut reader = QueueReader::open()?;
        let interfaces = interfaces.to_vec();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            // Without the permission it may look a little late.
            let _ = become_real_time();
            let mut ports: Vec<Port> =
                interfaces.iter().map(|&index| Ok(Port::new(reader.read(index)?))).collect::<Result<_>>()?;
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(PERIOD);
                let inside = window.contains(&now_nanos());
                for (port, &index) in ports.iter_mut().zip(&interfaces) {
                    port.look(reader.read(index)?, inside);
                }
            }
            Ok(ports.iter().map(Port::result).collect())
        });
        Ok(QueueWatch { stop, thread })
    }

    /// Ends the watch; the ports in the order given.
    pub(crate) fn finish(self) -> Result<Vec<PortUse>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the thread that watches the queues has failed"))?
    }
}

struct Port {
    first: QueueState,
    last: QueueState,
    window: Option<(QueueState, QueueState)>,
    peak: u64,
    sum: u128,
    looks: u64,
}

impl Port {
    fn new(state: QueueState) -> Port {
        Port { first: state, last: state, window: None, peak: 0, sum: 0, looks: 0 }
    }

    fn look(&mut self, state: QueueState, inside: bool) {
        self.last = state;
        self.peak = self.peak.max(state.backlog);
        if inside {
            self.sum += u128::from(state.backlog);
            self.looks += 1;
            self.window = Some((self.window.map_or(state, |(begin, _)| begin), state));
        }
    }

    fn result(&self) -> PortUse {
        let (begin, end) = self.window.unwrap_or((self.last, self.last));
        let packets = end.packets - begin.packets;
        PortUse {
            peak: self.peak,
            mean: if self.looks == 0 { 0.0 } else { self.sum as f64 / self.looks as f64 },
            drops: self.last.drops - self.first.drops,
            wire_bytes: end.bytes - begin.bytes + packets * UNCOUNTED,
            packets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_counts_bytes_within_the_window_and_drops_from_the_start() {
        let state = |bytes, packets, drops, backlog| QueueState { bytes, packets, drops, backlog };
        let mut port = Port::new(state(100, 1, 5, 0));
        port.look(state(1000, 2, 6, 9000), false);
        port.look(state(2000, 3, 6, 100), true);
        port.look(state(5000, 5, 8, 300), true);
        port.look(state(9000, 9, 9, 0), false);
        let expected = PortUse { peak: 9000, mean: 200.0, drops: 4, wire_bytes: 3000 + 2 * 24, packets: 2 };
        assert_eq!(port.result(), expected);
    }
}
