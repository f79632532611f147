use crate::Time;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// What is sent now, decided with full knowledge: of all messages the one with the least left goes first, then the one with
/// the least left whose sender and receiver are both free, and so on.
///
/// A message that is being sent only gets closer to its end, so that none that waits can overtake it: the choice changes
/// when a message begins or ends, and then only where it touches those that changed.
#[derive(Debug)]
pub(super) struct Matching {
    flows: Vec<Option<Flow>>,
    senders: Vec<End>,
    receivers: Vec<End>,
    /// Messages being sent, by when they will be through.
    running: BTreeSet<(Time, u32)>,
    /// Messages that might displace what is being sent.
    candidates: BinaryHeap<Reverse<(Time, u32)>>,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    from: u32,
    to: u32,
    /// Sending time left: from `since` on if it is running, and then it ends at `since + left`.
    left: Time,
    since: Time,
    running: bool,
}

/// One direction of a host's link.
#[derive(Clone, Debug, Default)]
struct End {
    running: Option<u32>,
    /// The least left first.
    waiting: BTreeSet<(Time, u32)>,
}

impl Matching {
    pub(super) fn new(hosts: u32) -> Matching {
        let ends = vec![End::default(); hosts as usize];
        Matching {
            flows: Vec::new(),
            senders: ends.clone(),
            receivers: ends,
            running: BTreeSet::new(),
            candidates: BinaryHeap::new(),
        }
    }

    /// A message that needs so much sending time begins.
    pub(super) fn begin(&mut self, now: Time, id: u32, from: u32, to: u32, left: Time) {
        if self.flows.len() <= id as usize {
            self.flows.resize(id as usize + 1, None);
        }
        self.flows[id as usize] = Some(Flow { from, to, left, since: now, running: false });
        self.wait(id);
        self.candidates.push(Reverse((left, id)));
        self.decide(now);
    }

    /// When the next message will have been sent.
    pub(super) fn next_end(&self) -> Option<Time> {
        self.running.first().map(|(at, _)| *at)
    }

    /// Takes a message out that has been sent by `now`: the time at which it had been, and its number.
    pub(super) fn ended(&mut self, now: Time) -> Option<(Time, u32)> {
        let (at, id) = *self.running.first().filter(|(at, _)| *at <= now)?;
        self.stop(id, at);
        let flow = self.flows[id as usize].take()?;
        self.look_at(at, flow.from, flow.to);
        self.decide(at);
        Some((at, id))
    }

    fn flow(&mut self, id: u32) -> &mut Flow {
        self.flows[id as usize].as_mut().expect("ends name messages that are there")
    }

    fn wait(&mut self, id: u32) {
        let Flow { from, to, left, .. } = *self.flow(id);
        self.senders[from as usize].waiting.insert((left, id));
        self.receivers[to as usize].waiting.insert((left, id));
    }

    fn start(&mut self, id: u32, now: Time) {
        let flow = self.flow(id);
        (flow.running, flow.since) = (true, now);
        let Flow { from, to, left, .. } = *flow;
        for end in [&mut self.senders[from as usize], &mut self.receivers[to as usize]] {
            end.waiting.remove(&(left, id));
            end.running = Some(id);
        }
        self.running.insert((now + left, id));
    }

    fn stop(&mut self, id: u32, now: Time) {
        let flow = self.flow(id);
        let Flow { from, to, left, since, .. } = *flow;
        (flow.left, flow.running) = (left - now.since(since), false);
        self.running.remove(&(since + left, id));
        self.senders[from as usize].running = None;
        self.receivers[to as usize].running = None;
    }

    /// Whether a message with so much left would go before what an end is sending.
    fn beats(&self, now: Time, end: &End, left: Time, id: u32) -> bool {
        let running = end.running.and_then(|other| Some((other, self.flows[other as usize]?)));
        running.is_none_or(|(other, flow)| (left, id) < (flow.left - now.since(flow.since), other))
    }

    fn may_start(&self, now: Time, left: Time, id: u32) -> bool {
        let Some(flow) = self.flows[id as usize] else { return false };
        !flow.running
            && flow.left == left
            && self.beats(now, &self.senders[flow.from as usize], left, id)
            && self.beats(now, &self.receivers[flow.to as usize], left, id)
    }

