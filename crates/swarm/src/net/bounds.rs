use super::HostId;
use homarus_proto::{Config, View};

/// Timers that an endpoint may have for each RPC or peer that it knows.
const TIMERS_EACH: usize = 4;
/// Timers that may be left of RPCs that have ended.
const TIMERS_LEFT: usize = 20_000;

/// Panics if an endpoint holds more than its configuration allows.
pub(super) fn check(host: HostId, config: &Config, view: &View) {
    let known = view.client_rpcs + view.server_rpcs + view.peers;
    for (what, held, bound) in [
        ("client RPCs", view.client_rpcs, config.max_client_rpcs),
        ("server RPCs", view.server_rpcs, config.max_server_rpcs),
        ("peers", view.peers, config.max_peers),
        ("bytes to receive", view.receive_buffer, config.max_receive_buffer),
        ("bytes to send", view.send_buffer, config.max_send_buffer),
        ("timers", view.timers, TIMERS_EACH * known + TIMERS_LEFT),
    ] {
        assert!(held <= bound, "host {host} holds {held} {what}, where {bound} are allowed");
    }
}
