//! Random choices.

use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::time::Duration;

/// A source of random choices that gives the same ones for the same seed.
#[derive(Clone, Debug)]
pub struct Dice(Pcg64Mcg);

impl Dice {
    /// From a seed and a purpose, so that one seed serves several independent uses.
    pub fn new(seed: u64, purpose: u64) -> Dice {
        Dice(Pcg64Mcg::seed_from_u64(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from `low` up to and including `high`.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        self.0.random_range(low..=high)
    }

    /// As [`within`](Dice::within), but every order of magnitude is equally likely.
    pub fn spread(&mut self, low: u64, high: u64) -> u64 {
        let exponent = self.0.random_range((low.max(1) as f64).ln()..=(high.max(1) as f64).ln());
        (exponent.exp() as u64).clamp(low, high)
    }

    /// True with that probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.0.random_bool(probability)
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.random_range(0..choices.len())]
    }

    /// A time up to `longest`.
    pub fn time(&mut self, longest: Duration) -> Duration {
        Duration::from_nanos(self.within(0, longest.as_nanos() as u64))
    }
}
