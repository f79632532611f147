use super::Flow;
use std::collections::HashSet;

/// How an ideal network shares its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// The message with the fewest remaining bytes first, at full rate, then the next whose uplink and downlink are both
    /// still free, and so on: what Homa approximates.
    ShortestRemaining,
    /// Max-min fair among all messages: what a pool of TCP connections approximates.
    FairMessages,
    /// Max-min fair among connections, one from each host to each other with a direction for its requests and one for its
    /// responses; within one first in, first out: what pipelined TCP connections approximate.
    FairConnections,
}

impl Scheduler {
    /// Rate of each flow, in units of `capacity`, the rate of each link. May put the flows into another order.
    pub(super) fn rates(self, flows: &mut [Flow], hosts: usize, capacity: f64) -> Vec<f64> {
        match self {
            Scheduler::ShortestRemaining => {
                flows.sort_unstable_by(|a, b| a.remaining.total_cmp(&b.remaining).then(a.number.cmp(&b.number)));
                greedy(flows, hosts, capacity)
            }
            Scheduler::FairMessages => fair(flows, &vec![true; flows.len()], hosts, capacity),
            Scheduler::FairConnections => {
                flows.sort_unstable_by_key(|flow| flow.number);
                let mut seen = HashSet::new();
                let heads: Vec<bool> =
                    flows.iter().map(|flow| seen.insert((flow.from, flow.to, flow.response))).collect();
                fair(flows, &heads, hosts, capacity)
            }
        }
    }
}

/// Full rate to each flow whose links no flow before it uses.
fn greedy(flows: &[Flow], hosts: usize, capacity: f64) -> Vec<f64> {
    let (mut up, mut down) = (vec![false; hosts], vec![false; hosts]);
    let take = |flow: &Flow| {
        let free = !up[flow.from] && !down[flow.to];
        if free {
            (up[flow.from], down[flow.to]) = (true, true);
        }
        if free { capacity } else { 0.0 }
    };
    flows.iter().map(take).collect()
}

/// Max-min fair rates of the flows that are `active`; the others rest.
///
/// The link whose flows have the smallest share settles these flows' rates; what they leave of their other links is shared among the rest, and
/// so on.
fn fair(flows: &[Flow], active: &[bool], hosts: usize, capacity: f64) -> Vec<f64> {
    let mut rates = vec![0.0; flows.len()];
    let mut unsettled: Vec<usize> = (0..flows.len()).filter(|&flow| active[flow]).collect();
    // Uplinks come first, then downlinks.
    let mut left = vec![capacity; 2 * hosts];
    while !unsettled.is_empty() {
        let mut users = vec![0u32; 2 * hosts];
        for &flow in &unsettled {
            users[flows[flow].from] += 1;
            users[hosts + flows[flow].to] += 1;
        }
        let shares = left.iter().zip(&users).map(|(left, &users)| match users {
            0 => f64::INFINITY,
            users => left / f64::from(users),
        });
        let (tightest, share) =
            shares.enumerate().fold((0, f64::INFINITY), |least, share| if share.1 < least.1 { share } else { least });
        unsettled.retain(|&flow| {
            let (up, down) = (flows[flow].from, hosts + flows[flow].to);
            let settled = up == tightest || down == tightest;
            if settled {
                rates[flow] = share;
                left[up] = (left[up] - share).max(0.0);
                left[down] = (left[down] - share).max(0.0);
            }
            !settled
        });
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(remaining: f64, from: usize, to: usize, number: u64) -> Flow {
        Flow { remaining, from, to, response: false, number, rpc: 0 }
    }

    #[test]
    fn the_shortest_takes_its_links_and_the_next_takes_what_is_free() {
        let mut flows = [flow(300.0, 0, 1, 1), flow(100.0, 0, 2, 2), flow(200.0, 3, 1, 3)];
        let rates = Scheduler::ShortestRemaining.rates(&mut flows, 4, 10.0);
        assert_eq!(flows.map(|flow| flow.number), [2, 3, 1]);
        assert_eq!(rates, [10.0, 10.0, 0.0]);
    }

    #[test]
    fn fair_shares_are_max_min() {
        // Three share the downlink of 1; the fourth has what its uplink leaves.
        let mut flows = [flow(1.0, 0, 1, 1), flow(1.0, 2, 1, 2), flow(1.0, 3, 1, 3), flow(1.0, 3, 0, 4)];
        assert_eq!(Scheduler::FairMessages.rates(&mut flows, 4, 9.0), [3.0, 3.0, 3.0, 6.0]);
    }

    #[test]
    fn a_connection_serves_its_oldest_message() {
        let mut flows = [flow(1.0, 0, 1, 5), flow(9.0, 0, 1, 2), flow(1.0, 0, 2, 3)];
        let rates = Scheduler::FairConnections.rates(&mut flows, 3, 8.0);
        assert_eq!(flows.map(|flow| flow.number), [2, 3, 5]);
        assert_eq!(rates, [4.0, 4.0, 0.0]);
    }
}
