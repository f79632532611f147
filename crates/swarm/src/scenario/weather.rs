use crate::dice::Dice;
use std::time::Duration;

/// What the network does to packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// Probability that a packet is lost or arrives with a wrong checksum.
    pub loss: f64,
    /// Probability that it arrives twice.
    pub duplication: f64,
    /// Probability that it is held up.
    pub lateness: f64,
    /// Longest time that a packet is held up, or that its copy comes later.
    pub late_by: Duration,
    /// Probability that other bytes arrive than were sent.
    pub mutation: f64,
    /// Packets of other people's making for each packet sent.
    pub forgery: f64,
}

impl Weather {
    pub(super) fn draw(dice: &mut Dice) -> Weather {
        if dice.chance(0.15) {
            return Weather::default();
        }
        let mut rate = |chance: f64, rates: &[f64]| if dice.chance(chance) { dice.pick(rates) } else { 0.0 };
        Weather {
            loss: rate(0.7, &[0.001, 0.01, 0.05, 0.1, 0.3]),
            duplication: rate(0.4, &[0.001, 0.05, 0.3]),
            lateness: rate(0.4, &[0.01, 0.1, 0.5]),
            mutation: rate(0.1, &[0.01, 0.1, 0.5]),
            forgery: rate(0.1, &[0.01, 0.1, 1.0]),
            late_by: Duration::from_micros(dice.spread(1, 500_000)),
        }
    }

    /// Whether every packet arrives as it was sent, and no other.
    pub fn is_lossless(&self) -> bool {
        self.loss == 0.0 && self.is_honest()
    }

    /// Whether only packets arrive that the endpoints sent.
    pub fn is_honest(&self) -> bool {
        self.mutation == 0.0 && self.forgery == 0.0
    }
}
