//! `homarus compare`: races Homa against TCP with real packets on a rack made of network namespaces.

use crate::{out, size};
use anyhow::{Context, Result};
use clap::Args;
use homarus_lab::{Entered, IncastPlan, Progress, RacePlan, RackShape, Transport, Workload};
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Race Homa against TCP with real packets on this machine
///
/// Builds a rack of network namespaces with rate-limited links and a switch with strict priorities, proves it, and runs the same
/// open-loop workload (requests at random times, each answered by a response of equal length) over homarus and over Linux
/// TCP in its best configurations. Prints round-trip times by message length and writes a page with the plot. Needs root or user
/// namespaces, and iproute2. Leaves nothing behind, however it ends.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Hosts in the rack, 2 to 64
    #[arg(long, default_value_t = 8)]
    hosts: usize,
    /// Rate of each link, e.g. 50mbit or 1gbit. All links together must not be more than this machine's cores can carry
    #[arg(long, default_value = "50mbit", value_parser = rate)]
    rate: u64,
    /// Message lengths: w1 to w5, linux_w1 to linux_w5, linux_starve, a length in bytes, or a CSV file
    #[arg(long, default_value = "linux_w4", conflicts_with = "incast")]
    workload: String,
    /// Share of each link's capacity that is offered, e.g. 0.8 or 80%
    #[arg(long, default_value = "0.8", value_parser = share, conflicts_with = "incast")]
    load: f64,
    /// Seconds for which messages count, for each transport
    #[arg(long, default_value_t = 16.0, conflicts_with = "incast")]
    seconds: f64,
    /// Turns that each transport takes, in alternation with the others; they share the seconds
    #[arg(long, default_value_t = 1, conflicts_with = "incast")]
    turns: u32,
    /// Priority levels of the switch, 1 to 8
    #[arg(long, default_value_t = 8)]
    priorities: u8,
    /// Bytes that each switch port can queue, e.g. 300kB
    #[arg(long, default_value = "300kB", value_parser = size::parse)]
    buffer: u32,
    /// Seed of arrival times and lengths: the same for every transport
    #[arg(long, default_value_t = 1, conflicts_with = "incast")]
    seed: u64,
    /// Who takes part: homa, tcp-CC-pipelined, tcp-CC-pool (CC: a congestion control), comma-separated; for an incast homa-no-incast too
    /// [default: homa and TCP in both ways with cubic and bbr]
    #[arg(long, value_delimiter = ',', value_parser = transport)]
    transports: Vec<Transport>,
    /// Write the results as JSON (docs/compare-json.md); `-`: to standard output, the tables to standard error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the page with the plot
    #[arg(long, value_name = "FILE", default_value = "homarus-compare.html")]
    html: PathBuf,
    /// Write the plot alone, as an SVG image
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Instead of the workload: one client calls many servers at once, beside a probe from another host
    #[arg(long)]
    incast: bool,
    /// Incast: servers that the client calls
    #[arg(long, default_value_t = 100, requires = "incast")]
    servers: u16,
    /// Incast: bytes of each response, e.g. 64KiB
    #[arg(long, default_value = "64KiB", value_parser = size::parse, requires = "incast")]
    size: u32,
    /// Incast: times that the client calls all servers
    #[arg(long, default_value_t = 50, requires = "incast")]
    rounds: u32,
    /// Incast: bytes of the probe's request and response
    #[arg(long, default_value = "2KiB", value_parser = size::parse, requires = "incast")]
    probe: u32,
    /// Incast: milliseconds between two probes
    #[arg(long, default_value_t = 20, requires = "incast")]
    probe_period: u32,
}

/// Runs the race. Exit code 1 if the rack failed its proof.
pub(crate) fn run(args: &CompareArgs) -> Result<ExitCode> {
    let plan = args.plan()?;
    let files: Vec<&PathBuf> = args.json_file().into_iter().chain([&args.html]).chain(&args.svg).collect();
    for (index, file) in files.iter().enumerate() {
        if files[..index].contains(file) {
            let why = format!("{} is to hold two results: choose another file for one of them", file.display());
            return Err(out::Usage(why).into());
        }
        check_writable(file)?;
    }
    if let Entered::Finished(code) = homarus_lab::enter()? {
        return Ok(code);
    }
    match plan {
        Plan::Race(plan) => args.race(&plan),
        Plan::Incast(plan) => args.incast(&plan),
    }
}

enum Plan {
    Race(RacePlan),
    Incast(IncastPlan),
}

impl CompareArgs {
    /// What the arguments ask for, checked.
    fn plan(&self) -> Result<Plan> {
        let rack = RackShape { hosts: self.hosts, rate: self.rate, priorities: self.priorities, buffer: self.buffer };
        if self.incast {
            let plan = IncastPlan {
                rack,
                servers: self.servers,
                reply: self.size,
                rounds: self.rounds,
                probe: self.probe,
                probe_period_ms: self.probe_period,
                transports: self.transports_or(&["homa", "homa-no-incast", "tcp-cubic-pool", "tcp-bbr-pool"])?,
            };
            plan.check().map_err(|why| out::Usage(why.to_string()))?;
            return Ok(Plan::Incast(plan));
        }
        let field = ["homa", "tcp-cubic-pipelined", "tcp-cubic-pool", "tcp-bbr-pipelined", "tcp-bbr-pool"];
        let plan = RacePlan {
            rack,
            workload: Workload::resolve(&self.workload)?,
            load: self.load,
            seconds: self.seconds,
            turns: self.turns,
            seed: self.seed,
            transports: self.transports_or(&field)?,
        };
        plan.check().map_err(|why| out::Usage(why.to_string()))?;
        Ok(Plan::Race(plan))
    }

