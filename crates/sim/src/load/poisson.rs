use crate::Time;
use crate::cluster::{Application, Wishes};
use crate::transport::Message;
use homarus_workloads::Workload;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Messages of a workload's lengths that begin at random, from every host to every other with equal probability.
#[derive(Clone, Debug)]
pub struct PoissonPlan {
    /// Lengths.
    pub workload: Workload,
    /// Mean time between two messages of one host.
    pub interval: Time,
    /// Hosts.
    pub hosts: u32,
    /// Whether each message is answered by one of the same length.
    pub echo: bool,
    /// Messages that begin earlier do not count: queues are filling.
    pub count_from: Time,
    /// So many messages count; the load goes on until they have all arrived.
    pub counted: u64,
    /// Lengths, destinations and times are drawn from it.
    pub seed: u64,
}

/// A [`PoissonPlan`] at work. `F` is told each message that counts, when it is done.
#[derive(Debug)]
pub struct Poisson<F> {
    plan: PoissonPlan,
    rngs: Vec<Pcg64Mcg>,
    begun: u64,
    left: u64,
    record: F,
}

/// A message that counts.
const COUNTS: u32 = 1;

impl<F: FnMut(&Message, Time)> Poisson<F> {
    /// `record` is called with each message that counts and the time at which it is done.
    pub fn new(plan: PoissonPlan, record: F) -> Poisson<F> {
        let rng =
            |host: u32| Pcg64Mcg::seed_from_u64(plan.seed.wrapping_mul(0x9e37_79b9).wrapping_add(u64::from(host)));
        Poisson { rngs: (0..plan.hosts).map(rng).collect(), begun: 0, left: plan.counted, record, plan }
    }

    /// Messages that count and are not done yet.
    pub fn left(&self) -> u64 {
        self.left
    }

    fn next_after(&mut self, now: Time, host: u32) -> Time {
        let u: f64 = self.rngs[host as usize].random();
        let picos = -(1.0 - u).ln() * self.plan.interval.as_picos() as f64;
        now + Time::from_picos(picos as u64)
    }
}

impl<F: FnMut(&Message, Time)> Application for Poisson<F> {
    fn begin(&mut self, wishes: &mut Wishes) {
        for host in 0..self.plan.hosts {
            let at = self.next_after(Time::ZERO, host);
            wishes.alarm(at, host);
        }
    }

    fn alarm(&mut self, now: Time, host: u32, wishes: &mut Wishes) {
        let rng = &mut self.rngs[host as usize];
        let length = self.plan.workload.sample(rng);
        let other = rng.random_range(0..self.plan.hosts - 1);
        let to = if other >= host { other + 1 } else { other };
        let counts = now >= self.plan.count_from && self.begun < self.plan.counted;
        self.begun += u64::from(counts);
        let tag = if counts { COUNTS } else { 0 };
        if self.plan.echo {
            wishes.call(host, to, length, length, tag);
        } else {
            wishes.send(host, to, length, tag);
        }
        let at = self.next_after(now, host);
        wishes.alarm(at, host);
    }

    fn done(&mut self, now: Time, message: &Message, answered: bool, _wishes: &mut Wishes) {
        if message.tag == COUNTS && answered == message.reply.is_some() {
            self.left -= 1;
            (self.record)(message, now);
        }
    }

    fn is_over(&self) -> bool {
        self.left == 0
    }
}
