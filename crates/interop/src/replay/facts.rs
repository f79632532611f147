//! What is known of the captures and does not stand in them.

use super::Role;
use crate::kernel::wire::{Body, Packet};
use std::time::Duration;

/// Every capture of the module.
pub const CAPTURES: [&str; 17] = [
    "00_cold_first_contact_100B",
    "01_single_100B",
    "02_100KB_echo_grants",
    "04_sequential_100B_x4_piggyback_ack",
    "05_loss5pct_100KB",
    "07_lose_all_first_response_copies_10KB",
    "08_lose_all_first_request_copies_10KB",
    "10_blackhole_server_to_client_timeout",
    "11_first_contact_new_peer",
    "13_ack_overflow_12x100B_parallel",
    "14_busy_slow_server_40ms",
    "15_port_unreachable",
    "17_gso20000_veth_100KB",
    "20_host_to_vm_100B",
    "21_host_to_vm_100KB",
    "22_vm_client_to_host_server",
    "23_host_no_raw_socket_icmp_proto_unreachable",
];

/// Whether a packet of a capture was lost. Packets of the client were captured before the place where they could be
/// lost, those of the server behind it.
pub(super) fn was_lost(capture: &str, packet: &Packet) -> bool {
    let from_client = packet.sender_id & 1 == 0;
    let first_copy = match &packet.body {
        Body::Data(data) if !data.retransmit => Some(packet.offset(data)),
        _ => None,
    };
    match &capture[..2] {
        "05" => first_copy == Some(if from_client { 45_696 } else { 77_024 }),
        "07" => !from_client && first_copy.is_some(),
        "08" => from_client && first_copy.is_some(),
        "10" => !from_client,
        _ => false,
    }
}

/// When a packet really came to the other side, if that was much later than it was captured: the server of the first
/// capture took the RESEND before the DATA, which it saw only when it sent CUTOFFS.
pub(super) fn came_at(capture: &str, packet: &Packet, at: Duration) -> Duration {
    let late = capture.starts_with("00") && at.is_zero() && matches!(packet.body, Body::Data(_));
    if late { Duration::from_micros(65_280) } else { at }
}

/// Whether the capture has the side that we would play.
pub(super) fn has(capture: &str, role: Role) -> bool {
    // Nobody listened on that port.
    !(capture.starts_with("15") && role == Role::Server)
}

/// Whether the other side was never heard of again.
pub(super) fn stays_silent(capture: &str) -> bool {
    ["10", "15", "23"].contains(&&capture[..2])
}
