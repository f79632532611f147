use super::Schedule;
use crate::rack::RackShape;
use crate::wire::message_bytes;
use homarus_workloads::Workload;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A request that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Arrival {
    /// When, from the start of the run; ns.
    pub(crate) at: u64,
    /// To which host.
    pub(crate) to: usize,
    /// Length of the request, and of its response; bytes.
    pub(crate) length: u32,
}

/// The endless arrivals at one host: Poisson, each to a host drawn uniformly from the others.
#[derive(Debug)]
pub(crate) struct Arrivals {
    random: Pcg64Mcg,
    workload: Workload,
    host: usize,
    hosts: usize,
    mean_gap: f64,
    time: f64,
}

impl Arrivals {
    /// At `host`; the same seed gives the same arrivals but for the mean gap (ns), which scales their times.
    pub(crate) fn new(workload: Workload, seed: u64, hosts: usize, mean_gap: f64, host: usize) -> Arrivals {
        let random = Pcg64Mcg::seed_from_u64(seed.wrapping_add((host as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        Arrivals { random, workload, host, hosts, mean_gap, time: 0.0 }
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let uniform: f64 = self.random.random();
        self.time -= self.mean_gap * (1.0 - uniform).ln();
        let other = self.random.random_range(0..self.hosts - 1);
        let to = if other >= self.host { other + 1 } else { other };
        let length = self.workload.sample(&mut self.random);
        Some(Arrival { at: self.time as u64, to, length })
    }
}

/// All RPCs of a schedule in the order of their times, each with the host that calls.
pub(crate) fn planned_rpcs(schedule: &Schedule, workload: &Workload) -> Vec<(usize, Arrival)> {
    let mut rpcs: Vec<(usize, Arrival)> = (0..schedule.hosts)
        .flat_map(|host| {
            Arrivals::new(workload.clone(), schedule.seed, schedule.hosts, schedule.mean_gap, host)
                .take_while(|arrival| arrival.at < schedule.sending())
                .map(move |arrival| (host, arrival))
        })
        .collect();
    rpcs.sort_by_key(|(_, arrival)| arrival.at);
    rpcs
}

/// Wire bytes of an RPC's request and response.
pub(crate) fn rpc_wire_bytes(length: u32) -> u64 {
    2 * message_bytes(length)
}

/// Sets the schedule's mean gap so that the messages that arrive within the window make up `load` of what the links carry in
/// that time, and returns the load that they really make up.
///
/// Drawn lengths vary: in half a minute of a heavy-tailed workload the sum of the bytes strays by several per cent from its mean. The clock of
/// the arrivals is therefore stretched a little, after they were drawn, until the bytes fit.
pub(crate) fn calibrate(schedule: &mut Schedule, workload: &Workload, shape: &RackShape, load: f64) -> f64 {
    // Each RPC passes two uplinks and two downlinks once each way: its bytes, both ways, are one host's share of uplink.
    let target = load * shape.rate as f64 / 8.0 * shape.hosts as f64 * schedule.window as f64 / 1e9;
    let mean = workload.expect(|length| rpc_wire_bytes(length) as f64);
    let nominal = schedule.window as f64 * shape.hosts as f64 * mean / target;
    let offered = |mean_gap: f64| -> f64 {
        (0..shape.hosts)
            .flat_map(|host| {
                Arrivals::new(workload.clone(), schedule.seed, shape.hosts, mean_gap, host)
                    .take_while(|arrival| arrival.at < schedule.counted().end)
                    .filter(|arrival| schedule.counted().contains(&arrival.at))
            })
            .map(|arrival| rpc_wire_bytes(arrival.length) as f64)
            .sum()
    };
    // Where the window lies among the arrivals changes with the stretch, so that there is no exact solution: take the best of a few steps.
    let (mut gap, mut best) = (nominal, (f64::INFINITY, nominal, 0.0));
    for _ in 0..6 {
        let bytes = offered(gap);
        let error = (bytes / target - 1.0).abs();
        if error < best.0 {
            best = (error, gap, bytes);
        }
        if error < 0.002 || bytes == 0.0 {
            break;
        }
        gap *= bytes / target;
    }
    schedule.mean_gap = best.1;
    load * best.2 / target
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(workload: &Workload) -> Schedule {
        Schedule {
            seed: 7,
            hosts: 8,
            workload: workload.to_csv(),
            mean_gap: 0.0,
            warm_up: 2_000_000_000,
            window: 20_000_000_000,
            cool_down: 0,
            drain: 0,
        }
    }

    const SHAPE: RackShape = RackShape { hosts: 8, rate: 50_000_000, priorities: 8, buffer: 300_000 };

    #[test]
    fn the_load_is_what_was_asked_for() {
        for (name, load) in [("linux_w4", 0.8), ("linux_w3", 0.5), ("linux_w5", 0.3)] {
            let workload = Workload::builtin(name).unwrap();
            let mut schedule = schedule(&workload);
            let offered = calibrate(&mut schedule, &workload, &SHAPE, load);
            assert!((offered / load - 1.0).abs() < 0.03, "{name}: {offered} for {load}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_arrivals_and_never_to_oneself() {
        let workload = Workload::builtin("linux_w2").unwrap();
        let take = |host| Arrivals::new(workload.clone(), 3, 4, 1000.0, host).take(2000).collect::<Vec<_>>();
        assert_eq!(take(1), take(1));
        assert_ne!(take(1), take(2));
        for host in 0..4 {
            let arrivals = take(host);
            assert!(arrivals.iter().all(|arrival| arrival.to != host && arrival.to < 4));
            for other in (0..4).filter(|&other| other != host) {
                let share = arrivals.iter().filter(|arrival| arrival.to == other).count();
                assert!((500..830).contains(&share), "{share} of 2000 to host {other}");
            }
            let mean = arrivals.last().unwrap().at as f64 / 2000.0;
            assert!((900.0..1100.0).contains(&mean), "mean gap {mean}");
        }
    }
}
