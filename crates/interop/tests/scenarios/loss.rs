//! Where packets are lost in a pattern.

use crate::stage::{LONG, SIDES, WARM, count, other, play, warm};
use homarus_interop::kernel::wire::Kind;
use homarus_interop::net::{Call, Fate, Happening, Net, NetConfig, Play, Side, Sight, contents};
use homarus_proto::Instant;
use homarus_swarm::dice::Dice;
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
            let play = play(NetConfig::default(), warm(vec![Call::new(side, 200_000, 200_000)]), move |sight| {
                lose(matters(sight) && is_request(sight) == requests && sight.is_first_copy())
            });
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

/// Linux drops packets that lie across the edge of what it has, so what is sent again must fit into the gaps.
#[test]
fn a_path_that_shrinks_while_packets_are_lost() {
    let mut net = Net::new(NetConfig::default());
    // The first packet, and of the two into which it is cut later the second, once.
    let mut losses = vec![0, 1_204];
    net.set_judge(move |sight| {
        let found = losses.iter().position(|offset| sight.data_offset() == Some(*offset) && !sight.from_kernel);
        lose(found.map(|index| losses.remove(index)).is_some())
    });
    let to = net.kernel_address();
    net.endpoint_calls(to, contents(0, 9_000));
    let soon = net.now() + Duration::from_micros(100);
    assert!(net.next(soon).is_none(), "complete without its first packet");
    net.endpoint.set_path_mtu(to, 1_280);
    let end = net.now() + Duration::from_secs(3);
    let request = std::iter::from_fn(|| net.next(end)).find_map(|happening| match happening {
        Happening::KernelRequest(_, message) => Some(message),
        _ => None,
    });
    assert!(request.is_some_and(|message| message == contents(0, 9_000)), "{}", net.trace());
    let drops: Vec<_> = net.kernel.drops().iter().filter(|drop| !drop.why.is_harmless()).collect();
    assert!(drops.is_empty(), "Linux drops {drops:?}\n{}", net.trace());
}

/// Where one request after another is lost, a call may wait long for its turn to ask. That is no sign that the server
/// has forgotten it.
#[test]
fn calls_that_wait_for_their_turn_to_ask() {
    for seed in 0..100 {
        let mut dice = Dice::new(seed, 1);
        let calls = (0..60)
            .map(|number| Call {
                after: Duration::from_micros(1_700 * number),
                service: Duration::from_millis(if number % 5 == 0 { 20 } else { 0 }),
                ..Call::new(Side::Homarus, 200 + number as u32, 3_000)
            })
            .collect();
        play(NetConfig::default(), calls, move |_| lose(dice.chance(0.2))).expect_all_intact();
    }
}

/// In a retransmission `incoming` is the end of the range that is sent again, so no packet ends beyond it. A grant may end
/// within a packet; a request that begins anew then names the grant's end.
#[test]
fn what_begins_anew_ends_where_its_last_packet_ends() {
    let mut net = Net::new(NetConfig::default());
    net.set_judge(|sight| {
        let first_copy = sight.packet.sender_id & 1 == 0 && sight.is_first_copy();
        if first_copy { Fate::Lose } else { Fate::Deliver }
    });
    let mut play = Play::new(net, vec![Call::new(Side::Homarus, 300_000, 10); 3]);
    play.run(Duration::from_secs(60));
    play.expect_all_intact();
}
