use crate::stage::{Answer, Stage};
use homarus_proto::Config;
use homarus_swarm::net::LinkSpec;
use std::time::Duration;
#[test]
fn tmp() {
    let mut stage = Stage::new(
        7,
        LinkSpec::symmetric(1_000_000_000, Duration::from_micros(5)),
        &Config { pacing: true, ..Config::default() },
    );
    stage.answer = Answer::Bytes(1);
    for len in [100, 1_000, 100_000, 100_000] {
        stage.round_trip(6, 0, len);
    }
    stage.round_trip(6, 0, 100_000);
    for sender in 1..6 {
        stage.call(sender, 0, 5_000_000);
    }
    stage.run_for(Duration::from_millis(20));
    stage.take_seen();
    stage.round_trip(6, 0, 100_000);
    let seen = stage.take_seen();
    let mut n = 0;
    for s in seen {
        if (s.to == 6 || matches!(s.header.packet, homarus_proto::wire::Packet::Data(d) if d.message_length == 100_000))
        {
            n += 1;
            if n < 400 {
                println!(
                    "{:?} >{} p{} len {} {:?} seq {} {:?}",
                    s.at.as_nanos() / 1000,
                    s.to,
                    s.priority,
                    s.len,
                    s.place,
                    s.header.sequence,
                    s.header.packet
                );
            }
        }
    }
    println!("{:?}", stage.world.endpoint(0).stats());
    println!("{:?}", stage.world.endpoint(1).stats());
    println!("{:?}", stage.world.endpoint(0).peer_view(stage.world.address(6)));
    println!("{:?}", stage.world.endpoint(6).peer_view(stage.world.address(0)));
}
