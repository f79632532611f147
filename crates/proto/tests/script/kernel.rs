//! The Linux module's side of captured conversations, played to an endpoint on the other side.

#[path = "../golden/pcap.rs"]
mod pcap;

use crate::script::{Script, linux_like};
use homarus_proto::wire::{Header, Packet};
use pcap::{Captured, homa_packets};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

const CLIENT: u32 = u32::from_be_bytes([10, 99, 0, 1]);
const SERVER: u32 = u32::from_be_bytes([10, 99, 0, 2]);

fn address(captured: &Captured) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::from_bits(captured.ends[0]), 0))
}

/// The endpoint takes the server's place and echoes; the kernel's client says what it said then.
fn as_server(name: &str) -> Script {
    let mut script = Script::new(linux_like());
    for captured in homa_packets(name).iter().filter(|captured| captured.ends[0] == CLIENT) {
        let _ = script.gets_bytes(address(captured), &captured.homa);
        while let Some((rpc, message)) = script.requests.pop_front() {
            script.endpoint.send_response(script.now, rpc, message).expect("an accepted response");
        }
        script.waits(Duration::from_micros(50));
    }
    script
}

#[test]
fn echo_of_100_bytes() {
    let script = as_server("01_single_100B");
    let (stats, view) = (script.endpoint.stats(), script.endpoint.view());
    assert_eq!((stats.requests_received, stats.responses_sent), (1, 1));
    assert_eq!(view.server_rpcs, 0, "the kernel's ACK ends it");
}

#[test]
fn echo_of_100_kilobytes_with_grants() {
    let script = as_server("02_100KB_echo_grants");
    let (stats, view) = (script.endpoint.stats(), script.endpoint.view());
    assert_eq!((stats.requests_received, stats.bytes_received), (1, 100_000));
    assert!(stats.grants_sent > 0 && stats.bytes_sent == 100_000, "{stats:?}");
    assert_eq!(view.server_rpcs, 0);
}

#[test]
fn acks_that_ride_on_requests() {
    let script = as_server("04_sequential_100B_x4_piggyback_ack");
    assert_eq!(script.endpoint.stats().requests_received, 4);
    assert_eq!(script.endpoint.view().server_rpcs, 0);
}

#[test]
fn five_acks_in_a_packet() {
    let script = as_server("13_ack_overflow_12x100B_parallel");
    assert_eq!(script.endpoint.stats().requests_received, 12);
    assert_eq!(script.endpoint.view().server_rpcs, 0);
}

#[test]
fn segments_cut_by_a_device() {
    let script = as_server("17_gso20000_veth_100KB");
    assert_eq!(script.endpoint.stats().bytes_received, 100_000);
    assert_eq!(script.endpoint.stats().requests_received, 1);
}

/// The endpoint takes the client's place and asks what the kernel's client asked; the kernel's server says what it said
/// then, about the endpoint's own RPCs.
fn as_client(name: &str) -> (Script, usize) {
    let mut script = Script::new(linux_like());
    let mut ids = BTreeMap::new();
    let mut ended = 0;
    for captured in homa_packets(name) {
        let header = Header::parse(&captured.homa).expect("a well-formed packet");
        match header.packet {
            Packet::Data(data) if captured.ends[0] == CLIENT => {
                let message_length = data.message_length as usize;
                ids.entry(header.client_id()).or_insert_with(|| script.calls(vec![0; message_length]));
            }
            _ if captured.ends[0] == SERVER => {
                let Some(id) = ids.get(&header.client_id()) else { continue };
                let mut bytes = captured.homa.clone();
                bytes[20..28].copy_from_slice(&(id | 1).to_be_bytes());
                let _ = script.gets_bytes(address(&captured), &bytes);
            }
            _ => {}
        }
        script.waits(Duration::from_micros(50));
        while let Some((_, result)) = script.outcomes.pop_front() {
            result.expect("a response");
            ended += 1;
        }
    }
    (script, ended)
}

#[test]
fn responses_of_the_kernel() {
    for (name, rpcs, bytes) in [
        ("01_single_100B", 1, 100),
        ("02_100KB_echo_grants", 1, 100_000),
        ("04_sequential_100B_x4_piggyback_ack", 4, 400),
        ("05_loss5pct_100KB", 1, 100_000),
        ("13_ack_overflow_12x100B_parallel", 12, 1_200),
        ("14_busy_slow_server_40ms", 1, 100),
        ("17_gso20000_veth_100KB", 1, 100_000),
    ] {
        let (script, ended) = as_client(name);
        assert_eq!(ended, rpcs, "{name}");
        assert_eq!(script.endpoint.stats().bytes_received, bytes, "{name}");
        assert_eq!(script.endpoint.view().client_rpcs, 0, "{name}");
    }
}
