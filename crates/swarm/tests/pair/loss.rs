//! Lost packets, silence, and how quickly it is noticed.

use crate::stage::{Place, Stage};
use homarus_proto::wire::{self, Header, PacketType};
use homarus_proto::{Config, RpcError};
use homarus_swarm::net::{Fate, LinkSpec, Packet};
use std::time::Duration;

const GIGABIT: u64 = 1_000_000_000;

fn link() -> LinkSpec {
    LinkSpec::symmetric(GIGABIT, Duration::from_micros(10))
}

fn kind(packet: &Packet) -> Option<PacketType> {
    Header::parse(packet.transmit.header()).ok().map(|header| header.packet.packet_type())
}

/// Loses the first packet for which `which` holds.
fn lose_first(stage: &mut Stage, which: impl Fn(&Header) -> bool + 'static) {
    let mut lost = false;
    stage.world.set_judge(Box::new(move |_, packet| {
        let chosen = Header::parse(packet.transmit.header()).is_ok_and(|header| which(&header));
        if chosen && !lost {
            lost = true;
            return Fate::Drop;
        }
        Fate::Deliver
    }));
}

fn is_data_at(header: &Header, offset: u32, from_client: bool) -> bool {
    match &header.packet {
        wire::Packet::Data(data) => header.from_client() == from_client && header.data_offset(data) == offset,
        _ => false,
    }
}

/// Warms two hosts up, and gives the time of a 10 KB request with a short response when nothing is lost.
fn warm() -> (Stage, Duration) {
    let mut stage = Stage::new(2, link(), &Config::default());
    stage.answer = crate::stage::Answer::Bytes(100);
    for _ in 0..20 {
        stage.round_trip(0, 1, 10_000);
    }
    let normal = stage.round_trip(0, 1, 10_000);
    (stage, normal)
}

#[test]
fn first_packet_of_a_10_kb_message_lost() {
    let (mut stage, normal) = warm();
    lose_first(&mut stage, |header| is_data_at(header, 0, true));
    let recovered = stage.round_trip(0, 1, 10_000);
    assert!(recovered < 4 * normal, "{recovered:?} instead of {normal:?}");
    stage.run_for(Duration::from_secs(10));
    stage.assert_idle();
}

#[test]
fn middle_packet_of_a_10_kb_message_lost() {
    let (mut stage, normal) = warm();
    lose_first(
        &mut stage,
        |header| matches!(&header.packet, wire::Packet::Data(data) if header.data_offset(data) > 4_000),
    );
    let recovered = stage.round_trip(0, 1, 10_000);
    assert!(recovered < 4 * normal, "{recovered:?} instead of {normal:?}");
}

#[test]
fn last_packet_of_a_10_kb_message_lost() {
    let (mut stage, normal) = warm();
    lose_first(
        &mut stage,
        |header| matches!(&header.packet, wire::Packet::Data(data) if header.data_offset(data) > 8_600),
    );
    let recovered = stage.round_trip(0, 1, 10_000);
    let silence = Config::default().resend_min;
    assert!(recovered < 4 * normal + 2 * silence, "{recovered:?} instead of {normal:?}");
}

#[test]
fn only_packet_of_a_request_or_response_lost() {
    for from_client in [true, false] {
        let (mut stage, _) = warm();
        let normal = stage.round_trip(0, 1, 100);
        lose_first(&mut stage, move |header| is_data_at(header, 0, from_client));
        let recovered = stage.round_trip(0, 1, 100);
        let silence = Config::default().resend_min;
        assert!(recovered < 6 * normal + 3 * silence, "{recovered:?} instead of {normal:?}");
        assert_eq!(stage.executed.len(), stage.outcomes.len(), "executed once each");
    }
}

#[test]
fn grant_lost() {
    let mut stage = Stage::new(2, link(), &Config::default());
    let normal = stage.round_trip(0, 1, 500_000);
    lose_first(&mut stage, |header| header.packet.packet_type() == PacketType::Grant);
    let recovered = stage.round_trip(0, 1, 500_000);
    assert!(recovered < 2 * normal + Duration::from_millis(5), "{recovered:?} instead of {normal:?}");
}

