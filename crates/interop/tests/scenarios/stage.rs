use homarus_interop::kernel::wire::{Body, Kind};
use homarus_interop::net::{Call, Fate, Net, NetConfig, Play, Side, Sight};
use std::time::Duration;

/// Both directions of calls.
pub(crate) const SIDES: [Side; 2] = [Side::Kernel, Side::Homarus];

/// Long enough for everything that should end.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Two calls to and fro, so that both sides know each other's cutoffs, well before the calls that matter.
pub(crate) fn warm(calls: Vec<Call>) -> Vec<Call> {
    let mut all = Vec::new();
    for round in 0..2 {
        for side in SIDES {
            all.push(Call { after: Duration::from_millis(10 * round), ..Call::new(side, 100, 100) });
        }
    }
    all.extend(calls.into_iter().map(|call| Call { after: call.after + WARM, ..call }));
    all
}

/// When the calls that matter begin.
pub(crate) const WARM: Duration = Duration::from_millis(100);

/// Plays calls on a link where `judge` decides, to their end.
pub(crate) fn play(config: NetConfig, calls: Vec<Call>, judge: impl FnMut(&Sight) -> Fate + 'static) -> Play {
    let mut net = Net::new(config);
    net.set_judge(judge);
    let mut play = Play::new(net, calls);
    play.run(LONG);
    play
}

/// The same, when nothing is lost and everything must end well.
pub(crate) fn play_well(config: NetConfig, calls: Vec<Call>) -> Play {
    let play = play(config, calls, |_| Fate::Deliver);
    play.expect_all_intact();
    play
}

/// How many packets of a type one side has sent, among those that the trace still has.
pub(crate) fn count(play: &Play, from: Side, kind: Kind) -> usize {
    let from_kernel = from == Side::Kernel;
    play.net.sights().filter(|sight| sight.from_kernel == from_kernel && sight.packet.kind() == kind).count()
}

/// Acks that ride on DATA of one side.
pub(crate) fn riding_acks(play: &Play, from: Side) -> Vec<u64> {
    let from_kernel = from == Side::Kernel;
    play.net
        .sights()
        .filter(|sight| sight.from_kernel == from_kernel)
        .filter_map(|sight| match &sight.packet.body {
            Body::Data(data) if data.ack.0 != 0 => Some(data.ack.0),
            _ => None,
        })
        .collect()
}

/// The other side.
pub(crate) fn other(side: Side) -> Side {
    match side {
        Side::Kernel => Side::Homarus,
        Side::Homarus => Side::Kernel,
    }
}
