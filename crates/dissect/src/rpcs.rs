//! What the packets say about each RPC.

use crate::decode::{End, Seen};
use crate::ranges::Ranges;
use homarus_proto::wire::{Header, Packet};
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

/// What tells RPCs apart: the client, and the id that it gave. Ids count for all sockets of a host where the Linux
/// module gives them, and for one UDP socket where homarus does. The server is no part of it: a host with several
/// addresses may answer from another one than was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RpcKey {
    /// The client's address.
    pub client: IpAddr,
    /// The client's UDP port, where Homa is inside UDP.
    pub udp_port: Option<u16>,
    /// The id as the client knows it: even.
    pub id: u64,
}

impl RpcKey {
    /// The RPC that a packet is about.
    pub fn of(seen: &Seen) -> RpcKey {
        RpcKey::with_id(seen, seen.header.client_id())
    }

    pub(crate) fn with_id(seen: &Seen, id: u64) -> RpcKey {
        let client = if seen.header.from_client() { &seen.source } else { &seen.dest };
        RpcKey { client: client.address, udp_port: client.udp_port, id }
    }
}

/// One direction of an RPC.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// Bytes in the whole message, once a DATA packet was seen.
    pub length: Option<u32>,
    /// Bytes that the sender may have sent: unscheduled ones, and those granted.
    pub granted: u32,
    /// When its first DATA packet was seen, nanoseconds.
    pub first: Option<u64>,
    /// DATA packets, retransmissions too.
    pub packets: u64,
    /// Bytes in retransmissions.
    pub resent: u64,
    pub(crate) seen: Ranges,
    /// It has more holes than are followed.
    pub(crate) lost_track: bool,
}

impl Message {
    /// Bytes seen at least once.
    pub fn covered(&self) -> u32 {
        self.seen.covered()
    }

    /// Whether every byte was seen.
    pub fn is_whole(&self) -> bool {
        self.length.is_some_and(|length| self.seen.covered() >= length)
    }

    /// Bytes granted or unscheduled that were not seen yet.
    pub fn outstanding(&self) -> u32 {
        let length = self.length.unwrap_or(u32::MAX);
        self.granted.min(length).saturating_sub(self.seen.covered())
    }
}

/// What was seen of an RPC.
#[derive(Clone, Debug)]
pub struct Rpc {
    /// The client's end.
    pub client: End,
    /// The server's end, as the first packet named it.
    pub server: End,
    /// When its first packet was seen, nanoseconds since 1970, if the file says.
    pub first: Option<u64>,
    /// When its last packet was seen.
    pub last: Option<u64>,
    /// When the last byte of the response was seen.
    pub completed: Option<u64>,
    /// The request.
    pub request: Message,
    /// The response.
    pub response: Message,
    /// Packets of all types.
    pub packets: u64,
    /// RESEND packets from either side.
    pub resends: u64,
    /// Whether an ack of the response was seen.
    pub acked: bool,
    /// Whether the server said that it ended the RPC or refused it.
    pub refused: bool,
    done: bool,
}

impl Rpc {
    fn new(seen: &Seen, time: Option<u64>) -> Rpc {
        let (client, server) =
            if seen.header.from_client() { (seen.source, seen.dest) } else { (seen.dest, seen.source) };
        Rpc {
            client,
            server,
            first: time,
            last: time,
            completed: None,
            request: Message::default(),
            response: Message::default(),
            packets: 0,
            resends: 0,
            acked: false,
            refused: false,
            done: false,
        }
    }

    /// Whether any DATA of it was seen.
    pub fn has_data(&self) -> bool {
        self.request.length.is_some() || self.response.length.is_some()
    }

    /// Whether the whole response was seen.
    pub fn is_complete(&self) -> bool {
        self.done
    }

    /// In words, how far it came.
    pub fn state(&self) -> &'static str {
        match (&self.request, &self.response) {
            (request, response) if request.lost_track || response.lost_track => "too many holes to follow",
            _ if self.done => "complete",
            _ if self.refused => "refused by the server",
            (_, response) if response.length.is_some() => "response incomplete",
            (request, _) if request.is_whole() => "no response",
            (request, _) if request.length.is_some() => "request incomplete",
            _ => "control packets only",
        }
    }

    /// From the first DATA of the request to the last byte of the response, if both messages were seen wholly.
    pub fn duration(&self) -> Option<u64> {
        self.request.is_whole().then_some(())?;
        self.completed?.checked_sub(self.request.first?)
    }
}

/// What a packet changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// A message whose length was not known before: whether it is the request, and its bytes.
    pub new_message: Option<(bool, u32)>,
    /// The response is whole since this packet.
    pub completed: bool,
    /// The RPC was not known before.
    pub new_rpc: bool,
    /// Bytes of payload that had been seen already.
    pub seen_before: u32,
}