#[test]
fn ack_of_a_response_lost() {
    let mut stage = Stage::new(2, link(), &Config::default());
    let mut acks_lost = 0;
    stage.world.set_judge(Box::new(move |_, packet| {
        if kind(packet) == Some(PacketType::Ack) && acks_lost < 3 {
            acks_lost += 1;
            return Fate::Drop;
        }
        Fate::Deliver
    }));
    stage.round_trip(0, 1, 100);
    stage.run_for(Duration::from_secs(10));
    assert_eq!(stage.executed.len(), 1, "executed once all the same");
    let asked = stage.take_seen().iter().filter(|seen| seen.kind() == PacketType::NeedAck).count();
    assert!(asked >= 3, "asked {asked} times for the ack");
    stage.assert_idle();
}

/// The client vanishes after it has the response: the server asks less and less often, and then forgets.
#[test]
fn need_ack_backs_off() {
    let mut stage = Stage::new(2, link(), &Config::default());
    stage.round_trip(0, 1, 100);
    stage.world.kill(0, false);
    stage.take_seen();
    stage.run_for(Duration::from_secs(60));
    let seen = stage.take_seen();
    let asked: Vec<_> = seen
        .iter()
        .filter(|seen| seen.place == Place::Sent && seen.kind() == PacketType::NeedAck)
        .map(|seen| seen.at)
        .collect();
    let pauses: Vec<Duration> = asked.windows(2).map(|pair| pair[1].saturating_since(pair[0])).collect();
    assert!((3..60).contains(&asked.len()), "{} times", asked.len());
    assert!(pauses[pauses.len() - 1] >= 4 * pauses[0], "{pauses:?}");
    assert_eq!(stage.world.endpoint(1).view().server_rpcs, 0);
    assert_eq!(stage.world.endpoint(1).view().send_buffer, 0);
}

#[test]
fn blackout_of_30_seconds() {
    let mut stage = Stage::new(2, link(), &Config::default());
    stage.round_trip(0, 1, 1_000);
    for _ in 0..10 {
        stage.call(0, 1, 1_000_000);
    }
    stage.run_for(Duration::from_millis(20));
    let before = stage.outcomes.len();
    assert!((1..11).contains(&before), "the blackout begins in mid-load");
    stage.world.set_judge(Box::new(|_, _| Fate::Drop));
    stage.run_for(Duration::from_secs(15));
    for _ in 0..10 {
        stage.call(0, 1, 1_000);
    }
    stage.run_for(Duration::from_secs(15));
    assert_eq!(stage.outcomes.len(), 21, "all have ended");
    for outcome in &stage.outcomes[before..] {
        assert!(matches!(outcome.result, Err(RpcError::PeerDead { .. })), "{outcome:?}");
    }
    stage.assert_idle();
    stage.world.set_judge(Box::new(|_, _| Fate::Deliver));
    stage.round_trip(0, 1, 100_000);
    stage.run_for(Duration::from_secs(10));
    stage.assert_idle();
}

/// A blackout shorter than `dead_after` costs no request.
#[test]
fn blackout_of_one_second() {
    let mut stage = Stage::new(2, link(), &Config::default());
    for _ in 0..10 {
        stage.call(0, 1, 1_000_000);
    }
    stage.run_for(Duration::from_millis(20));
    stage.world.set_judge(Box::new(|_, _| Fate::Drop));
    stage.run_for(Duration::from_secs(1));
    stage.world.set_judge(Box::new(|_, _| Fate::Deliver));
    stage.run_until_ended(10, Duration::from_secs(2));
    assert!(stage.outcomes.iter().all(|outcome| outcome.result.is_ok()));
}

/// Every packet twice, and every tenth one late: executed once each, contents intact.
#[test]
fn duplicates_and_late_packets() {
    let mut stage = Stage::new(2, link(), &Config::default());
    let mut count = 0;
    stage.world.set_judge(Box::new(move |_, _| {
        count += 1;
        let late = Duration::from_micros(if count % 10 == 0 { 5_000 } else { 50 });
        if count % 2 == 0 { Fate::Twice(late) } else { Fate::Late(late) }
    }));
    let message: Vec<u8> = (0..100_000u32).map(|number| ((number * 7) >> 3) as u8).collect();
    for _ in 0..20 {
        stage.call_with(0, 1, message.clone().into());
    }
    stage.run_until_ended(20, Duration::from_secs(5));
    for outcome in &stage.outcomes {
        assert_eq!(outcome.result.as_ref().map(|payload| payload.as_slice()), Ok(&message[..]));
    }
    stage.run_for(Duration::from_secs(10));
    assert_eq!(stage.executed.len(), 20);
    stage.assert_idle();
}
