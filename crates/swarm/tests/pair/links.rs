//! Links are found out, not configured.

use crate::stage::Stage;
use homarus_proto::{Config, PeerView};
use homarus_swarm::net::LinkSpec;
use std::time::Duration;

/// What a host has found out about another after some messages of mixed lengths.
fn discover(rate: u64, delay: Duration) -> PeerView {
    let config = Config { pacing: true, ..Config::default() };
    let mut stage = Stage::new(2, LinkSpec::symmetric(rate, delay), &config);
    stage.world.set_observer(Box::new(|_, _| {}));
    for _ in 0..30 {
        for len in [100, 5_000, 100_000] {
            stage.round_trip(0, 1, len);
        }
    }
    // A burst that fits into a round trip does not show how fast the link is.
    for _ in 0..3 {
        stage.round_trip(0, 1, 3_000_000);
    }
    stage.round_trip(0, 1, 100);
    stage.world.endpoint(0).peer_view(stage.world.address(1)).expect("a peer")
}

#[test]
fn fast_and_slow_links() {
    for (megabits, micros) in [(50, 50), (50, 5), (1_000, 10), (1_000, 100), (10_000, 5)] {
        let (rate, delay) = (megabits * 1_000_000, Duration::from_micros(micros));
        let view = discover(rate, delay);
        let what = format!("{megabits} Mbit/s, {micros} µs: {view:?}");
        let found = view.link_rate.expect("a measured rate");
        assert!((0.7..1.4).contains(&(found / rate as f64)), "{what}");

        // A full packet crosses two links, and a short one comes back.
        let packet = Duration::from_secs_f64(1_538.0 * 8.0 / rate as f64);
        let least = 4 * delay;
        let most = 4 * delay + 3 * packet;
        let rtt = view.rtt_min.expect("a measured round trip");
        assert!(rtt >= least && rtt <= most, "{rtt:?} is not between {least:?} and {most:?}; {what}");

        let product = rate as f64 / 8.0 * (4 * delay + 2 * packet).as_secs_f64();
        let config = Config::default();
        let bounds = |bytes: f64| bytes.clamp(config.unscheduled_min.into(), config.unscheduled_max.into());
        let limit = f64::from(view.unscheduled_limit);
        assert!(
            (bounds(product * 0.7)..=bounds(product * 4.0)).contains(&limit),
            "bandwidth times delay is {product:.0} bytes; {what}"
        );
    }
}
