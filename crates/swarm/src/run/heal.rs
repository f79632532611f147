//! The network heals, and everything must converge.

use super::Run;
use super::violation::{Violation, violated};
use crate::content::Message;
use crate::net::HostId;
use crate::scenario::{CallPlan, START, Scenario, Trouble};
use homarus_proto::{Config, View};
use std::time::Duration;

/// Time after which nothing may be left to do, besides what the configurations allow.
const PATIENCE: Duration = Duration::from_secs(60);

/// Hosts that are called to see whether they are well.
const PROBES: usize = 8;

/// Times that a host is called whose answers a forged packet may spoil.
const ATTEMPTS: usize = 50;

/// Packets that a run may take for each request, for each kilobyte or each full packet of it where packets are small, and
/// each time that a silent host may be asked.
const PACKETS_PER_CALL: u64 = 100;
const PACKETS_PER_KILOBYTE: u64 = 40;
const PACKETS_PER_PACKET: u64 = 8;
const PACKETS_PER_QUESTION: u64 = 3;

/// Bytes of headers in a packet with data over IPv4 and UDP.
const HEADERS: usize = 84;

/// By how much the packets of other people's making may multiply these.
const PACKETS_PER_FORGERY: u64 = 10;

impl Run<'_> {
    pub(super) fn heal(&mut self) -> Result<(), Violation> {
        self.say(|| "everything becomes good".to_owned());
        self.healed = true;
        self.sky.borrow_mut().clear();
        for host in 0..self.world.host_count() {
            self.relieve(host);
        }
        let mut ignored: Vec<u64> = self.held.iter().filter(|(_, held)| held.ignored).map(|(n, _)| *n).collect();
        ignored.sort_unstable();
        ignored.into_iter().try_for_each(|number| self.answer(number))
    }

    /// Waits as long as it may take until nothing is left.
    pub(super) fn converge(&mut self) -> Result<(), Violation> {
        self.go_on(self.world.now() + self.longest_wait())?;
        if self.ledger.open() > 0 {
            return violated(format!("no outcome ever came for {:?}", self.ledger.open_keys()));
        }
        let (taken, given) = self.world.strangers();
        if given > taken {
            return violated(format!("{given} bytes of replies to the {taken} bytes of strangers"));
        }
        for host in 0..self.world.host_count() {
            check_idle(host, &self.world.endpoint(host).view())?;
            self.world.endpoint(host).check_invariants();
        }
        Ok(())
    }

    fn longest_wait(&self) -> Duration {
        let configs = self.scenario.hosts.iter().map(|host| &host.config);
        let deadline = |config: &Config| config.default_deadline.unwrap_or_default();
        let configured = configs.map(|config| deadline(config) + 4 * config.dead_after).max();
        let backwards = self.scenario.troubles.iter().filter_map(|plan| match plan.trouble {
            Trouble::Jump(nanos) if nanos < 0 => Some(Duration::from_nanos(nanos.unsigned_abs())),
            _ => None,
        });
        PATIENCE + configured.unwrap_or_default() + self.scenario.manners.think + backwards.sum::<Duration>()
    }

    /// Packets that would be many for what is asked of the endpoints. The world stops a run that sends more.
    pub(super) fn packets_allowed(scenario: &Scenario) -> u64 {
        let calls = scenario.calls.len() as u64 + 1;
        let bytes: usize = scenario.calls.iter().map(|plan| plan.request.len() + plan.response.len()).sum();
        let configs = || scenario.hosts.iter().map(|host| &host.config);
        let patience = configs().map(|config| config.resend_max).min().unwrap_or_default();
        let dead_after = configs().map(|config| config.dead_after).max().unwrap_or_default();
        let mut storm = scenario.heal_at.saturating_since(START) + 2 * dead_after;
        if scenario.tight {
            // A full server may put its clients off until their deadlines.
            storm += configs().filter_map(|config| config.default_deadline).max().unwrap_or_default();
        }
        let questions = (storm.as_nanos() / patience.as_nanos().max(1)) as u64;
        let smallest =
            configs().map(|config| config.mtu).min().unwrap_or_default().saturating_sub(HEADERS).max(1) as u64;
        let contents = (PACKETS_PER_KILOBYTE * bytes as u64 / 1_000).max(PACKETS_PER_PACKET * bytes as u64 / smallest);
        let honest = calls * (PACKETS_PER_CALL + PACKETS_PER_QUESTION * questions) + contents;
        if scenario.weather.is_honest() { honest } else { PACKETS_PER_FORGERY * honest }
    }

    /// One small request after the other: on a good network they must all succeed.
    pub(super) fn probe(&mut self) -> Result<(), Violation> {
        let count = self.world.host_count();
        (0..count.min(PROBES)).try_for_each(|from| self.probe_from(from, (from + 1) % count))?;
        (0..count).try_for_each(|host| check_idle(host, &self.world.endpoint(host).view()))
    }

    fn probe_from(&mut self, from: HostId, to: HostId) -> Result<(), Violation> {
        for attempt in 0..ATTEMPTS {
            let plan = CallPlan {
                at: self.world.now(),
                from,
                to,
                request: Message::real(from as u64, 1),
                response: Message::real(to as u64, 1),
                deadline: None,
                cancel_after: None,
            };
            let before = self.ledger.succeeded;
            let sent = self.send_request(plan)?;
            self.go_on(self.world.now() + self.longest_wait())?;
            if self.ledger.succeeded > before {
                break;
            }
            let spoiled = sent.as_ref().is_ok_and(|(_, id)| self.ledger.is_tainted(*id));
            if !spoiled || attempt + 1 == ATTEMPTS {
                return violated(format!("{plan:?} failed on a good network; sending it gave {sent:?}"));
            }
        }
        Ok(())
    }
}

/// Whether an endpoint has forgotten every RPC.
pub(super) fn check_idle(host: HostId, view: &View) -> Result<(), Violation> {
    let state = [
        ("client RPCs", view.client_rpcs as u64),
        ("server RPCs", view.server_rpcs as u64),
        ("bytes to receive", view.receive_buffer as u64),
        ("bytes to send", view.send_buffer as u64),
        ("bytes expected", view.incoming),
    ];
    match state.into_iter().find(|(_, held)| *held > 0) {
        Some((what, held)) => violated(format!("host {host} holds {held} {what} after everything has ended")),
        None => Ok(()),
    }
}
