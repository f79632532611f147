//! From the trials' samples to ratios and verdicts.

use super::plan::{Bar, Contender, Group, Metric, Rival};
use crate::trial::Outcome;
use serde::Serialize;

/// All rounds of one contender.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Samples {
    #[serde(flatten)]
    pub(super) contender: Contender,
    /// One a round, in order.
    pub(super) runs: Vec<Run>,
}

/// One trial's end.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Run {
    /// It measured something.
    Measured(Outcome),
    /// It failed, for this reason.
    Failed(String),
}

impl Samples {
    /// Figures of the rounds, `None` where a trial failed.
    fn figures(&self, metric: Metric) -> Vec<Option<f64>> {
        self.runs
            .iter()
            .map(|run| match run {
                Run::Measured(outcome) => metric.of(outcome),
                Run::Failed(_) => None,
            })
            .collect()
    }

    fn median(&self, metric: Metric) -> Option<f64> {
        median(self.figures(metric).into_iter().flatten().collect())
    }

    /// Why a trial failed, if one did.
    pub(super) fn failure(&self) -> Option<&str> {
        self.runs.iter().find_map(|run| match run {
            Run::Failed(why) => Some(why.as_str()),
            Run::Measured(_) => None,
        })
    }
}

fn median(mut figures: Vec<f64>) -> Option<f64> {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    let upper = *figures.get(middle)?;
    match figures.len() % 2 {
        1 => Some(upper),
        _ => Some((figures[middle - 1] + upper) / 2.0),
    }
}

/// One figure of homarus's and how it stands.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    /// What was measured.
    pub(super) title: &'static str,
    pub(super) metric: Metric,
    /// Unit of the figures.
    pub(super) unit: &'static str,
    /// Median of homarus's rounds.
    pub(super) homarus: Option<f64>,
    pub(super) bars: Vec<Judged>,
}

/// How homarus's figure stands against one bar.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Judged {
    /// Whom it is held against; `None` for a bar on the figure itself.
    pub(super) rival: Option<&'static str>,
    /// Median of the rival's rounds.
    pub(super) rival_figure: Option<f64>,
    /// Ratio of the medians, or the figure itself for an absolute bar.
    pub(super) value: Option<f64>,
    /// Lowest and highest of the ratios within a round.
    pub(super) spread: Option<(f64, f64)>,
    pub(super) must: Option<f64>,
    pub(super) aim: Option<f64>,
    pub(super) verdict: Verdict,
}

/// How a value stands against its bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// As good as wanted.
    Aim,
    /// As good as it has to be; the aim, if there is one, is missed.
    Must,
    /// Less than wanted, where nothing has to be reached.
    BelowAim,
    /// Less than it has to be.
    Missed,
    /// No bar: for information.
    NoBar,
    /// Not measured.
    Unmeasured,
}

impl Verdict {
    fn of(value: Option<f64>, metric: Metric, must: Option<f64>, aim: Option<f64>) -> Verdict {
        let Some(value) = value else { return Verdict::Unmeasured };
        let reached = |bar: f64| if metric.lower_is_better() { value <= bar } else { value >= bar };
        match (must.map(reached), aim.map(reached)) {
            (Some(false), _) => Verdict::Missed,
            (_, Some(true)) => Verdict::Aim,
            (Some(true), _) => Verdict::Must,
            (None, Some(false)) => Verdict::BelowAim,
            (None, None) => Verdict::NoBar,
        }
    }
}

/// Judges every group by the samples.
pub(super) fn rows(groups: &[Group], samples: &[Samples]) -> Vec<Row> {
    let find = |contender: Contender| samples.iter().find(|samples| samples.contender == contender);
    groups
        .iter()
        .map(|group| {
            let ours = find(group.ours);
            Row {
                title: group.title,
                metric: group.metric,
                unit: group.metric.unit(),
                homarus: ours.and_then(|samples| samples.median(group.metric)),
                bars: group.bars.iter().map(|bar| judge(bar, group.metric, ours, find)).collect(),
            }
        })
        .collect()
}

