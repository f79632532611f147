//! Where nothing is lost.

use crate::stage::{SIDES, count, other, play_well, riding_acks, warm};
use homarus_interop::kernel::wire::{Body, Kind};
use homarus_interop::net::{Call, NetConfig, Side};
use std::time::Duration;

#[test]
fn first_contact_00() {
    for side in SIDES {
        let play = play_well(NetConfig::default(), vec![Call::new(side, 100, 100)]);
        let sights: Vec<_> = play.net.sights().collect();
        let Body::Data(first) = &sights[0].packet.body else { panic!("{}", play.net.trace()) };
        assert_eq!((first.cutoff_version, sights[0].priority), (0, 6), "nothing is known yet");
        for teller in SIDES {
            assert!(count(&play, teller, Kind::Cutoffs) >= 1, "{teller:?} tells its cutoffs\n{}", play.net.trace());
        }
        assert_eq!(count(&play, other(side), Kind::NeedAck), 1, "{}", play.net.trace());
        assert_eq!(count(&play, side, Kind::Ack), 1, "{}", play.net.trace());
    }
}

#[test]
fn one_call_between_hosts_that_know_each_other_01() {
    for side in SIDES {
        let play = play_well(NetConfig::default(), warm(vec![Call::new(side, 100, 100)]));
        let mut last: Vec<_> = play.net.sights().collect();
        let last: Vec<_> = last.split_off(last.len() - 4).iter().map(|sight| sight.packet.kind()).collect();
        assert_eq!(last, [Kind::Data, Kind::Data, Kind::NeedAck, Kind::Ack], "{}", play.net.trace());
    }
}

#[test]
fn a_hundred_kilobytes_with_grants_02() {
    for side in SIDES {
        let play = play_well(NetConfig::default(), warm(vec![Call::new(side, 100_000, 100_000)]));
        assert!(count(&play, side, Kind::Grant) > 0, "{}", play.net.trace());
        assert_eq!(count(&play, side, Kind::Resend) + count(&play, other(side), Kind::Resend), 0);
    }
}

#[test]
fn acks_ride_on_the_next_requests_04() {
    for side in SIDES {
        let after = |number: u64| Duration::from_micros(1_500 * number);
        let calls = (0..4).map(|number| Call { after: after(number), ..Call::new(side, 100, 100) }).collect();
        let play = play_well(NetConfig::default(), warm(calls));
        assert!(riding_acks(&play, side).len() >= 3, "{}", play.net.trace());
        assert!(riding_acks(&play, other(side)).len() <= 1, "{}", play.net.trace());
    }
}

#[test]
fn a_server_answers_from_another_address_11() {
    // The kernel's host is addressed at its second address and answers from its first.
    let mut config = NetConfig::default();
    config.kernel.addresses.push([10, 0, 0, 88].into());
    let to = Some(([10, 0, 0, 88], 4_000).into());
    play_well(
        config,
        (0..3)
            .map(|number| Call { to, after: Duration::from_millis(6 * number), ..Call::new(Side::Homarus, 100, 100) })
            .collect(),
    );

    // The same of the endpoint's host.
    let mut config = NetConfig::default();
    config.endpoint_addresses.push([10, 0, 0, 77].into());
    let to = Some(([10, 0, 0, 77], 4_000).into());
    play_well(
        config,
        (0..3)
            .map(|number| Call { to, after: Duration::from_millis(6 * number), ..Call::new(Side::Kernel, 100, 100) })
            .collect(),
    );
}

#[test]
fn long_messages_to_and_from_another_address() {
    for (second, from) in [([10, 0, 0, 88], Side::Homarus), ([10, 0, 0, 77], Side::Kernel)] {
        let mut config = NetConfig::default();
        match from {
            Side::Homarus => config.kernel.addresses.push(second.into()),
            Side::Kernel => config.endpoint_addresses.push(second.into()),
        }
        let to = Some((second, 4_000).into());
        play_well(config, vec![Call { to, ..Call::new(from, 300_000, 300_000) }]);
    }
}

#[test]
fn twelve_calls_at_once_13() {
    for side in SIDES {
        let calls = vec![Call::new(side, 100, 100); 12];
        let play = play_well(NetConfig::default(), warm(calls));
        let full =
            |sight: &&homarus_interop::net::Sight| matches!(&sight.packet.body, Body::Ack(acks) if acks.len() == 5);
        assert!(play.net.sights().any(|sight| full(&sight)), "five acks in a packet\n{}", play.net.trace());
    }
}

#[test]
fn a_server_that_takes_40_ms_14() {
    for side in SIDES {
        let service = Duration::from_millis(40);
        let play = play_well(NetConfig::default(), warm(vec![Call { service, ..Call::new(side, 100, 100) }]));
        assert!(count(&play, side, Kind::Resend) >= 1, "{}", play.net.trace());
        assert!(count(&play, other(side), Kind::Busy) >= count(&play, side, Kind::Resend), "{}", play.net.trace());
    }
}

#[test]
fn a_server_that_takes_seconds_is_not_given_up() {
    for side in SIDES {
        let service = Duration::from_secs(8);
        play_well(NetConfig::default(), vec![Call { service, ..Call::new(side, 1_000, 1_000) }]);
    }
}

#[test]
fn the_longest_message() {
    for side in SIDES {
        play_well(NetConfig::default(), vec![Call::new(side, 1_000_000, 1_000_000)]);
    }
}

#[test]
fn around_the_boundaries_of_packets_and_of_the_unscheduled_limit() {
    for side in SIDES {
        for length in [1, 1_423, 1_424, 1_425, 9_999, 10_000, 10_001, 39_999, 40_000, 40_001, 41_424, 41_425] {
            play_well(NetConfig::default(), vec![Call::new(side, length, length)]);
        }
    }
}

#[test]
fn twelve_long_messages_at_once_each_way() {
    let calls = SIDES.iter().flat_map(|side| vec![Call::new(*side, 200_000, 200_000); 12]).collect();
    play_well(NetConfig::default(), calls);
}

#[test]
fn the_linux_defaults_at_our_side_too() {
    for side in SIDES {
        let mut config = NetConfig::default();
        config.endpoint.unscheduled_start = 40_000;
        config.endpoint.unscheduled_min = 40_000;
        config.endpoint.unscheduled_max = 40_000;
        play_well(config, warm(vec![Call::new(side, 100_000, 100_000); 3]));
    }
}
