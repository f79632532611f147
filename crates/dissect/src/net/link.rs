use super::u16_at;

/// How the first bytes of a frame are to be read: libpcap's LINKTYPE numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u16);

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Tags of virtual LANs: 802.1Q, 802.1ad, and what came before the latter.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MAX_TAGS: usize = 8;

impl LinkType {
    /// BSD's loopback: the address family in the byte order of the machine.
    pub const NULL: LinkType = LinkType(0);
    /// Ethernet.
    pub const ETHERNET: LinkType = LinkType(1);
    /// An IP packet and nothing before it.
    pub const RAW: LinkType = LinkType(101);
    /// OpenBSD's loopback: as [`LinkType::NULL`], big-endian.
    pub const LOOP: LinkType = LinkType(108);
    /// Linux's "any" device.
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// An IPv4 packet.
    pub const IPV4: LinkType = LinkType(228);
    /// An IPv6 packet.
    pub const IPV6: LinkType = LinkType(229);
    /// Linux's "any" device, second version.
    pub const LINUX_SLL2: LinkType = LinkType(276);

    /// Whether frames of this link can be read.
    pub fn is_known(self) -> bool {
        matches!(
            self,
            LinkType::NULL
                | LinkType::ETHERNET
                | LinkType::RAW
                | LinkType::LOOP
                | LinkType::LINUX_SLL
                | LinkType::IPV4
                | LinkType::IPV6
                | LinkType::LINUX_SLL2
                | LinkType(12 | 14)
        )
    }

    /// Where the IP packet begins in a frame, if it holds one.
    pub fn ip_at(self, frame: &[u8]) -> Option<usize> {
        match self {
            LinkType::ETHERNET => behind_tags(frame, 12),
            LinkType::LINUX_SLL => behind_tags(frame, 14),
            LinkType::LINUX_SLL2 => match u16_at(frame, 0)? {
                IPV4 | IPV6 => Some(20),
                tag if TAGS.contains(&tag) => behind_tags(frame, 22),
                _ => None,
            },
            LinkType::NULL | LinkType::LOOP => {
                let raw: [u8; 4] = frame.get(..4)?.try_into().ok()?;
                // Families of IPv4, and of IPv6 on Linux, the BSDs and macOS.
                let is_ip = |family: u32| matches!(family, 2 | 10 | 24 | 28 | 30);
                (is_ip(u32::from_be_bytes(raw)) || is_ip(u32::from_le_bytes(raw))).then_some(4)
            }
            // DLT_RAW has other numbers on some systems.
            LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 | LinkType(12 | 14) => Some(0),
            _ => None,
        }
    }
}

/// The first byte after the type of protocol at `at` and any tags there.
fn behind_tags(frame: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..=MAX_TAGS {
        match u16_at(frame, at)? {
            IPV4 | IPV6 => return Some(at + 2),
            tag if TAGS.contains(&tag) => at += 4,
            _ => return None,
        }
    }
    None
}
