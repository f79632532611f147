//! Random loads on random links: every RPC between the model of the Linux module and a real endpoint ends exactly once,
//! with the contents that were sent, and neither side has to drop what the other means.

use homarus_interop::kernel::{Dress, Form};
use homarus_interop::net::{Call, Fate, Net, NetConfig, Play, Side};
use homarus_swarm::dice::Dice;
use std::time::Duration;

/// Seeds of one test, unless `INTEROP_SEEDS` says otherwise; `INTEROP_SEED` has one of them run alone.
const SEEDS: u64 = 1_000;

/// What a link does to packets, as probabilities.
#[derive(Clone, Copy, Debug, Default)]
struct Weather {
    loss: f64,
    reordering: f64,
    duplication: f64,
}

/// Loads of one test.
#[derive(Clone, Copy, Debug)]
struct Load {
    calls: (u64, u64),
    longest: u64,
    /// Milliseconds over which the calls begin.
    spread: u64,
}

fn config(dice: &mut Dice) -> NetConfig {
    let mut config = NetConfig {
        delay: Duration::from_micros(dice.spread(2, 2_000)),
        // On slower links a megabyte ahead, in one queue with the rest, takes longer than Linux has patience.
        picos_a_byte: dice.spread(80, 10_000),
        seed: dice.number(),
        ..NetConfig::default()
    };
    let forms = [Form::Implicit, Form::Explicit, Form::Segmented(13), Form::Segmented(45)];
    config.kernel.form = dice.pick(&forms);
    config.kernel.dress = dice.pick(&[Dress::Linux, Dress::Zero]);
    config.kernel.cutoffs_burst = dice.within(1, 4) as u32;
    config.endpoint.mtu = dice.pick(&[1_500, 1_500, 1_400, 9_000]);
    config.endpoint.incast_optimisation = dice.chance(0.5);
    config
}

fn calls(dice: &mut Dice, load: Load) -> Vec<Call> {
    let number = dice.within(load.calls.0, load.calls.1);
    (0..number)
        .map(|_| Call {
            from: dice.pick(&[Side::Kernel, Side::Homarus]),
            after: Duration::from_micros(dice.within(0, load.spread * 1_000)),
            request: dice.spread(1, load.longest) as u32,
            response: dice.spread(1, load.longest) as u32,
            service: if dice.chance(0.2) { dice.time(Duration::from_millis(30)) } else { Duration::ZERO },
            to: None,
        })
        .collect()
}

/// Plays one seed and gives what was wrong.
fn faults(seed: u64, load: Load, weather: Weather) -> Option<String> {
    let mut dice = Dice::new(seed, 1);
    let mut net = Net::new(config(&mut dice));
    let calls = calls(&mut dice, load);
    net.set_judge(move |_| {
        if dice.chance(weather.loss) {
            Fate::Lose
        } else if dice.chance(weather.reordering) {
            Fate::Delay(dice.time(Duration::from_millis(3)))
        } else if dice.chance(weather.duplication) {
            Fate::Repeat(dice.time(Duration::from_millis(30)))
        } else {
            Fate::Deliver
        }
    });
    let mut play = Play::new(net, calls);
    play.run(Duration::from_secs(120));
    let faults = play.faults_and_failures();
    (!faults.is_empty())
        .then(|| format!("seed {seed}, {load:?}, {weather:?}\n{}\n{}", play.net.trace(), faults.join("\n")))
}

fn number_from(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{variable} is {value:?}, expected a number of seeds or a seed")))
}

fn try_all(load: Load, weather: impl Fn(&mut Dice) -> Weather) {
    let seeds = match (number_from("INTEROP_SEED"), number_from("INTEROP_SEEDS")) {
        (Some(only), _) => only..only + 1,
        (None, seeds) => 0..seeds.unwrap_or(SEEDS),
    };
    let mut failed = Vec::new();
    for seed in seeds {
        let weather = weather(&mut Dice::new(seed, 2));
        if let Some(faults) = faults(seed, load, weather) {
            failed.push((seed, faults));
        }
    }
    if let Some((_, first)) = failed.first() {
        let all: Vec<u64> = failed.iter().map(|(seed, _)| *seed).collect();
        panic!("seeds {all:?} failed (one alone: INTEROP_SEED=…). The first:\n{first}");
    }
}

#[test]
fn calm() {
    try_all(Load { calls: (1, 40), longest: 100_000, spread: 20 }, |_| Weather::default());
}

#[test]
fn short_messages_in_bad_weather() {
    try_all(Load { calls: (1, 60), longest: 5_000, spread: 100 }, |dice| Weather {
        loss: dice.pick(&[0.01, 0.05, 0.2]),
        reordering: dice.pick(&[0.0, 0.02, 0.2]),
        duplication: dice.pick(&[0.0, 0.02, 0.1]),
    });
}

#[test]
fn long_messages_in_bad_weather() {
    try_all(Load { calls: (1, 6), longest: 1_000_000, spread: 50 }, |dice| Weather {
        loss: dice.pick(&[0.001, 0.01, 0.05]),
        reordering: dice.pick(&[0.0, 0.02, 0.1]),
        duplication: dice.pick(&[0.0, 0.02, 0.1]),
    });
}

#[test]
fn a_fifth_of_all_packets_lost() {
    try_all(Load { calls: (1, 10), longest: 60_000, spread: 50 }, |_| Weather { loss: 0.2, ..Weather::default() });
}
