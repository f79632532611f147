//! Where packets are lost in a pattern.

use crate::stage::{LONG, SIDES, WARM, count, other, play, warm};
use homarus_interop::kernel::Rule;
use homarus_interop::kernel::wire::Kind;
use homarus_interop::net::{Call, Fate, Net, NetConfig, Play, Side, Sight};
use homarus_proto::Instant;
use std::time::Duration;

/// Whether the packet belongs to the calls that matter.
fn matters(sight: &Sight) -> bool {
    sight.at >= Instant::from_nanos(1_000_000_000) + WARM
}

fn is_request(sight: &Sight) -> bool {
    sight.packet.sender_id & 1 == 0
}

fn lose(condition: bool) -> Fate {
    if condition { Fate::Lose } else { Fate::Deliver }
}

#[test]
fn five_per_cent_05() {
    for side in SIDES {
        let mut number = 0;
        let play = play(NetConfig::default(), warm(vec![Call::new(side, 100_000, 100_000)]), move |sight| {
            number += u32::from(matters(sight));
            lose(number % 20 == 19)
        });
        play.expect_all_intact();
        assert!(count(&play, side, Kind::Resend) + count(&play, other(side), Kind::Resend) > 0);
    }
}

#[test]
fn every_first_copy_of_the_response_07() {
    for side in SIDES {
        let play = play(NetConfig::default(), warm(vec![Call::new(side, 10_000, 10_000)]), |sight| {
            lose(matters(sight) && !is_request(sight) && sight.is_first_copy())
        });
        play.expect_all_intact();
    }
}

#[test]
fn every_first_copy_of_the_request_08() {
    for side in SIDES {
        let play = play(NetConfig::default(), warm(vec![Call::new(side, 10_000, 10_000)]), |sight| {
            lose(matters(sight) && is_request(sight) && sight.is_first_copy())
        });
        play.expect_all_intact();
        assert!(count(&play, other(side), Kind::Unknown) >= 1, "{}", play.net.trace());
    }
}

#[test]
fn every_first_copy_of_long_messages() {
    for side in SIDES {
        for requests in [true, false] {
            let mut net = Net::new(NetConfig::default());
            net.set_judge(move |sight| lose(matters(sight) && is_request(sight) == requests && sight.is_first_copy()));
            let mut play = Play::new(net, warm(vec![Call::new(side, 200_000, 200_000)]));
            // A request that starts over names its unscheduled bytes in all its packets.
            play.tolerated.push(Rule::RetransmittedRange);
            play.run(LONG);
            play.expect_all_intact();
        }
    }
}

#[test]
fn one_packet_of_a_kind_at_a_time() {
    let kinds =
        [Kind::Data, Kind::Grant, Kind::Resend, Kind::Unknown, Kind::Busy, Kind::Cutoffs, Kind::NeedAck, Kind::Ack];
    for side in SIDES {
        for kind in kinds {
            for nth in 0..3 {
                let mut seen = 0;
                let call = Call { service: Duration::from_millis(12), ..Call::new(side, 100_000, 100_000) };
                let play = play(NetConfig::default(), vec![call; 2], move |sight| {
                    seen += u32::from(sight.packet.kind() == kind);
                    lose(sight.packet.kind() == kind && seen == nth + 1)
                });
                play.expect_all_intact();
            }
        }
    }
}

#[test]
fn all_packets_of_a_kind_for_a_while() {
    for side in SIDES {
        for kind in [Kind::Grant, Kind::Resend, Kind::Cutoffs, Kind::NeedAck, Kind::Ack] {
            let call = Call::new(side, 100_000, 100_000);
            let play = play(NetConfig::default(), warm(vec![call; 3]), move |sight| {
                let while_it_lasts = sight.at < Instant::from_nanos(1_000_000_000) + WARM + Duration::from_millis(30);
                lose(matters(sight) && while_it_lasts && sight.packet.kind() == kind)
            });
            play.expect_all_intact();
        }
    }
}

#[test]
fn a_link_that_is_down_for_half_of_linuxs_patience() {
    for side in SIDES {
        let calls = vec![Call::new(side, 100, 100), Call::new(side, 100_000, 100_000), Call::new(side, 5_000, 30_000)];
        let play = play(NetConfig::default(), warm(calls), |sight| {
            let down = Instant::from_nanos(1_000_000_000) + WARM + Duration::from_micros(60);
            lose(sight.at >= down && sight.at < down + Duration::from_millis(50))
        });
        play.expect_all_intact();
    }
}

#[test]
fn acks_are_asked_for_without_end() {
    // Nothing of the client arrives for a second, save requests: Linux asks a thousand times.
    let play = play(NetConfig::default(), vec![Call::new(Side::Homarus, 100, 100)], |sight| {
        let early = sight.at < Instant::from_nanos(2_000_000_000);
        lose(early && !sight.from_kernel && sight.packet.kind() == Kind::Ack)
    });
    play.expect_all_intact();
    assert!(play.net.now() < Instant::from_nanos(1_000_000_000) + LONG);
    assert!(count(&play, Side::Kernel, Kind::NeedAck) > 50, "{}", play.net.trace());
}