    fn transports_or(&self, usual: &[&str]) -> Result<Vec<Transport>> {
        if self.transports.is_empty() {
            return usual.iter().map(|id| id.parse()).collect();
        }
        Ok(self.transports.clone())
    }

    fn race(&self, plan: &RacePlan) -> Result<ExitCode> {
        let mut progress = Progress::new(homarus_lab::planned_time(plan));
        let report = homarus_lab::race(plan, &command_line(), &mut progress)?;
        drop(progress);
        self.show(&homarus_lab::race_table(&report))?;
        self.write(&report, &homarus_lab::race_page(&report), &homarus_lab::race_image(&report))?;
        Ok(exit_code(report.header.proof.passed))
    }

    fn incast(&self, plan: &IncastPlan) -> Result<ExitCode> {
        let mut progress = Progress::new(homarus_lab::planned_incast_time(plan));
        let report = homarus_lab::incast(plan, &command_line(), &mut progress)?;
        drop(progress);
        self.show(&homarus_lab::incast_table(&report))?;
        self.write(&report, &homarus_lab::incast_page(&report), &homarus_lab::incast_image(&report))?;
        Ok(exit_code(report.header.proof.passed))
    }

    /// Where the JSON goes if that is a file.
    fn json_file(&self) -> Option<&PathBuf> {
        self.json.as_ref().filter(|path| path.as_os_str() != "-")
    }

    /// Shows text to people: where standard output is for JSON, on standard error.
    fn show(&self, text: &str) -> Result<()> {
        if self.json.is_some() && self.json_file().is_none() {
            // A closed standard error must not lose the JSON.
            let _ = std::io::stderr().write_all(text.as_bytes());
            return Ok(());
        }
        out::print(text)
    }

    fn write(&self, report: &impl Serialize, page: &str, image: &str) -> Result<()> {
        let write = |path: &Path, text: &str| {
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        write(&self.html, page)?;
        let mut written = format!("\nThe page with the plot: {}\n", self.html.display());
        if let Some(path) = &self.svg {
            write(path, image)?;
            written += &format!("The plot alone: {}\n", path.display());
        }
        let mut json = serde_json::to_string_pretty(report).context("cannot put the results into JSON")?;
        json.push('\n');
        if let Some(path) = self.json_file() {
            write(path, &json)?;
            written += &format!("The results as JSON: {}\n", path.display());
        }
        self.show(&written)?;
        if self.json.is_some() && self.json_file().is_none() { out::print(&json) } else { Ok(()) }
    }
}

/// Finds out before minutes are spent whether results can be written. A file that exists keeps its contents until then.
fn check_writable(path: &Path) -> Result<()> {
    let existed = path.exists();
    File::options()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("cannot write {}: choose another file or folder", path.display()))?;
    if !existed {
        std::fs::remove_file(path).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn exit_code(proved: bool) -> ExitCode {
    if proved { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The command as it was typed, but for the path of the program.
fn command_line() -> String {
    let words = std::env::args().skip(1).map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:%".contains(c);
        if !word.is_empty() && word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    });
    std::iter::once("homarus".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn transport(text: &str) -> Result<Transport, String> {
    text.trim().parse().map_err(|error: anyhow::Error| error.to_string())
}

/// Parses a link rate in bits per second: `50mbit`, `1gbit`, `2.5g`, `800kbit`, `1000000`.
fn rate(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let bare = lower.trim_end_matches("/s").trim_end_matches("bit").trim_end();
    let (number, factor) = match bare.as_bytes().last() {
        Some(b'k') => (&bare[..bare.len() - 1], 1e3),
        Some(b'm') => (&bare[..bare.len() - 1], 1e6),
        Some(b'g') => (&bare[..bare.len() - 1], 1e9),
        _ => (bare, 1.0),
    };
    let number: Option<f64> = number.trim().parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0);
    number
        .map(|number| (number * factor) as u64)
        .ok_or_else(|| format!("'{text}' is no rate: expected bits per second such as 50mbit, 100M or 1gbit"))
}

/// Parses a share: `0.8` or `80%`.
fn share(text: &str) -> Result<f64, String> {
    let (number, factor) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent.trim(), 100.0),
        None => (text.trim(), 1.0),
    };
    let share = number.parse::<f64>().ok().map(|number| number / factor);
    share
        .filter(|share| (0.01..=0.95).contains(share))
        .ok_or_else(|| format!("'{text}' is no load: expected 0.01 to 0.95, or 1% to 95%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_as_people_write_them() {
        let rates =
            [("50mbit", 50_000_000), ("1gbit", 1_000_000_000), ("2.5G", 2_500_000_000), ("100 Mbit/s", 100_000_000)];
        for (text, bits) in rates {
            assert_eq!(rate(text), Ok(bits), "{text}");
        }
        for text in ["", "fast", "-5m", "0", "infm", "5t"] {
            assert!(rate(text).is_err_and(|why| why.contains("expected bits per second")), "{text}");
        }
    }

    #[test]
    fn loads_are_shares_or_percentages() {
        assert_eq!((share("0.8"), share("80%"), share("5 %")), (Ok(0.8), Ok(0.8), Ok(0.05)));
        for text in ["80", "1", "0", "x%", "-0.5"] {
            assert!(share(text).is_err(), "{text}");
        }
    }
}
