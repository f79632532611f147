use super::PFabricSetup;
use crate::Time;
use std::collections::BTreeSet;

/// A message being sent: which of its frames are under way, and how many may be.
///
/// A frame is new, under way, lost (to be sent again), or acknowledged.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) to: u32,
    pub(super) message: u32,
    pub(super) answer: bool,
    pub(super) length: u32,
    /// Its number among the flows from here to there.
    pub(super) number: u32,
    /// Bytes that are not acknowledged.
    pub(super) remaining: u32,
    frames: u32,
    next_new: u32,
    under_way: Vec<u32>,
    lost: BTreeSet<u32>,
    acknowledged: u32,
    window: f64,
    threshold: f64,
    timeouts: u32,
    /// In probe mode: whether a probe should be sent now.
    probe_due: bool,
    /// When what is under way is given up.
    pub(super) deadline: Time,
}

/// What to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Frame(u32),
    Probe,
}

impl Flow {
    pub(super) fn new(to: u32, number: u32, message: u32, answer: bool, length: u32, setup: &PFabricSetup) -> Flow {
        Flow {
            to,
            message,
            answer,
            length,
            number,
            remaining: length,
            frames: setup.frames.count(length),
            next_new: 0,
            under_way: Vec::new(),
            lost: BTreeSet::new(),
            acknowledged: 0,
            window: f64::from(setup.window),
            threshold: f64::from(setup.window),
            timeouts: 0,
            probe_due: false,
            deadline: Time::NEVER,
        }
    }

    fn probing(&self, setup: &PFabricSetup) -> bool {
        self.timeouts >= setup.probe_after
    }

    /// How long to wait for acks: twice as long after each timeout.
    fn patience(&self, setup: &PFabricSetup) -> Time {
        setup.timeout * (1 << self.timeouts.min(setup.doublings))
    }

    /// What may be sent now.
    pub(super) fn next(&self, setup: &PFabricSetup) -> Option<Next> {
        if self.probing(setup) {
            return self.probe_due.then_some(Next::Probe);
        }
        if self.under_way.len() >= self.window as usize {
            return None;
        }
        let fresh = (self.next_new < self.frames).then_some(self.next_new);
        self.lost.first().copied().or(fresh).map(Next::Frame)
    }

    /// That has been sent.
    pub(super) fn sent(&mut self, now: Time, next: Next, setup: &PFabricSetup) {
        match next {
            Next::Probe => self.probe_due = false,
            Next::Frame(frame) => {
                if !self.lost.remove(&frame) {
                    self.next_new += 1;
                }
                self.under_way.push(frame);
            }
        }
        if self.deadline == Time::NEVER {
            self.deadline = now + self.patience(setup);
        }
    }

    /// A frame has arrived. Returns whether all have.
    pub(super) fn acknowledge(&mut self, now: Time, frame: u32, setup: &PFabricSetup) -> bool {
        let known = match self.under_way.iter().position(|other| *other == frame) {
            Some(place) => {
                self.under_way.remove(place);
                true
            }
            None => self.lost.remove(&frame),
        };
        if known {
            self.acknowledged += 1;
            self.remaining -= setup.frames.contents(self.length, frame);
        }
        self.alive(now, setup);
        let step = if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        self.window = (self.window + step).min(f64::from(setup.window));
        self.acknowledged == self.frames
    }

    /// The other side is heard of: no more probes, and a new time to wait for what is under way.
    pub(super) fn alive(&mut self, now: Time, setup: &PFabricSetup) {
        self.timeouts = 0;
        self.probe_due = false;
        self.deadline = if self.under_way.is_empty() { Time::NEVER } else { now + self.patience(setup) };
    }

    /// Nothing was heard for too long: what is under way is lost.
    pub(super) fn time_out(&mut self, setup: &PFabricSetup) {
        self.threshold = (self.window / 2.0).max(2.0);
        self.window = 1.0;
        self.timeouts += 1;
        self.lost.extend(self.under_way.drain(..));
        self.probe_due = self.probing(setup);
        self.deadline = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETUP: PFabricSetup = PFabricSetup::PAPER;

    fn send_all(flow: &mut Flow, now: Time) -> Vec<Next> {
        let mut sent = Vec::new();
        while let Some(next) = flow.next(&SETUP) {
            flow.sent(now, next, &SETUP);
            sent.push(next);
        }
        sent
    }

    #[test]
    fn it_starts_with_a_whole_window_and_goes_on_with_each_ack() {
        let mut flow = Flow::new(1, 0, 0, false, 100_000, &SETUP);
        assert_eq!(send_all(&mut flow, Time::ZERO).len(), 12);
        assert!(!flow.acknowledge(Time::from_micros(8), 5, &SETUP));
        assert_eq!(flow.remaining, 100_000 - 1_442);
        assert_eq!(send_all(&mut flow, Time::from_micros(8)), [Next::Frame(12)]);
        assert_eq!(flow.deadline, Time::from_micros(32));
    }

    #[test]
    fn after_a_timeout_it_starts_slowly_and_sends_again_what_was_lost() {
        let mut flow = Flow::new(1, 0, 0, false, 100_000, &SETUP);
        send_all(&mut flow, Time::ZERO);
        flow.acknowledge(Time::from_micros(8), 0, &SETUP);
        flow.time_out(&SETUP);
        assert_eq!(send_all(&mut flow, Time::from_micros(32)), [Next::Frame(1)]);
        assert!(!flow.acknowledge(Time::from_micros(40), 2, &SETUP), "an ack may come late");
        assert_eq!(send_all(&mut flow, Time::from_micros(40)), [Next::Frame(3)]);
    }

    #[test]
    fn five_timeouts_in_a_row_lead_to_probes_and_one_answer_back() {
        let mut flow = Flow::new(1, 0, 0, false, 2_000, &SETUP);
        for round in 0..5 {
            assert!(matches!(flow.next(&SETUP), Some(Next::Frame(0))), "round {round}");
            send_all(&mut flow, Time::ZERO);
            flow.time_out(&SETUP);
        }
        assert_eq!(send_all(&mut flow, Time::ZERO), [Next::Probe]);
        flow.time_out(&SETUP);
        assert_eq!(send_all(&mut flow, Time::ZERO), [Next::Probe]);
        flow.alive(Time::from_micros(1), &SETUP);
        assert_eq!(send_all(&mut flow, Time::from_micros(1)), [Next::Frame(0)]);
        assert!(!flow.acknowledge(Time::from_micros(9), 0, &SETUP));
        assert!(flow.acknowledge(Time::from_micros(9), 1, &SETUP));
    }
}
