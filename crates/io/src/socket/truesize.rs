/// Turns the kernel's account of a socket's send buffer into bytes of packets.
///
/// The kernel charges a socket for the memory that its packets take (`truesize`), not for their bytes: a 100-byte
/// datagram costs 768, a full one at MTU 1500 costs 2,304, while a long run that is left to segmentation costs
/// little more than its contents. The charge of what was sent lately is estimated here by the same rules, and
/// tells how many bytes of packets one byte of the account stands for.
#[derive(Debug)]
pub(crate) struct Truesize {
    /// Bytes of IP header, and of UDP header if there is one.
    headers: u64,
    bytes: u64,
    charged: u64,
}

/// Kernel's `struct sk_buff`, rounded up as in its accounting.
const SKB: u64 = 256;
/// Kernel's `struct skb_shared_info`, which ends each buffer.
const SHARED_INFO: u64 = 320;
/// Room that the kernel keeps before an IP packet for link headers.
const LINK_ROOM: u64 = 16;
/// Contents beyond this lie in pages and are charged as they are.
const LINEAR_MAX: u64 = 16_000;
/// Charges after which older ones count half: some milliseconds of a fast link.
const MEMORY: u64 = 1 << 20;

impl Truesize {
    pub(crate) fn new(headers: usize) -> Truesize {
        Truesize { headers: headers as u64, bytes: 1, charged: 1 }
    }

    /// `bytes` were sent in one entry, to be segmented later if `segmented`.
    pub(crate) fn sent(&mut self, bytes: usize, segmented: bool) {
        let bytes = bytes as u64;
        let total = bytes + self.headers;
        self.charged += if segmented || bytes > LINEAR_MAX {
            total + SKB + SHARED_INFO + LINK_ROOM
        } else {
            (total + LINK_ROOM + SHARED_INFO).next_power_of_two() + SKB
        };
        self.bytes += total;
        if self.charged > MEMORY {
            self.charged /= 2;
            self.bytes /= 2;
        }
    }

    /// Bytes of packets, headers included, that an account of `charged` bytes stands for.
    pub(crate) fn packets_in(&self, charged: u64) -> u64 {
        let scaled = u128::from(charged) * u128::from(self.bytes) / u128::from(self.charged);
        scaled as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_follows_what_was_sent() {
        let mut size = Truesize::new(28);
        assert_eq!(size.packets_in(0), 0);
        assert_eq!(size.packets_in(1000), 1000);
        for _ in 0..10_000 {
            size.sent(1472, false);
        }
        assert_eq!(size.packets_in(2304) / 10, 150);
        for _ in 0..100 {
            size.sent(65_000, true);
        }
        assert!(size.packets_in(65_000) > 60_000);
    }
}
