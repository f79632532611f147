//! Where calls must end with an error, at the right time and without noise.

use crate::stage::{LONG, SIDES, count, play, play_well, warm};
use homarus_interop::kernel::wire::Kind;
use homarus_interop::kernel::{Failure, MAX_MESSAGE};
use homarus_interop::net::{Call, Fate, Happening, Net, NetConfig, Outcome, Play, Side, Sight, contents};
use homarus_proto::{CallOptions, RpcError, SendError, Unreachable};
use std::time::Duration;

#[test]
fn nothing_comes_back_to_a_linux_client_10() {
    let mut net = Net::new(NetConfig::default());
    net.set_judge(|sight| if sight.from_kernel { Fate::Deliver } else { Fate::Lose });
    let mut play = Play::new(net, vec![Call::new(Side::Kernel, 100, 100)]);
    play.run(LONG);
    assert_eq!(play.outcomes[0], [Outcome::Kernel(Failure::TimedOut)]);
    assert_eq!(count(&play, Side::Kernel, Kind::Resend), 19, "every 5 ticks, and none when it gives up");
    play.expect_no_faults();
}

#[test]
fn nothing_comes_back_from_a_linux_server_10() {
    let mut net = Net::new(NetConfig::default());
    net.set_judge(|sight| if sight.from_kernel { Fate::Lose } else { Fate::Deliver });
    let mut play = Play::new(net, vec![Call::new(Side::Homarus, 100, 100)]);
    play.run(LONG);
    assert!(matches!(play.outcomes[0][..], [Outcome::Homarus(RpcError::PeerDead { .. })]), "{:?}", play.outcomes);
    // The ACK that says so arrives, and frees the response.
    play.expect_no_faults();
}

#[test]
fn a_closed_port_of_the_linux_host_15() {
    for late_icmp in [false, true] {
        let mut config = NetConfig::default();
        config.kernel.late_icmp = late_icmp;
        let to = Some(([10, 0, 0, 2], 4_999).into());
        let play = play(config, warm(vec![Call { to, ..Call::new(Side::Homarus, 100, 100) }]), |_| Fate::Deliver);
        let ended = Outcome::Homarus(RpcError::Unreachable(Unreachable::Port));
        assert_eq!(play.outcomes.last(), Some(&vec![ended]), "{}", play.net.trace());
    }
}

/// Calls to other ports of the host, and what the host asks of us, go on; only a host without the protocol ends all.
#[test]
fn a_closed_port_ends_no_other_calls_15() {
    for side in SIDES {
        let mut config = NetConfig::default();
        config.kernel.late_icmp = false;
        let slow = Call { service: Duration::from_millis(20), ..Call::new(side, 100, 100) };
        let to = Some(([10, 0, 0, 2], 4_999).into());
        let closed = Call { after: Duration::from_millis(5), to, ..Call::new(Side::Homarus, 100, 100) };
        let play = play(config, vec![slow, closed], |_| Fate::Deliver);
        let ended = Outcome::Homarus(RpcError::Unreachable(Unreachable::Port));
        assert_eq!(play.outcomes, [vec![Outcome::Intact], vec![ended]], "{side:?}\n{}", play.net.trace());
    }
}

#[test]
fn a_closed_port_of_our_host_15() {
    let to = Some(([10, 0, 0, 1], 4_999).into());
    let call = Call { to, ..Call::new(Side::Kernel, 100, 100) };
    let play = play(NetConfig::default(), warm(vec![call]), |_| Fate::Deliver);
    // Raw sockets cannot tell that a port is closed: nobody answers.
    assert_eq!(play.outcomes.last(), Some(&vec![Outcome::Kernel(Failure::TimedOut)]));
    play.expect_no_faults();
}

#[test]
fn a_host_that_does_not_take_the_protocol_23() {
    let mut net = Net::new(NetConfig::default());
    net.endpoint_is_up = false;
    let mut play = Play::new(net, vec![Call::new(Side::Kernel, 100, 100), Call::new(Side::Kernel, 100_000, 100)]);
    play.run(LONG);
    for outcomes in &play.outcomes {
        assert_eq!(*outcomes, [Outcome::Kernel(Failure::ProtocolUnreachable)]);
    }
    play.expect_no_faults();
}

