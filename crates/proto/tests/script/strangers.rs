//! Packets about RPCs that nobody knows: they cost no memory, and no more bytes go out than came in.

use crate::script::{Script, data, emit, linux_like};
use homarus_proto::Config;
use homarus_proto::wire::{Ack, Data, Header, Packet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

fn control_packets() -> Vec<Packet> {
    vec![
        Packet::Grant { offset: 1_000_000, priority: 3 },
        Packet::Resend { offset: 0, length: -1, priority: 7 },
        Packet::Resend { offset: 0, length: 1_000_000, priority: 7 },
        Packet::Unknown,
        Packet::Busy,
        Packet::Cutoffs { cutoffs: [5; 8], version: 9 },
        Packet::Freeze,
        Packet::NeedAck,
        Packet::Ack { count: 0, acks: Default::default() },
        Packet::Ack { count: 5, acks: [Ack { client_id: 0x7000, server_port: 4_000 }; 5] },
    ]
}

/// Sends bursts of packets from several strangers and compares what goes in with what comes out.
fn burst(config: Config, packets: &[Packet], strangers: u8, times: u64) {
    let mut script = Script::new(config);
    let before = script.endpoint.view();
    let (mut bytes_in, mut bytes_out) = (0, 0);
    for time in 0..times {
        for stranger in 0..strangers {
            let from = SocketAddr::from((Ipv4Addr::new(192, 168, 0, stranger), 4_000));
            for (index, packet) in packets.iter().enumerate() {
                for side in [0, 1] {
                    let id = 0x1000 + 32 * time + 2 * index as u64 + side;
                    let bytes = emit(&Header::new(4_000, 4_000, id, *packet), &[]);
                    bytes_in += bytes.len();
                    let _ = script.gets_bytes(from, &bytes);
                    bytes_out += script.sends_all().iter().map(|sent| sent.len()).sum::<usize>();
                    assert!(bytes_out <= bytes_in, "{packet:?}: {bytes_out} bytes out for {bytes_in} bytes in");
                }
            }
        }
    }
    assert!(script.requests.is_empty() && script.outcomes.is_empty());
    assert_eq!(script.endpoint.view(), before, "nothing is remembered");
    let later = script.waits(Duration::from_secs(100));
    bytes_out += later.iter().map(|(_, sent)| sent.len()).sum::<usize>();
    assert!(bytes_out <= bytes_in, "{bytes_out} bytes out for {bytes_in} bytes in");
}

#[test]
fn control_packets_of_strangers() {
    burst(linux_like(), &control_packets(), 5, 100);
    burst(Config::default(), &control_packets(), 5, 100);
}

#[test]
fn each_kind_of_control_packet_alone() {
    for packet in control_packets() {
        burst(Config::default(), &[packet], 3, 200);
    }
}

/// Their peers are known, but the RPCs have ended: replays of old traffic.
#[test]
fn replayed_control_packets_of_peers() {
    for packet in control_packets() {
        let mut script = Script::new(Config::default());
        let id = script.calls(vec![1; 100]);
        script.sends_all();
        script.gets_data(id | 1, &[2; 100], 0..100).expect("taken");
        script.outcome(id).expect("a response");
        script.gets_data(0x1000, &[3; 100], 0..100).expect("taken");
        script.responds(vec![4; 100]);
        script.sends_all();
        script.gets(0x1000, Packet::Ack { count: 0, acks: Default::default() }).expect("taken");
        let before = script.endpoint.view();
        let (mut bytes_in, mut bytes_out) = (1_000, 0);
        for sender_id in [id | 1, 0x1000].repeat(200) {
            let header = Header::new(4_000, 4_000, sender_id, packet);
            bytes_in += emit(&header, &[]).len();
            let _ = script.gets(sender_id, packet);
            bytes_out += script.sends_all().iter().map(|sent| sent.len()).sum::<usize>();
        }
        assert!(bytes_out <= bytes_in, "{packet:?}: {bytes_out} bytes out for {bytes_in} bytes in");
        assert_eq!(script.endpoint.view(), before, "{packet:?}");
        assert!(script.requests.is_empty() && script.outcomes.is_empty());
    }
}

/// Parts of responses to requests that were never made.
#[test]
fn data_of_unknown_responses() {
    let mut script = Script::new(Config::default());
    let before = script.endpoint.view();
    for number in 0..1_000 {
        let fields = Packet::Data(Data { incoming: 1 << 20, ..data(1 << 20, 0) });
        let _ = script.gets_with(0x1001 + 2 * number, fields, &[7; 1_000]);
    }
    script.sends_nothing();
    assert_eq!(script.endpoint.view(), before);
    assert!(script.waits(Duration::from_secs(100)).is_empty());
}

/// Requests of strangers that never go on are bounded in number and bytes, and are given up.
#[test]
fn requests_that_never_go_on() {
    let config = Config { max_server_rpcs: 100, max_peers: 50, max_receive_buffer: 1 << 20, ..Config::default() };
    let mut script = Script::new(config);
    let (mut bytes_in, mut bytes_out) = (0, 0);
    for number in 0..2_000u64 {
        let from = SocketAddr::from((Ipv4Addr::from_bits(0xc0a8_0000 + number as u32), 4_000));
        let fields = Packet::Data(Data { incoming: 40_000, ..data(1 << 20, 0) });
        let bytes = emit(&Header::new(4_000, 4_000, 0x1000 + 2 * number, fields), &[7; 1_000]);
        bytes_in += bytes.len();
        let _ = script.gets_bytes(from, &bytes);
        let view = script.endpoint.view();
        assert!(view.server_rpcs <= 100 && view.peers <= 50 && view.receive_buffer <= 1 << 20, "{view:?}");
        bytes_out += script.sends_all().iter().map(|sent| sent.len()).sum::<usize>();
    }
    bytes_out += script.waits(Duration::from_secs(100)).iter().map(|(_, sent)| sent.len()).sum::<usize>();
    let view = script.endpoint.view();
    assert_eq!((view.server_rpcs, view.receive_buffer, view.incoming), (0, 0, 0), "{view:?}");
    assert!(bytes_out < bytes_in, "{bytes_out} bytes out for {bytes_in} bytes in");
}
