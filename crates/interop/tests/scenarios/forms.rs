//! All forms that packets of the module take.

use crate::stage::{SIDES, play, play_well, warm};
use homarus_interop::kernel::{Dress, Form};
use homarus_interop::net::{Call, Fate, NetConfig, Side};
use std::net::IpAddr;

fn configs() -> Vec<NetConfig> {
    let mut configs = Vec::new();
    for form in [Form::Implicit, Form::Explicit, Form::Segmented(13), Form::Segmented(45)] {
        for dress in [Dress::Linux, Dress::Zero] {
            let mut config = NetConfig::default();
            (config.kernel.form, config.kernel.dress) = (form, dress);
            configs.push(config);
        }
    }
    configs
}

#[test]
fn every_form_17() {
    for config in configs() {
        for side in SIDES {
            play_well(config.clone(), warm(vec![Call::new(side, 100_000, 100_000), Call::new(side, 100, 100)]));
        }
    }
}

#[test]
fn every_form_with_losses_17() {
    for config in configs() {
        for side in SIDES {
            let mut number = 0;
            let play = play(config.clone(), warm(vec![Call::new(side, 100_000, 100_000)]), move |_| {
                number += 1;
                if number % 13 == 0 { Fate::Lose } else { Fate::Deliver }
            });
            play.expect_all_intact();
        }
    }
}

#[test]
fn over_ipv6() {
    let address = |last: u16| IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, last]);
    for side in SIDES {
        let mut config = NetConfig { endpoint_addresses: vec![address(1)], ..NetConfig::default() };
        config.kernel.addresses = vec![address(2)];
        play_well(config, vec![Call::new(side, 100_000, 100_000)]);
    }
}

#[test]
fn jumbo_frames() {
    for side in SIDES {
        let mut config = NetConfig::default();
        (config.kernel.mtu, config.endpoint.mtu) = (9_000, 9_000);
        play_well(config, vec![Call::new(side, 500_000, 500_000)]);
    }
}

#[test]
fn our_packets_may_be_smaller_than_theirs() {
    let mut config = NetConfig::default();
    config.endpoint.mtu = 1_280;
    let mut number = 0;
    let calls = SIDES.iter().map(|side| Call::new(*side, 100_000, 100_000)).collect();
    let play = play(config, calls, move |_| {
        number += 1;
        if number % 11 == 0 { Fate::Lose } else { Fate::Deliver }
    });
    play.expect_all_intact();
}

#[test]
fn bursts_of_cutoffs_do_no_harm() {
    for side in SIDES {
        let mut config = NetConfig::default();
        config.kernel.cutoffs_burst = 5;
        play_well(config, vec![Call::new(side, 20_000, 20_000), Call::new(side, 100, 100)]);
    }
}

#[test]
fn other_cutoffs_and_versions_are_obeyed() {
    let mut config = NetConfig::default();
    config.kernel.cutoffs = ([i32::MAX as u32, 0, 0, 0, 1_000_000, 20_000, 3_000, 300], 2);
    let play = play_well(config, warm(vec![Call::new(Side::Homarus, 250, 10), Call::new(Side::Homarus, 2_900, 10)]));
    let versions: Vec<u16> = play
        .net
        .sights()
        .filter(|sight| !sight.from_kernel && sight.is_first_copy())
        .filter_map(|sight| match &sight.packet.body {
            homarus_interop::kernel::wire::Body::Data(data) => Some(data.cutoff_version),
            _ => None,
        })
        .collect();
    assert_eq!(versions.last(), Some(&2), "{}", play.net.trace());
}
