//! A random configuration, topology, load and set of faults for each seed.

mod configs;
mod load;
mod troubles;
mod weather;

use crate::content::Message;
use crate::dice::Dice;
use crate::net::{HostId, HostSpec};
use homarus_proto::Instant;
use std::time::Duration;

pub use troubles::Trouble;
pub use weather::Weather;

/// When every scenario begins, in the world's time.
pub const START: Instant = Instant::from_nanos(1_000_000_000);

/// A long deadline.
const LONG: Duration = Duration::from_secs(60);

/// One request that a host will make.
#[derive(Clone, Copy, Debug)]
pub struct CallPlan {
    /// When.
    pub at: Instant,
    /// The client.
    pub from: HostId,
    /// The server.
    pub to: HostId,
    /// What it sends.
    pub request: Message,
    /// What the server will answer.
    pub response: Message,
    /// Given with the request.
    pub deadline: Option<Duration>,
    /// Whether and when the client changes its mind.
    pub cancel_after: Option<Duration>,
}

/// Something bad that will happen to a host.
#[derive(Clone, Copy, Debug)]
pub struct TroublePlan {
    /// When.
    pub at: Instant,
    /// To whom.
    pub host: HostId,
    /// What.
    pub trouble: Trouble,
}

/// How servers behave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manners {
    /// Longest time that an answer takes.
    pub think: Duration,
    /// Probability that a request is rejected.
    pub refuse: f64,
    /// Probability that a request stays unanswered until the network heals.
    pub ignore: f64,
}

/// All that is decided beforehand.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Where it came from.
    pub seed: u64,
    /// The hosts.
    pub hosts: Vec<HostSpec>,
    /// Whether some bound in a configuration is so tight that requests may fail for it.
    pub tight: bool,
    /// Whether switch ports may overflow.
    pub shallow: bool,
    /// What they will ask of each other, in order of time.
    pub calls: Vec<CallPlan>,
    /// How the network treats packets until it heals.
    pub weather: Weather,
    /// What happens to hosts until then.
    pub troubles: Vec<TroublePlan>,
    /// How servers behave until then.
    pub manners: Manners,
    /// When everything becomes good.
    pub heal_at: Instant,
}

/// How much happens.
struct Size {
    hosts: usize,
    calls: usize,
    longest: usize,
}

impl Size {
    fn draw(dice: &mut Dice) -> Size {
        let (hosts, calls, longest) = match dice.within(0, 999) {
            0..600 => ((1, 3), (1, 20), 60_000),
            600..900 => ((2, 8), (10, 60), 100_000),
            900..980 => ((4, 30), (50, 200), 200_000),
            980..996 => ((2, 6), (2, 10), 1 << 20),
            _ => ((50, 200), (200, 1_000), 20_000),
        };
        let mut range = |(low, high)| dice.within(low, high) as usize;
        Size { hosts: range(hosts), calls: range(calls), longest }
    }
}

impl Scenario {
    /// The scenario of a seed, always the same.
    pub fn from_seed(seed: u64) -> Scenario {
        let mut dice = Dice::new(seed, 1);
        let size = Size::draw(&mut dice);
        let (mut hosts, tight, shallow) = configs::hosts(&mut dice, size.hosts);
        let span = Duration::from_micros(dice.spread(100, 2_000_000));
        let calls = load::calls(&mut dice, &size, span);
        configs::bear_questions(&mut hosts, size.calls as u64);
        let weather = Weather::draw(&mut dice);
        if tight || !weather.is_honest() {
            // Hosts without room may wait for each other, and forged packets may spoil a message, until a deadline.
            hosts.iter_mut().for_each(|host| _ = host.config.default_deadline.get_or_insert(LONG));
        }
        let troubles = troubles::draw(&mut dice, size.hosts, span);
        let manners = manners(&mut dice);
        let heal_at = START + span + dice.time(Duration::from_secs(2));
        Scenario { seed, hosts, tight, shallow, calls, weather, troubles, manners, heal_at }
    }

    /// Whether every request must succeed: nothing is lost, nobody fails, no bound is tight.
    pub fn is_calm(&self) -> bool {
        !self.tight
            && !self.shallow
            && self.troubles.is_empty()
            && self.weather.is_lossless()
            && self.manners.refuse == 0.0
            && self.manners.ignore == 0.0
    }
}

fn manners(dice: &mut Dice) -> Manners {
    let think = match dice.within(0, 3) {
        0 | 1 => Duration::ZERO,
        2 => Duration::from_micros(dice.spread(1, 2_000)),
        _ => Duration::from_millis(dice.spread(1, 3_000)),
    };
    let rarely = |dice: &mut Dice| if dice.chance(0.15) { dice.pick(&[0.05, 0.3, 1.0]) } else { 0.0 };
    Manners { think, refuse: rarely(dice), ignore: rarely(dice) }
}