#[test]
fn longer_messages_than_linux_takes_are_refused_before_anything_is_sent() {
    let mut net = Net::new(NetConfig::default());
    let too_long = vec![0; MAX_MESSAGE as usize + 1];
    let (now, to) = (net.now(), net.kernel_address());
    let refused = net.endpoint.send_request(now, to, too_long.clone(), CallOptions::default());
    assert_eq!(refused, Err(SendError::TooLong { length: too_long.len(), limit: MAX_MESSAGE }));
    assert!(net.endpoint.poll_transmit(now).is_none(), "something was sent");
}

#[test]
fn a_linux_client_of_a_response_that_is_too_long_ends() {
    for request in [100, 500_000] {
        let calls = warm(vec![Call::new(Side::Kernel, request, MAX_MESSAGE + 1)]);
        let play = play(NetConfig::default(), calls, |_| Fate::Deliver);
        assert_eq!(play.outcomes.last(), Some(&vec![Outcome::Kernel(Failure::TimedOut)]), "{}", play.net.trace());
        play.expect_no_faults();
    }
}

/// Linux knows no word for "rejected": its client gives up when it would give up a closed port.
#[test]
fn a_linux_client_that_is_rejected_ends() {
    for length in [100, 10_000, 500_000] {
        let mut net = Net::new(NetConfig::default());
        let (to, began) = (net.endpoint_address(), net.now());
        net.kernel_calls(to, contents(0, length));
        let (mut executions, mut ends) = (0, Vec::new());
        while let Some(happening) = net.next(began + Duration::from_secs(5)) {
            match happening {
                Happening::Request(rpc, _) => {
                    executions += 1;
                    net.endpoint_rejects(rpc);
                }
                Happening::KernelResponse(_, result) => ends.push((result, net.now())),
                other => panic!("{other:?}\n{}", net.trace()),
            }
        }
        let [(Err(Failure::TimedOut), at)] = ends[..] else { panic!("{ends:?}\n{}", net.trace()) };
        assert!(at <= began + Duration::from_millis(110), "after {:?}", at.saturating_since(began));
        assert_eq!(executions, 1, "{}", net.trace());
        assert!(net.kernel.drops().is_empty() && net.kernel.breaches().is_empty(), "{}", net.trace());
        assert_eq!(net.kernel.held(), (0, 0));
    }
}

#[test]
fn linux_forgets_a_request_that_was_cancelled() {
    let mut net = Net::new(NetConfig::default());
    let to = net.kernel_address();
    let rpc = net.endpoint_calls(to, vec![1; 100_000]);
    let later = net.now() + Duration::from_micros(20);
    while net.next(later).is_some() {}
    assert!(net.endpoint.cancel(later, rpc));
    let end = later + LONG;
    while net.next(end).is_some() {}
    assert_eq!(net.kernel.held(), (0, 0), "{}", net.trace());
}

#[test]
fn calls_go_on_after_failures() {
    let to = Some(([10, 0, 0, 2], 4_999).into());
    let mut calls = warm(vec![Call { to, ..Call::new(Side::Homarus, 100, 100) }]);
    let late = Duration::from_secs(1);
    calls.push(Call { after: late, ..Call::new(Side::Homarus, 50_000, 50_000) });
    calls.push(Call { after: late, ..Call::new(Side::Kernel, 50_000, 50_000) });
    let play = play(NetConfig::default(), calls, |_| Fate::Deliver);
    assert!(play.outcomes.iter().rev().take(2).all(|outcomes| *outcomes == [Outcome::Intact]), "{:?}", play.outcomes);
    play_well(NetConfig::default(), vec![Call::new(Side::Homarus, 10, 10)]);
}

/// Told UNKNOWN, a Linux client would send all of a rejected request again, each time that it asks.
#[test]
fn a_rejected_request_is_not_sent_again_and_again() {
    let mut net = Net::new(NetConfig::default());
    let (to, end) = (net.endpoint_address(), net.now() + Duration::from_secs(5));
    net.kernel_calls(to, contents(0, 10_000));
    while let Some(happening) = net.next(end) {
        if let Happening::Request(rpc, _) = happening {
            net.endpoint_rejects(rpc);
        }
    }
    let again = |sight: &&Sight| sight.packet.kind() == Kind::Data && !sight.is_first_copy();
    let again = net.sights().filter(again).count();
    assert_eq!(again, 0, "DATA packets are sent again\n{}", net.trace());
}
