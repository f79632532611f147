//! The model notices what it is there to notice: each reason to drop a packet, and each rule that a packet can break.

use homarus_interop::kernel::wire::{Body, Data, Packet};
use homarus_interop::kernel::{CUTOFFS, Event, Kernel, KernelConfig, Request, Rule, Why};
use homarus_proto::Instant;
use std::net::{IpAddr, SocketAddr};

const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 4_000);
const HOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

/// A request of the peer.
const THEIRS: u64 = 0x500;

fn kernel() -> Kernel {
    Kernel::new(KernelConfig::new(HOST))
}

/// With a request of its own on the way, whose packets have left: id 2, so many bytes.
fn calling(length: usize) -> Kernel {
    let mut kernel = kernel();
    kernel.call(PEER, vec![1; length]);
    kernel
}

/// With a response of one byte that has left.
fn answering() -> Kernel {
    let mut kernel = kernel();
    feed(&mut kernel, THEIRS, part(10, 0, 10));
    assert!(matches!(kernel.poll_event(), Some(Event::Request { .. })));
    assert!(kernel.respond(Request { client: PEER, id: THEIRS }, vec![1]));
    kernel
}

fn packet(sender_id: u64, body: Body) -> Packet {
    let dport = if sender_id & 1 == 0 { 4_000 } else { 32_768 };
    let doff = if matches!(body, Body::Data(_)) { 0xe0 } else { 0x50 };
    Packet { sport: 4_000, dport, sequence: 0, doff, flags: 0, checksum: 0, urgent: 0, sender_id, body }
}

fn feed(kernel: &mut Kernel, sender_id: u64, body: Body) {
    feed_packet(kernel, 7, &packet(sender_id, body));
}

fn feed_packet(kernel: &mut Kernel, priority: u8, packet: &Packet) {
    kernel.handle(Instant::from_nanos(1), PEER.ip(), HOST, priority, &packet.encode());
}

fn data(length: u32, start: u32, end: u32) -> Data {
    Data {
        message_length: length,
        incoming: length,
        ack: (0, 0),
        cutoff_version: 1,
        retransmit: false,
        pad: [0; 3],
        segment_offset: Some(start),
        contents: vec![7; (end - start) as usize],
    }
}

fn part(length: u32, start: u32, end: u32) -> Body {
    Body::Data(data(length, start, end))
}

fn drops(kernel: &Kernel) -> Vec<Why> {
    kernel.drops().iter().map(|drop| drop.why.clone()).collect()
}

fn broken(kernel: &Kernel) -> Vec<Rule> {
    kernel.breaches().iter().map(|breach| breach.rule).collect()
}

#[test]
fn what_is_no_packet() {
    let mut kernel = kernel();
    let whole = packet(THEIRS, part(10, 0, 10)).encode();
    let mut type_byte = whole.clone();
    type_byte[11] = 0x42;
    let mut acks = packet(THEIRS, Body::Ack(Vec::new())).encode();
    acks[29] = 6;
    for bytes in [&whole[..55], &whole[..10], &type_byte, &acks] {
        kernel.handle(Instant::ZERO, PEER.ip(), HOST, 7, bytes);
    }
    assert_eq!(drops(&kernel), [Why::TooShort, Why::TooShort, Why::UnknownType, Why::TooManyAcks]);
}

#[test]
fn data_that_does_not_fit_its_message() {
    let mut kernel = kernel();
    let half = Data { incoming: 1_000, ..data(1_000, 0, 500) };
    feed(&mut kernel, THEIRS, Body::Data(half));
    let empty = Body::Data(Data { contents: Vec::new(), ..data(1_000, 500, 500) });
    for body in [part(1_000, 400, 600), part(1_000, 0, 100), part(900, 500, 600), empty] {
        feed(&mut kernel, THEIRS, body);
    }
    let beyond = Data { contents: vec![0; 600], ..data(1_000, 500, 500) };
    feed(&mut kernel, THEIRS, Body::Data(beyond));
    feed(&mut kernel, THEIRS + 2, Body::Data(data(1_000_001, 0, 100)));
    let expected = [
        Why::Straddles { packet: 400..600, edge: 500 },
        Why::Duplicate,
        Why::OtherLength { first: 1_000, now: 900 },
        Why::Empty,
        Why::BeyondEnd { offset: 500, length: 1_000 },
        Why::TooLong(1_000_001),
    ];
    assert_eq!(drops(&kernel), expected);
}

#[test]
fn packets_for_nobody() {
    let mut kernel = calling(10);
    for body in [Body::Grant { offset: 1, priority: 0 }, Body::Busy] {
        feed(&mut kernel, THEIRS, body);
        feed(&mut kernel, 0x999, Body::Busy);
    }
    let mut closed = packet(THEIRS, part(10, 0, 10));
    closed.dport = 4_999;
    feed_packet(&mut kernel, 7, &closed);
    assert!(kernel.poll_icmp().is_none(), "not before the RESEND");
    let mut closed = packet(THEIRS, Body::Resend { offset: 0, length: -1, priority: 7 });
    closed.dport = 4_999;
    feed_packet(&mut kernel, 7, &closed);
    assert_eq!(kernel.poll_icmp().map(|icmp| icmp.what), Some(SocketAddr::new(HOST, 4_999)));
    let mut expected = vec![Why::NeverKnown; 4];
    expected.extend(vec![Why::NoSuchPort(4_999); 2]);
    assert_eq!(drops(&kernel), expected);
}

