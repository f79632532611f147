//! The same frames in every kind of file.

use crate::common::{
    CAPTURES, Order, Record, block, capture, enhanced, ethernet, interface, ipv4, pcap, record, section, simple,
};
use crate::made;
use homarus_dissect::{Capture, Format};

/// Time, bytes and length of each frame.
fn frames(file: &[u8]) -> Vec<(Option<u64>, Vec<u8>, usize)> {
    let mut capture = Capture::new(file).expect("a header");
    let mut found = Vec::new();
    while let Some(frame) = capture.next_frame().expect("a frame") {
        assert_eq!(frame.number as usize, found.len() + 1);
        found.push((frame.time, frame.data.to_vec(), frame.wire_len));
    }
    found
}

fn sample() -> Vec<Record> {
    let frame = |payload: &[u8]| ethernet(0x800, &[], &ipv4(146, &[], &made::data(2, 100, 0, payload)));
    let mut cut = record(1_700_000_001_000_002_000, frame(&[3; 100]));
    cut.data.truncate(99);
    vec![record(1_700_000_000_123_456_000, frame(&[1; 99])), cut, record(1_700_000_002_000_000_000, Vec::new())]
}

fn expected() -> Vec<(Option<u64>, Vec<u8>, usize)> {
    sample().into_iter().map(|record| (Some(record.time), record.data, record.wire_len)).collect()
}

#[test]
fn pcap_in_both_byte_orders_and_resolutions() {
    for big_endian in [false, true] {
        for nanoseconds in [false, true] {
            assert_eq!(frames(&pcap(big_endian, nanoseconds, 1, &sample())), expected(), "{big_endian} {nanoseconds}");
        }
    }
}

#[test]
fn pcapng_in_both_byte_orders_and_all_resolutions() {
    for order in [Order(false), Order(true)] {
        // Ticks a second: the default, 10^9, 10^3, 2^20 and 10^0 with an offset.
        let offset = 1_700_000_000u64;
        let offset = if order.0 { offset.to_be_bytes() } else { offset.to_le_bytes() };
        let mut file = section(order);
        file.extend(interface(order, 1, 0, &[]));
        file.extend(interface(order, 1, 0, &[(2, b"lo0".to_vec()), (9, vec![9])]));
        file.extend(interface(order, 1, 0, &[(9, vec![3])]));
        file.extend(interface(order, 1, 0, &[(9, vec![0x80 | 20])]));
        file.extend(interface(order, 1, 0, &[(9, vec![0]), (14, offset.to_vec())]));
        let packet = record(0, vec![9; 33]);
        let ticks = [7_000_005, 7_000_005_003, 7_500, 7 << 20 | 1 << 19, 3];
        for (index, ticks) in ticks.into_iter().enumerate() {
            // A block of statistics between, which is passed over.
            file.extend(block(order, 5, &[0; 12]));
            file.extend(enhanced(order, index as u32, ticks, &packet));
        }
        let times: Vec<_> = frames(&file).into_iter().map(|frame| frame.0.expect("a time")).collect();
        let expected = [7_000_005_000, 7_000_005_003, 7_500_000_000, 7_500_000_000, 1_700_000_003_000_000_000];
        assert_eq!(times, expected);
    }
}

#[test]
fn sections_have_their_own_byte_order_and_interfaces() {
    let (big, little) = (Order(true), Order(false));
    let packet = record(5_000, vec![1, 2, 3, 4, 5]);
    let mut file = [section(big), interface(big, 101, 0, &[]), enhanced(big, 0, 5, &packet)].concat();
    file.extend([section(little), interface(little, 1, 0, &[]), interface(little, 276, 0, &[])].concat());
    file.extend(enhanced(little, 1, 5, &packet));
    let mut capture = Capture::new(&file[..]).expect("a header");
    assert_eq!(capture.format(), Format::PcapNg);
    assert_eq!(capture.next_frame().expect("sound").expect("a frame").link.0, 101);
    assert_eq!(capture.next_frame().expect("sound").expect("a frame").link.0, 276);
    assert!(capture.next_frame().expect("sound").is_none());
    let mut stale = [section(big), interface(big, 1, 0, &[]), section(big)].concat();
    stale.extend(enhanced(big, 0, 5, &packet));
    let error =
        Capture::new(&stale[..]).expect("a header").next_frame().expect_err("interfaces end with their section");
    assert!(error.to_string().contains("expected an interface's description before any packet"), "{error}");
}

#[test]
fn simple_packets_are_cut_by_the_interfaces_snaplen() {
    let order = Order(false);
    let whole = record(0, vec![7; 13]);
    let cut = Record { wire_len: 90, ..record(0, vec![8; 16]) };
    let file = [section(order), interface(order, 1, 16, &[]), simple(order, &whole), simple(order, &cut)].concat();
    assert_eq!(frames(&file), [(None, whole.data, 13), (None, cut.data, 90)]);
}

/// Every capture says the same as pcapng as it says as pcap.
#[test]
fn captures_rewritten_say_the_same() {
    for (name, _) in CAPTURES {
        let original = frames(&capture(name));
        let order = Order(true);
        let mut file = [section(order), interface(order, 1, 0, &[(9, vec![9])])].concat();
        for (time, data, wire_len) in &original {
            let time = time.expect("pcap has times");
            file.extend(enhanced(order, 0, time, &Record { time, data: data.clone(), wire_len: *wire_len }));
        }
        assert_eq!(frames(&file), original, "{name}");
    }
}
