//! What happened in a capture, RPC by RPC.

use super::pcap::{Capture, Frame};
use crate::kernel::wire::{Body, Kind};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// One RPC as it was captured.
pub(super) struct Course {
    pub(super) began: Duration,
    pub(super) server: SocketAddr,
    pub(super) request: Vec<u8>,
    pub(super) response: Vec<u8>,
    /// When the server's application answered, as far as it can be told.
    pub(super) responded: Duration,
}

/// Version of the cutoffs that a host has told, or that others named to it.
pub(super) fn versions(capture: &Capture, host: IpAddr) -> u16 {
    let told = capture.frames.iter().filter(|frame| frame.from == host).filter_map(Frame::homa);
    let told =
        told.filter_map(|packet| if let Body::Cutoffs { version, .. } = packet.body { Some(version) } else { None });
    let named = capture.frames.iter().filter(|frame| frame.to == host).filter_map(Frame::homa);
    let named =
        named.filter_map(|packet| if let Body::Data(data) = &packet.body { Some(data.cutoff_version) } else { None });
    told.chain(named).max().unwrap_or(1).max(1)
}

/// The RPCs of a capture.
pub(super) fn courses(capture: &Capture) -> BTreeMap<u64, Course> {
    let mut courses: BTreeMap<u64, Course> = BTreeMap::new();
    for frame in &capture.frames {
        let Some(packet) = frame.homa() else { continue };
        let id = packet.sender_id & !1;
        let Body::Data(data) = &packet.body else { continue };
        let course = courses.entry(id).or_insert_with(|| Course {
            began: frame.at,
            server: SocketAddr::new(frame.to.into(), packet.dport),
            request: Vec::new(),
            response: Vec::new(),
            responded: Duration::MAX,
        });
        let from_client = packet.sender_id == id;
        if !from_client {
            course.responded = course.responded.min(frame.at);
        }
        let message = if from_client { &mut course.request } else { &mut course.response };
        message.resize(data.message_length as usize, 0);
        let offset = packet.offset(data) as usize;
        message[offset..offset + data.contents.len()].copy_from_slice(&data.contents);
    }
    for (id, course) in &mut courses {
        // Where the first copies of a response were lost, NEED_ACK tells that it had been sent.
        let asks = |frame: &&Frame| {
            frame.homa().is_some_and(|packet| packet.sender_id == *id | 1 && packet.kind() == Kind::NeedAck)
        };
        if let Some(asked) = capture.frames.iter().find(asks) {
            course.responded = course.responded.min(asked.at.saturating_sub(Duration::from_millis(3)));
        }
        if course.response.is_empty() {
            (course.response, course.responded) = (course.request.clone(), course.began);
        }
    }
    courses
}