fn judge<'a>(
    bar: &Bar,
    metric: Metric,
    ours: Option<&Samples>,
    find: impl Fn(Contender) -> Option<&'a Samples>,
) -> Judged {
    let homarus = ours.and_then(|samples| samples.median(metric));
    let (rival, rival_figure, value, spread) = match bar.rival {
        Rival::Absolute => {
            let spread = ours.and_then(|samples| range(samples.figures(metric).into_iter().flatten()));
            (None, None, homarus, spread)
        }
        Rival::Measured { label, contender } => {
            let theirs = find(contender);
            let figure = theirs.and_then(|samples| samples.median(metric));
            let ratio = homarus.zip(figure).map(|(homarus, rival)| homarus / rival);
            let spread = ours.zip(theirs).and_then(|(ours, theirs)| {
                let rounds = ours.figures(metric).into_iter().zip(theirs.figures(metric));
                range(rounds.filter_map(|(homarus, rival)| Some(homarus? / rival?)))
            });
            (Some(label), figure, ratio, spread)
        }
    };
    let verdict = Verdict::of(value, metric, bar.must, bar.aim);
    Judged { rival, rival_figure, value, spread, must: bar.must, aim: bar.aim, verdict }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{Job, Latency, Mode};

    fn samples(transport: &'static str, p50: &[Option<f64>]) -> Samples {
        let contender = Contender { transport, mode: Mode::Blocking, job: Job::Rtt };
        let run = |p50: &Option<f64>| match *p50 {
            None => Run::Failed("the server did not start".to_owned()),
            Some(p50_us) => Run::Measured(Outcome {
                rpcs: 1,
                seconds: 1.0,
                rpc_per_s: 2e6 / p50_us,
                gbit_per_s: 1.0,
                lost: 0,
                latency: Some(Latency { p50_us, p90_us: 2.0, p99_us: 3.0, p999_us: 4.0, max_us: 5.0 }),
            }),
        };
        Samples { contender, runs: p50.iter().map(run).collect() }
    }

    fn group(metric: Metric, must: Option<f64>, aim: Option<f64>) -> Group {
        let contender = |transport| Contender { transport, mode: Mode::Blocking, job: Job::Rtt };
        let rival = Rival::Measured { label: "plain UDP", contender: contender("udp") };
        Group { title: "round trip", metric, ours: contender("homarus"), bars: vec![Bar { rival, must, aim }] }
    }

    #[test]
    fn ratios_are_of_medians_and_spread_is_within_rounds() {
        let ours = samples("homarus", &[Some(11.0), Some(30.0), Some(12.0)]);
        let udp = samples("udp", &[Some(10.0), Some(20.0), Some(9.0)]);
        let rows = rows(&[group(Metric::P50, Some(1.2), Some(1.1))], &[ours, udp]);
        assert_eq!(rows[0].homarus, Some(12.0));
        let bar = &rows[0].bars[0];
        assert_eq!(bar.rival_figure, Some(10.0));
        assert_eq!(bar.value, Some(1.2));
        assert_eq!(bar.spread, Some((1.1, 1.5)));
        assert_eq!(bar.verdict, Verdict::Must);
    }

    #[test]
    fn failed_rounds_are_left_out_and_nothing_measured_is_no_verdict() {
        let ours = samples("homarus", &[Some(10.0), None, Some(14.0)]);
        let udp = samples("udp", &[Some(10.0), Some(1.0), None]);
        let judged = rows(&[group(Metric::P50, Some(1.2), None)], &[ours.clone(), udp]);
        assert_eq!(judged[0].homarus, Some(12.0));
        assert_eq!(judged[0].bars[0].spread, Some((1.0, 1.0)));
        assert_eq!(ours.failure(), Some("the server did not start"));

        let judged = rows(&[group(Metric::P50, Some(1.2), None)], &[ours]);
        assert_eq!(judged[0].bars[0].verdict, Verdict::Unmeasured);
    }

    #[test]
    fn verdicts_follow_the_direction_of_the_metric() {
        let verdict = |value, metric, must, aim| Verdict::of(Some(value), metric, must, aim);
        assert_eq!(verdict(1.0, Metric::P50, Some(1.2), Some(1.1)), Verdict::Aim);
        assert_eq!(verdict(1.3, Metric::P50, Some(1.2), Some(1.1)), Verdict::Missed);
        assert_eq!(verdict(0.5, Metric::Rate, Some(0.45), Some(0.7)), Verdict::Must);
        assert_eq!(verdict(0.4, Metric::Rate, Some(0.45), Some(0.7)), Verdict::Missed);
        assert_eq!(verdict(0.8, Metric::Gbit, Some(0.45), Some(0.7)), Verdict::Aim);
        assert_eq!(verdict(3.0, Metric::Rate, None, Some(4.0)), Verdict::BelowAim);
        assert_eq!(verdict(3.0, Metric::Rate, None, None), Verdict::NoBar);
        assert_eq!(verdict(1.0, Metric::Gbit, Some(1.0), None), Verdict::Must);
    }

    #[test]
    fn median_of_an_even_number_is_between() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
    }
}
