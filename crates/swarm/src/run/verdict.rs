use super::violation::{Violation, violated};
use crate::net::HostId;
use crate::scenario::{CallPlan, Scenario, Trouble};
use homarus_proto::RpcError;
use std::time::Duration;

/// Loss up to which a peer that lives must never be taken for dead.
const BEARABLE_LOSS: f64 = 0.1;

/// Share of late packets up to which old UNKNOWN packets must never be believed.
const BEARABLE_LATENESS: f64 = 0.1;

/// What in a scenario may explain an error. Errors without explanation are violations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Excuses {
    calm: bool,
    /// Bounds are so narrow that requests may meet them.
    tight: bool,
    /// Servers may forget a request: they restart, reject, run out of room, or give a silent client up.
    forgetful: bool,
    /// A living peer may be silent for long.
    silence: bool,
    icmp: bool,
    closing: bool,
    /// An endpoint's time may differ from what its clock last showed.
    time_jumps: bool,
}

/// Whether what waits in a host's own queue, before any switch could let its control packets overtake, takes so long
/// on its link that a peer must think that it is dead.
fn own_queue_is_long(scenario: &Scenario) -> bool {
    let dead_after = scenario.hosts.iter().map(|host| host.config.dead_after).min().unwrap_or_default();
    scenario
        .hosts
        .iter()
        .filter_map(|host| host.link.up_rate.map(|rate| (host.link.send_buffer, rate)))
        .any(|(queue, rate)| u128::from(queue) * 8_000_000_000 / u128::from(rate.max(1)) >= dead_after.as_nanos() / 2)
}

/// Whether all that a host is sent, and once more for repeats, takes so long on its link that what waits at the switch
/// port may be later than its patience. Only control packets overtake it, and a repeated packet is no control packet.
fn port_queue_is_long(scenario: &Scenario) -> bool {
    let dead_after = scenario.hosts.iter().map(|host| host.config.dead_after).min().unwrap_or_default();
    let mut bytes = vec![0; scenario.hosts.len()];
    for plan in &scenario.calls {
        bytes[plan.to] += plan.request.len() as u128;
        bytes[plan.from] += plan.response.len() as u128;
    }
    scenario.hosts.iter().zip(bytes).any(|(host, bytes)| {
        host.link
            .down_rate
            .is_some_and(|rate| 2 * bytes * 8_000_000_000 / u128::from(rate.max(1)) >= dead_after.as_nanos())
    })
}

impl Excuses {
    pub(super) fn of(scenario: &Scenario) -> Excuses {
        let troubled = !scenario.troubles.is_empty();
        let happens = |what: fn(Trouble) -> bool| scenario.troubles.iter().any(|plan| what(plan.trouble));
        let hostile = !scenario.weather.is_honest();
        let silence = troubled
            || hostile
            || scenario.tight
            || scenario.shallow
            || scenario.weather.loss > BEARABLE_LOSS
            || own_queue_is_long(scenario)
            || port_queue_is_long(scenario);
        Excuses {
            calm: scenario.is_calm(),
            tight: scenario.tight,
            forgetful: silence || scenario.manners.refuse > 0.0 || scenario.weather.lateness > BEARABLE_LATENESS,
            silence,
            icmp: happens(|trouble| matches!(trouble, Trouble::Restart { icmp: true, .. })),
            time_jumps: happens(|trouble| matches!(trouble, Trouble::Jump(_))),
            closing: happens(|trouble| matches!(trouble, Trouble::Close(_))),
        }
    }

    /// Whether an error is explained. `elapsed` is how long the request took by its client's clock.
    pub(super) fn accept(
        &self,
        client: HostId,
        plan: &CallPlan,
        error: &RpcError,
        elapsed: Duration,
        dead_after: Duration,
    ) -> Result<(), Violation> {
        let explained = match *error {
            RpcError::Deadline { after } => elapsed >= after || self.time_jumps,
            RpcError::ServerBusy { after } => (elapsed >= after || self.time_jumps) && !self.calm,
            RpcError::PeerDead { silent_for } => self.silence && silent_for >= dead_after,
            RpcError::Unreachable(_) => self.icmp,
            RpcError::ServerRestarted | RpcError::Dropped => self.forgetful,
            RpcError::RequestTooLong { length } => self.tight && length as usize == plan.request.len(),
            RpcError::ResponseTooLong { length, limit } => {
                length > limit && (plan.response.len() > limit as usize || self.silence)
            }
            RpcError::Closed => self.closing,
        };
        if explained {
            return Ok(());
        }
        violated(format!(
            "host {client}: {plan:?} ended after {elapsed:?} with {error:?}, for which there is no reason"
        ))
    }
}