/// All RPCs being followed, in bounded memory.
#[derive(Debug)]
pub struct Rpcs {
    table: HashMap<RpcKey, Rpc>,
    /// Complete ones, which make room first; the oldest in front.
    complete: VecDeque<RpcKey>,
    max: usize,
    /// Ranges in all messages together.
    ranges: usize,
    /// Packets of RPCs for which there was no room.
    pub not_followed: u64,
}

impl Rpcs {
    /// Separate ranges that all messages together may have: eight bytes each.
    const MAX_RANGES: usize = 1 << 20;

    /// Follows up to `max` RPCs at once; complete ones are forgotten when room is needed.
    pub fn new(max: usize) -> Rpcs {
        Rpcs { table: HashMap::new(), complete: VecDeque::new(), max: max.max(1), ranges: 0, not_followed: 0 }
    }

    /// Takes a packet in; `None` if there is no room for its RPC.
    pub fn take(&mut self, seen: &Seen, time: Option<u64>) -> Option<Change> {
        self.take_acks(seen);
        let key = RpcKey::of(seen);
        let mut change = Change::default();
        if !self.table.contains_key(&key) {
            if !self.make_room() {
                self.not_followed += 1;
                return None;
            }
            self.table.insert(key, Rpc::new(seen, time));
            change.new_rpc = true;
        }
        let rpc = self.table.get_mut(&key)?;
        rpc.packets += 1;
        rpc.last = time.or(rpc.last);
        let from_client = seen.header.from_client();
        match &seen.header.packet {
            Packet::Data(data) => {
                let message = if from_client { &mut rpc.request } else { &mut rpc.response };
                if message.length.is_none() {
                    message.length = Some(data.message_length);
                    message.first = time;
                    change.new_message = Some((from_client, data.message_length));
                }
                message.packets += 1;
                if data.retransmit == 0 {
                    message.granted = message.granted.max(data.incoming);
                } else {
                    message.resent += u64::from(seen.payload);
                }
                let length = message.length.unwrap_or(0);
                let (start, end) = seen.range().map_or((0, 0), |(start, end)| (start.min(length), end.min(length)));
                let before = message.seen.len();
                match message.seen.insert(start, end, self.ranges < Rpcs::MAX_RANGES) {
                    Some(new) => change.seen_before = (end - start) - new,
                    None => message.lost_track = true,
                }
                self.ranges = self.ranges + message.seen.len() - before;
            }
            Packet::Grant { offset, .. } => {
                let message = if from_client { &mut rpc.response } else { &mut rpc.request };
                message.granted = message.granted.max(*offset);
            }
            Packet::Resend { .. } => rpc.resends += 1,
            Packet::Unknown if !from_client => {
                rpc.refused |= matches!(seen.header.sequence, Header::ENDED | Header::TOO_LONG);
            }
            _ => {}
        }
        if !rpc.done && rpc.response.is_whole() {
            rpc.done = true;
            rpc.completed = time;
            change.completed = true;
            self.complete.push_back(key);
        }
        Some(change)
    }

    /// Notes what a packet acknowledges; the RPCs are the sender's.
    pub(crate) fn take_acks(&mut self, seen: &Seen) {
        for id in acked(seen) {
            if let Some(rpc) = self.table.get_mut(&RpcKey::with_id(seen, id)) {
                rpc.acked = true;
            }
        }
    }

    fn make_room(&mut self) -> bool {
        if self.table.len() >= self.max
            && let Some(oldest) = self.complete.pop_front()
            && let Some(rpc) = self.table.remove(&oldest)
        {
            self.ranges -= rpc.request.seen.len() + rpc.response.seen.len();
        }
        self.table.len() < self.max
    }

    /// What is known of an RPC.
    pub fn get(&self, key: &RpcKey) -> Option<&Rpc> {
        self.table.get(key)
    }

    /// All that are known still: every incomplete one, and the latest of the others; in order of their first packets.
    pub fn in_order(&self) -> Vec<(&RpcKey, &Rpc)> {
        let mut all: Vec<_> = self.table.iter().collect();
        all.sort_unstable_by_key(|(key, rpc)| (rpc.first, **key));
        all
    }
}

/// Ids of the RPCs that a packet acknowledges, as the client knows them.
pub fn acked(seen: &Seen) -> Vec<u64> {
    match &seen.header.packet {
        Packet::Data(data) if data.ack.client_id != 0 => vec![data.ack.client_id & !1],
        Packet::Ack { count, acks } => {
            let others = acks.iter().take(usize::from(*count)).map(|ack| ack.client_id & !1);
            std::iter::once(seen.header.client_id()).chain(others).collect()
        }
        _ => Vec::new(),
    }
}
