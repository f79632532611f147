use homarus_proto::wire::{ACK_LEN, COMMON_LEN, Header, split_datagram};

/// Bytes between the sequence number and the type, which carry nothing.
const UNUSED: std::ops::Range<usize> = 8..11;

/// Any bytes parse or are refused; what was parsed is emitted as it was; datagrams split into packets that add up.
pub fn wire(bytes: &[u8]) {
    if let Ok(header) = Header::parse(bytes) {
        let mut out = [0; ACK_LEN];
        let len = header.emit(&mut out);
        assert!((COMMON_LEN..=ACK_LEN).contains(&len) && len <= bytes.len());
        let mut expected = bytes[..len].to_vec();
        expected[UNUSED].fill(0);
        assert_eq!(out[..len], expected);
        assert_eq!(Header::parse(&out[..len]), Ok(header));
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        let (packet, others) = split_datagram(rest);
        assert!(!packet.is_empty(), "every packet has some bytes");
        assert_eq!(packet.len() + others.len(), rest.len());
        rest = others;
    }
}
