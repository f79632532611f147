//! What is written down, byte by byte, and that trouble in writing stays out of the traffic's way.

use homarus_io::{Capture, CaptureCounters, MemHub, MemIo, PacketIo};
use homarus_proto::{Framing, Payload, Transmit};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// A file in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn ends() -> (SocketAddr, SocketAddr, MemIo, MemIo) {
    let hub = MemHub::default();
    let (near, far) = (([10, 0, 0, 1], 40_000).into(), ([10, 0, 0, 2], 4000).into());
    (near, far, hub.attach(near).unwrap(), hub.attach(far).unwrap())
}

fn homa(to: SocketAddr) -> Transmit {
    let mut header = [0; 56];
    header[11] = 0x10;
    Transmit::new(to, 5, &header, Payload::from(b"12345".to_vec()))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The blocks of a file: their types and bodies.
fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let length = word(file, 4) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(word(file, length - 4) as usize, length, "the length stands at both ends");
        blocks.push((word(file, 0), file[8..length - 4].to_vec()));
        file = &file[length..];
    }
    blocks
}

#[test]
fn a_file_of_two_packets() {
    let file = Memory::default();
    let capture = Capture::to(file.clone(), "homarus tests").unwrap();
    let (near, far, io, mut peer) = ends();
    let mut io = capture.tap(io, Framing::Udp);
    assert_eq!(io.send(&[homa(far)]).unwrap(), 1);
    peer.send(&[Transmit::new(near, 7, &[9; 28], Payload::EMPTY)]).unwrap();
    assert_eq!(io.recv(&mut |_| {}).unwrap(), 1);
    assert_eq!(capture.counters(), CaptureCounters { written: 2, lost: 0 });
    drop((io, capture));

    let blocks = blocks(&file.0.lock().unwrap());
    assert_eq!(blocks.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [0x0a0d_0d0a, 1, 6, 6]);
    let section =
        [&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8], &[4, 0, 13, 0], b"homarus tests\0\0\0", &[0; 4]];
    assert_eq!(blocks[0].1, section.concat());
    let interface = [101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(blocks[1].1, interface);
    for ((_, block), (direction, length, tos)) in blocks[2..].iter().zip([(2, 28 + 61, 0xa0), (1, 28 + 28, 0)]) {
        assert_eq!(word(block, 0), 0);
        let time = Duration::from_nanos(u64::from(word(block, 4)) << 32 | u64::from(word(block, 8)));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert!(now.abs_diff(time) < Duration::from_secs(3600));
        assert_eq!([word(block, 12), word(block, 16)], [length; 2]);
        let packet = &block[20..][..length as usize];
        assert_eq!(packet[..4], [0x45, tos, 0, length as u8]);
        let options = 20 + (length as usize).next_multiple_of(4);
        assert_eq!(block[options..], [2, 0, 4, 0, direction, 0, 0, 0, 0, 0, 0, 0]);
    }
    assert_eq!(blocks[2].1[20 + 28..][..61], [homa(far).header(), b"12345"].concat());
    assert_eq!(blocks[2].1[20 + 12..][..12], [10, 0, 0, 1, 10, 0, 0, 2, 0x9c, 0x40, 0x0f, 0xa0]);
    assert_eq!(blocks[3].1[20 + 12..][..12], [10, 0, 0, 2, 10, 0, 0, 1, 0x0f, 0xa0, 0x9c, 0x40]);
}

#[test]
fn several_endpoints_share_a_file() {
    let file = Memory::default();
    let capture = Capture::to(file.clone(), "").unwrap();
    let (near, far, io, peer) = ends();
    let (mut io, mut peer) = (capture.tap(io, Framing::Ip), capture.tap(peer, Framing::Ip));
    io.send(&[homa(far), homa(far)]).unwrap();
    assert_eq!(peer.recv(&mut |_| {}).unwrap(), 2);
    peer.send(&[homa(near)]).unwrap();
    capture.flush();
    let blocks = blocks(&file.0.lock().unwrap());
    assert_eq!(blocks.len(), 2 + 2 + 2 + 1);
    assert!(blocks[2..].iter().all(|(_, block)| block[20 + 9] == 146));
}

#[test]
fn a_full_disk_does_not_stop_the_traffic() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let capture = Capture::to(Full(1 << 20), "").unwrap();
    let (_, far, io, mut peer) = ends();
    let mut io = capture.tap(io, Framing::Udp);
    let batch = vec![homa(far); 100];
    for _ in 0..200 {
        assert_eq!(io.send(&batch).unwrap(), 100);
        assert_eq!(peer.recv(&mut |_| {}).unwrap(), 100);
    }
    let counters = capture.counters();
    assert_eq!(counters.written + counters.lost, 20_000);
    assert!(counters.lost > 0 && counters.written > 0);
    assert_eq!(capture.take_error().unwrap().kind(), io::ErrorKind::StorageFull);
    assert!(capture.take_error().is_none(), "told once");
    assert!(Capture::to(Full(10), "").is_err());
}
