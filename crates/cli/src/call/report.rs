//! What a run of calls found.

use super::caller::Tally;
use super::{Api, CallArgs};
use crate::size;
use crate::trial::Latency;
use anyhow::Result;
use homarus::Stats;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// Number of the JSON's form. It grows when a field changes its meaning or goes away.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
pub(super) struct Report {
    schema: u32,
    server: String,
    api: Api,
    /// Bytes in a request, and in its answer.
    size: u32,
    concurrency: u32,
    /// Calls answered with the right contents.
    answered: u64,
    /// Number of failed calls by reason.
    failures: BTreeMap<String, u64>,
    interrupted: bool,
    seconds: f64,
    calls_per_s: f64,
    /// Bits of requests per second; the answers are as many again.
    bits_per_s: f64,
    /// RESEND packets sent, because packets of answers were missing.
    resends: u64,
    /// DATA packets of requests sent again.
    packets_resent: u64,
    /// `None` if no call was answered.
    latency: Option<Latency>,
}

impl Report {
    pub(super) fn new(
        args: &CallArgs,
        server: String,
        tally: &Tally,
        stats: &Stats,
        time: Duration,
        interrupted: bool,
    ) -> Report {
        let answered = tally.nanos.len();
        let seconds = time.as_secs_f64();
        let calls_per_s = answered as f64 / seconds;
        Report {
            schema: SCHEMA,
            server,
            api: args.api(),
            size: args.size,
            concurrency: args.concurrency,
            answered,
            failures: tally.failures.clone(),
            interrupted,
            seconds,
            calls_per_s,
            bits_per_s: calls_per_s * f64::from(args.size) * 8.0,
            resends: stats.resends_sent,
            packets_resent: stats.data_resent,
            latency: Latency::of(&tally.nanos),
        }
    }

    /// For machines.
    pub(super) fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let api = match self.api {
            Api::Async => "async API",
            Api::Blocking => "blocking API",
            Api::Spin => "blocking API, spinning",
        };
        let answered = match self.answered {
            0 => "none answered".to_owned(),
            answered => format!("{answered} answered, each with the right contents"),
        };
        let mut text = format!(
            "calls of {} to {}, {} at a time, {api}: {answered}\n",
            size::show(f64::from(self.size)),
            self.server,
            self.concurrency,
        );
        if let Some(latency) = &self.latency {
            let rows = [
                ("P50", latency.p50_us),
                ("P90", latency.p90_us),
                ("P99", latency.p99_us),
                ("P99.9", latency.p999_us),
                ("longest", latency.max_us),
            ];
            for (name, micros) in rows {
                let _ = writeln!(text, "  {name:<8} {:>14}", time(micros));
            }
            let _ = writeln!(
                text,
                "  {:<8} {:>14}   {}bit/s each way",
                "rate",
                format!("{:.0}/s", self.calls_per_s),
                bits(self.bits_per_s)
            );
        }
        if self.resends + self.packets_resent > 0 {
            let _ = writeln!(
                text,
                "  packets were lost or late: {} sent again, {} asked for again",
                self.packets_resent, self.resends
            );
        }
        for (why, count) in &self.failures {
            let _ = writeln!(text, "{count} failed: {why}");
        }
        text
    }
}

fn time(micros: f64) -> String {
    match micros {
        micros if micros < 1e3 => format!("{micros:.1} µs"),
        micros if micros < 1e6 => format!("{:.2} ms", micros / 1e3),
        micros => format!("{:.2} s ", micros / 1e6),
    }
}

fn bits(rate: f64) -> String {
    match rate {
        rate if rate < 1e6 => format!("{:.1} k", rate / 1e3),
        rate if rate < 1e9 => format!("{:.1} M", rate / 1e6),
        rate => format!("{:.2} G", rate / 1e9),
    }
}