#[test]
fn what_is_over_is_stale_and_harmless() {
    let mut kernel = calling(10);
    feed(&mut kernel, 3, part(10, 0, 10));
    for body in [part(10, 0, 10), Body::Busy, Body::Unknown, Body::Grant { offset: 10, priority: 0 }] {
        feed(&mut kernel, 3, body);
    }
    assert_eq!(drops(&kernel), vec![Why::Stale; 4]);
    assert!(kernel.drops().iter().all(|drop| drop.why.is_harmless()));
    assert_eq!(broken(&kernel), []);
}

#[test]
fn rules_of_data() {
    let first = |change: &dyn Fn(&mut Data)| {
        let mut kernel = kernel();
        feed(&mut kernel, THEIRS, Body::Data(Data { incoming: 2_000, ..data(9_000, 0, 1_000) }));
        let mut next = Data { incoming: 2_000, ..data(9_000, 1_000, 2_000) };
        change(&mut next);
        feed_packet(&mut kernel, 5, &packet(THEIRS, Body::Data(next)));
        broken(&kernel).into_iter().filter(|rule| *rule != Rule::Cutoffs).collect::<Vec<_>>()
    };
    assert_eq!(first(&|_| {}), []);
    assert_eq!(first(&|data| data.incoming = 3_000), [Rule::Incoming]);
    assert_eq!(first(&|data| data.incoming = 9_001), [Rule::Incoming, Rule::Incoming]);
    assert_eq!(first(&|data| data.retransmit = true), [Rule::UnaskedRetransmission]);
    let short = first(&|data| (data.retransmit, data.incoming) = (true, 1_500));
    assert_eq!(short, [Rule::RetransmittedRange, Rule::UnaskedRetransmission]);
    let implicit = first(&|data| (data.retransmit, data.segment_offset) = (true, None));
    assert!(implicit.contains(&Rule::ImplicitRetransmission));

    // The model has granted at once; a host that has not would see bytes that it never allowed.
    let mut config = KernelConfig::new(HOST);
    config.server_ports = vec![4_000];
    let mut puppet = Kernel::puppet(config);
    feed(&mut puppet, THEIRS, Body::Data(Data { incoming: 1_000, ..data(9_000, 0, 1_000) }));
    feed(&mut puppet, THEIRS, Body::Data(Data { incoming: 1_000, ..data(9_000, 1_000, 2_000) }));
    assert!(broken(&puppet).contains(&Rule::NotGranted));
}

#[test]
fn rules_of_priorities_and_fields() {
    let mut kernel = calling(10);
    let mut busy = packet(3, Body::Busy);
    feed_packet(&mut kernel, 4, &busy);
    busy.sequence = 1;
    feed_packet(&mut kernel, 7, &busy);
    let mut first = packet(THEIRS, Body::Data(data(9_000, 0, 1_000)));
    feed_packet(&mut kernel, 5, &first);
    feed_packet(&mut kernel, 6, &packet(THEIRS, Body::Data(data(9_000, 1_000, 2_000))));
    feed_packet(&mut kernel, 6, &packet(THEIRS, Body::Data(data(9_000, 2_000, 3_000))));
    first.doff = 0xd0;
    feed_packet(&mut kernel, 5, &first);
    let found = broken(&kernel);
    for rule in [Rule::Priority, Rule::Fields, Rule::Cutoffs, Rule::UnaskedBusy] {
        assert!(found.contains(&rule), "{rule:?} is not among {found:?}");
    }
}

#[test]
fn rules_of_control_packets() {
    let one = |mut kernel: Kernel, sender_id: u64, body: Body| {
        feed(&mut kernel, sender_id, body);
        broken(&kernel)
    };
    let resend = |offset, length| Body::Resend { offset, length, priority: 7 };
    let told = |cutoffs, version| Body::Cutoffs { cutoffs, version };
    assert_eq!(one(calling(10), 3, Body::Grant { offset: 11, priority: 0 }), [Rule::Grant]);
    assert_eq!(one(calling(10), 3, Body::Grant { offset: 10, priority: 8 }), [Rule::Grant]);
    assert_eq!(one(calling(10), 3, resend(5, 10)), [Rule::Resend]);
    assert_eq!(one(calling(10), 3, resend(0, -2)), [Rule::Resend]);
    assert_eq!(one(calling(10), 3, resend(0, -1)), []);
    assert_eq!(one(calling(10), 3, Body::Unknown), [Rule::UnaskedUnknown]);
    assert_eq!(one(calling(10), 3, Body::Busy), [Rule::UnaskedBusy]);
    assert_eq!(one(calling(10), 3, told(CUTOFFS.0, 1)), [], "the DATA named version 0");
    assert_eq!(one(calling(10), 3, told(CUTOFFS.0, 0)), [Rule::CutoffsValue, Rule::UnaskedCutoffs]);
    assert_eq!(one(calling(10), 3, told([u32::MAX; 8], 1)), [Rule::CutoffsValue]);
    assert_eq!(one(kernel(), 3, told(CUTOFFS.0, 1)), [Rule::UnaskedCutoffs]);
    assert_eq!(one(answering(), THEIRS, Body::NeedAck), [Rule::NeedAck]);
    assert_eq!(one(answering(), THEIRS, Body::Ack(Vec::new())), []);
    let mut arriving = kernel();
    feed(&mut arriving, THEIRS, part(9_000, 0, 1_000));
    assert!(one(arriving, THEIRS, Body::Ack(Vec::new())).contains(&Rule::Ack));
}
