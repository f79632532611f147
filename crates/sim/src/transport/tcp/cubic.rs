use crate::Time;

/// CUBIC (RFC 9438): the window grows by a cubic of the time since the last loss, and at least as fast as Reno's would.
#[derive(Debug, Default)]
pub(super) struct Cubic {
    /// The window before the last reduction, segments; 0 if there was none.
    most: f64,
    /// When growth began after it, and what Reno's window would be by now.
    epoch: Option<(Time, f64)>,
    /// Time from the epoch until the window is `origin`, seconds.
    k: f64,
    origin: f64,
}

/// Weight of the cubic term (RFC 9438 §5).
const C: f64 = 0.4;
/// The window after a loss, as a share of that before.
const BETA: f64 = 0.7;
/// Reno's growth that on average comes to the same window as [`BETA`] instead of a half.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

impl Cubic {
    /// The window after so many segments were acknowledged.
    pub(super) fn grow(&mut self, now: Time, window: f64, acked: f64, rtt: Time) -> f64 {
        let (begun, reno) = match self.epoch {
            Some(epoch) => epoch,
            None => {
                (self.k, self.origin) = match self.most > window {
                    true => (((self.most - window) / C).cbrt(), self.most),
                    false => (0.0, window),
                };
                (now, window)
            }
        };
        let alpha = if reno >= self.most { 1.0 } else { ALPHA };
        let reno = reno + alpha * acked / window;
        self.epoch = Some((begun, reno));
        let elapsed = (now - begun).as_secs();
        if self.at(elapsed) < reno {
            return window.max(reno);
        }
        let target = self.at(elapsed + rtt.as_secs()).clamp(window, 1.5 * window);
        window + (target - window) / window * acked
    }

    fn at(&self, elapsed: f64) -> f64 {
        self.origin + C * (elapsed - self.k).powi(3)
    }

    /// The window after a loss or a mark. A connection that lost before it had all of its last window lets others have more
    /// (fast convergence).
    pub(super) fn reduce(&mut self, window: f64) -> f64 {
        self.most = if window < self.most { window * (1.0 + BETA) / 2.0 } else { window };
        self.epoch = None;
        window * BETA
    }

    /// Nothing was sent for a time: growth goes on where it stopped.
    pub(super) fn skip(&mut self, idle: Time) {
        if let Some((begun, _)) = &mut self.epoch {
            *begun += idle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cubic: &mut Cubic, mut window: f64, from: f64, to: f64, rtt: f64) -> f64 {
        let mut now = from;
        while now < to {
            window = cubic.grow(Time::from_secs(now), window, window, Time::from_secs(rtt));
            now += rtt;
        }
        window
    }

    #[test]
    fn the_window_is_concave_up_to_the_old_one_and_convex_behind() {
        let mut cubic = Cubic::default();
        let window = cubic.reduce(1_000.0);
        assert_eq!(window, 700.0);
        // K = cbrt(300 / 0.4) = 9.09 s.
        let half = run(&mut cubic, window, 0.0, 4.5, 0.1);
        let there = run(&mut cubic, half, 4.5, 9.1, 0.1);
        let beyond = run(&mut cubic, there, 9.1, 13.6, 0.1);
        assert!((955.0..975.0).contains(&half), "{half}");
        assert!((995.0..1_005.0).contains(&there), "{there}");
        assert!((1_025.0..1_045.0).contains(&beyond), "{beyond}");
    }

    #[test]
    fn over_short_round_trips_it_grows_as_reno_does() {
        let mut cubic = Cubic::default();
        let window = cubic.reduce(100.0);
        let after = run(&mut cubic, window, 0.0, 0.002, 0.000_1);
        assert!((after - window - 20.0 * ALPHA).abs() < 0.6, "{after}");
        let long = run(&mut cubic, after, 0.002, 0.012, 0.000_1);
        assert!(long - after > 70.0, "beyond the old window by one segment a round trip: {long}");
    }

    #[test]
    fn a_second_loss_below_the_old_window_gives_way() {
        let mut cubic = Cubic::default();
        cubic.reduce(100.0);
        cubic.reduce(80.0);
        assert_eq!(cubic.most, 80.0 * 0.85);
    }
}