    /// Both ends may have become free: finds the message to go next at each.
    fn look_at(&mut self, now: Time, from: u32, to: u32) {
        for end in [&self.senders[from as usize], &self.receivers[to as usize]] {
            let next = end.waiting.iter().find(|(left, id)| self.may_start(now, *left, *id));
            self.candidates.extend(next.map(|next| Reverse(*next)));
        }
    }

    fn decide(&mut self, now: Time) {
        while let Some(Reverse((left, id))) = self.candidates.pop() {
            let Some(Flow { from, to, .. }) = self.flows[id as usize] else { continue };
            if !self.may_start(now, left, id) {
                self.look_at_free(now, from, to);
                continue;
            }
            let displaced = [self.senders[from as usize].running, self.receivers[to as usize].running];
            for other in displaced.into_iter().flatten() {
                if self.flow(other).running {
                    self.stop(other, now);
                    self.wait(other);
                }
            }
            self.start(id, now);
            for other in displaced.into_iter().flatten() {
                let Flow { from, to, .. } = *self.flow(other);
                self.look_at(now, from, to);
            }
        }
    }

    /// A candidate was forestalled: if that leaves one of its ends free, another may use it.
    fn look_at_free(&mut self, now: Time, from: u32, to: u32) {
        let idle = [&self.senders[from as usize], &self.receivers[to as usize]];
        for end in idle.into_iter().filter(|end| end.running.is_none()) {
            let next = end.waiting.iter().find(|(left, id)| self.may_start(now, *left, *id));
            self.candidates.extend(next.map(|next| Reverse(*next)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    impl Matching {
        /// What should be running, found by going through all messages.
        fn expected(&self, now: Time) -> BTreeSet<u32> {
            let left = |flow: &Flow| if flow.running { flow.left - now.since(flow.since) } else { flow.left };
            let mut all: Vec<_> = (0..).zip(&self.flows).filter_map(|(id, flow)| Some((id, (*flow)?))).collect();
            all.sort_by_key(|(id, flow)| (left(flow), *id));
            let (mut from, mut to) = (BTreeSet::new(), BTreeSet::new());
            let free = |(id, flow): &(u32, Flow)| {
                let free = !from.contains(&flow.from) && !to.contains(&flow.to);
                if free {
                    from.insert(flow.from);
                    to.insert(flow.to);
                }
                free.then_some(*id)
            };
            all.iter().filter_map(free).collect()
        }
    }

    #[test]
    fn the_choice_is_what_full_knowledge_would_choose() {
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(5);
        let mut matching = Matching::new(8);
        let (mut now, mut ended) = (Time::ZERO, 0);
        for id in 0..5_000 {
            now += Time::from_nanos(rng.random_range(0..2_000));
            while let Some(at) = matching.next_end().filter(|at| *at <= now) {
                assert!(matching.ended(at).is_some());
                ended += 1;
            }
            let (from, to) = (rng.random_range(0..8), rng.random_range(0..8));
            let left = Time::from_nanos(1 << rng.random_range(4..14));
            matching.begin(now, id, from, to, left);
            let running: BTreeSet<u32> = matching.running.iter().map(|(_, id)| *id).collect();
            assert_eq!(running, matching.expected(now), "after message {id}");
        }
        while let Some(at) = matching.next_end() {
            ended += usize::from(matching.ended(at).is_some());
        }
        assert_eq!(ended, 5_000);
    }

    #[test]
    fn the_shorter_interrupts_and_the_longer_goes_on_where_it_was() {
        let mut matching = Matching::new(3);
        let micros = Time::from_micros;
        matching.begin(micros(0), 0, 0, 2, micros(10));
        matching.begin(micros(4), 1, 1, 2, micros(3));
        matching.begin(micros(5), 2, 0, 1, micros(100));
        assert_eq!(matching.ended(micros(7)), Some((micros(7), 1)));
        assert_eq!(matching.next_end(), Some(micros(13)), "the long one had 6 µs left");
        assert_eq!(matching.ended(micros(13)), Some((micros(13), 0)));
        assert_eq!(matching.next_end(), Some(micros(111)), "the third was sent from 5 to 7 µs only");
    }
}
