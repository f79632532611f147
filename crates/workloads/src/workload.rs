use crate::CsvError;
use crate::builtin::{BUILTIN, LINUX_LONGEST};
use crate::csv;
use rand::{Rng, RngExt};
use std::str::FromStr;
use thiserror::Error;

/// One step of a distribution: `cumulative` of all messages are at most `size` bytes long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Message length, bytes.
    pub size: u32,
    /// Share of messages of this length or shorter, 0 to 1.
    pub cumulative: f64,
}

/// A distribution of message lengths: a step function, so that only the listed lengths occur.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    name: String,
    steps: Vec<Step>,
}

/// Neither the name of a built-in workload nor a length in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no built-in workload {0:?}")]
pub struct UnknownWorkload(pub String);

impl FromStr for Workload {
    type Err = UnknownWorkload;

    /// A built-in name, or a length in bytes that all messages have.
    fn from_str(given: &str) -> Result<Workload, UnknownWorkload> {
        if let Ok(size) = given.parse() {
            return Ok(Workload::fixed(size));
        }
        Workload::builtin(given).ok_or_else(|| UnknownWorkload(given.to_owned()))
    }
}

impl Workload {
    /// Names of the built-in workloads: `w1` … `w5` (SIGCOMM'18), `linux_w1` … `linux_w5` and `linux_starve` (the Linux module's
    /// benchmark, whose messages end at 1,000,000 bytes).
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// A built-in workload by name.
    pub fn builtin(name: &str) -> Option<Workload> {
        let (name, text) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        let workload =
            Workload::from_csv(*name, text).unwrap_or_else(|e| unreachable!("built-in workload {name}: {e}"));
        Some(if name.starts_with("linux_") { workload.cut_at(LINUX_LONGEST) } else { workload })
    }

    /// From the text of a CSV file, `size_bytes,cumulative_probability`.
    pub fn from_csv(name: impl Into<String>, text: &str) -> Result<Workload, CsvError> {
        Ok(Workload { name: name.into(), steps: csv::parse(text)? })
    }

    /// The text of a CSV file from which [`from_csv`](Self::from_csv) makes the same distribution again.
    pub fn to_csv(&self) -> String {
        let rows = self.steps.iter().map(|step| format!("{},{}\n", step.size, step.cumulative));
        std::iter::once("size_bytes,cumulative_probability\n".to_owned()).chain(rows).collect()
    }

    /// All messages have the same length, in bytes.
    pub fn fixed(size: u32) -> Workload {
        Workload { name: size.to_string(), steps: vec![Step { size, cumulative: 1.0 }] }
    }

    /// The same with every longer message shortened to `longest` bytes.
    pub fn cut_at(mut self, longest: u32) -> Workload {
        let kept = self.steps.partition_point(|step| step.size < longest);
        self.steps.truncate(kept);
        if self.steps.last().is_none_or(|step| step.cumulative < 1.0) {
            self.steps.push(Step { size: longest, cumulative: 1.0 });
        }
        self
    }

    /// What it is called in reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The steps, sizes rising; the last is at 1.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// A message length drawn at random, bytes.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> u32 {
        let u: f64 = rng.random();
        let index = self.steps.partition_point(|step| step.cumulative <= u);
        self.steps[index.min(self.steps.len() - 1)].size
    }

    /// Each length that occurs with its probability, lengths rising.
    pub fn probabilities(&self) -> impl Iterator<Item = (u32, f64)> {
        let before = std::iter::once(0.0).chain(self.steps.iter().map(|step| step.cumulative));
        self.steps
            .iter()
            .zip(before)
            .map(|(step, before)| (step.size, step.cumulative - before))
            .filter(|&(_, p)| p > 0.0)
    }

    /// Expected value of `f` over the message lengths, for instance of the bytes that a message needs on a wire.
    pub fn expect(&self, f: impl Fn(u32) -> f64) -> f64 {
        self.probabilities().map(|(size, p)| p * f(size)).sum()
    }

    /// Mean message length, bytes.
    pub fn mean(&self) -> f64 {
        self.expect(f64::from)
    }

    /// Shortest message that occurs, bytes.
    pub fn smallest(&self) -> u32 {
        self.probabilities().map(|(size, _)| size).next().unwrap_or(0)
    }

    /// Longest message that occurs, bytes.
    pub fn largest(&self) -> u32 {
        self.steps.last().map_or(0, |step| step.size)
    }

    /// Length that a share `p` (0 to 1) of the messages do not exceed: the shortest length for which at least `p` are
    /// of that length or shorter.
    pub fn quantile(&self, p: f64) -> u32 {
        let index = self.steps.partition_point(|step| step.cumulative < p);
        self.steps[index.min(self.steps.len() - 1)].size.max(self.smallest())
    }

    /// Share of messages of at most `size` bytes, 0 to 1.
    pub fn share_of_messages(&self, size: u32) -> f64 {
        let index = self.steps.partition_point(|step| step.size <= size);
        if index == 0 { 0.0 } else { self.steps[index - 1].cumulative }
    }

    /// Share of all bytes that are in messages of at most `size` bytes, 0 to 1. 0 if no message has any bytes.
    pub fn share_of_bytes(&self, size: u32) -> f64 {
        let mean = self.mean();
        if mean == 0.0 {
            return 0.0;
        }
        self.expect(|s| if s <= size { f64::from(s) } else { 0.0 }) / mean
    }

    /// Length up to which messages make up a share `p` (0 to 1) of all bytes: the shortest length for which at least `p`
    /// of the bytes are in messages of that length or shorter.
    pub fn byte_quantile(&self, p: f64) -> u32 {
        let target = p * self.mean();
        let mut bytes = 0.0;
        for (size, probability) in self.probabilities() {
            bytes += probability * f64::from(size);
            if bytes >= target {
                return size;
            }
        }
        self.largest()
    }
}
