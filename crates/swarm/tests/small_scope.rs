//! Every order, drop and duplicate of the first packets of one RPC.
//!
//! A path is a list of choices: which of the packets under way comes next, and whether it arrives, gets lost or arrives
//! twice, or whether time passes instead. All paths up to a length are taken, with few losses and duplicates on each, and
//! every one of them must end with the right response, executed once, and nothing left.

use homarus_proto::Config;
use homarus_swarm::cases::{Duel, DuelPlan, Exchange};
use homarus_swarm::content::Message;
use std::time::Duration;

/// Walks through all paths in the order of a counter whose digits have different bases.
#[derive(Default)]
struct Paths {
    /// For each step so far: the choice taken, and how many there were.
    taken: Vec<(usize, usize)>,
    step: usize,
}

impl Paths {
    fn choose(&mut self, choices: usize) -> usize {
        if self.step == self.taken.len() {
            self.taken.push((0, choices));
        }
        let (choice, of) = self.taken[self.step];
        assert_eq!(of, choices, "the same choices lead to the same state");
        self.step += 1;
        choice
    }

    /// Moves on to the next path; false after the last.
    fn advance(&mut self) -> bool {
        self.step = 0;
        while let Some((choice, of)) = self.taken.pop() {
            if choice + 1 < of {
                self.taken.push((choice + 1, of));
                return true;
            }
        }
        false
    }
}

/// What may go wrong on one path.
#[derive(Clone, Copy)]
struct Scope {
    steps: usize,
    losses: usize,
    duplicates: usize,
}

fn walk(plan: &DuelPlan, scope: Scope) -> u64 {
    let mut paths = Paths::default();
    let mut count = 0;
    loop {
        let mut duel = Duel::new(plan);
        play(&mut duel, scope, &mut paths);
        duel.finish();
        assert!(duel.all_succeeded(), "path {:?}: {:?}", paths.taken, duel.outcomes());
        count += 1;
        if !paths.advance() {
            return count;
        }
    }
}

fn play(duel: &mut Duel, scope: Scope, paths: &mut Paths) {
    let Scope { steps, mut losses, mut duplicates } = scope;
    for _ in 0..steps {
        let flying = duel.flying();
        // Time, or the arrival, the loss or the duplication of one of the packets.
        let choice = paths.choose(1 + flying * (1 + usize::from(losses > 0) + usize::from(duplicates > 0)));
        let Some(choice) = choice.checked_sub(1) else {
            duel.wait(Duration::from_millis(300));
            continue;
        };
        let packet = choice % flying;
        match choice / flying {
            0 => duel.deliver(packet),
            1 if losses > 0 => {
                losses -= 1;
                duel.drop_packet(packet);
            }
            _ => {
                duplicates -= 1;
                duel.duplicate(packet);
            }
        }
    }
}

fn plan(request: usize, response: usize, config: Config) -> DuelPlan {
    let exchange = Exchange { client: 0, request: Message::real(1, request), response: Message::real(2, response) };
    DuelPlan { config, exchanges: vec![exchange] }
}

#[test]
fn one_packet_each_way() {
    let scope = Scope { steps: 7, losses: 3, duplicates: 2 };
    let paths = walk(&plan(100, 100, Config::default()), scope);
    println!("{paths} paths");
    assert!(paths > 5_000);
}

#[test]
fn empty_messages() {
    let scope = Scope { steps: 6, losses: 2, duplicates: 2 };
    let paths = walk(&plan(0, 0, Config::default()), scope);
    println!("{paths} paths");
    assert!(paths > 1_000);
}

#[test]
fn three_packets_each_way() {
    let scope = Scope { steps: 5, losses: 2, duplicates: 1 };
    let paths = walk(&plan(4_000, 4_000, Config::default()), scope);
    println!("{paths} paths");
    assert!(paths > 5_000);
}

#[test]
fn request_with_grants() {
    let config = Config { unscheduled_start: 1_000, unscheduled_min: 1_000, max_incoming: 3_000, ..Config::default() };
    let scope = Scope { steps: 6, losses: 2, duplicates: 1 };
    let paths = walk(&plan(5_000, 10, config), scope);
    println!("{paths} paths");
    assert!(paths > 1_000);
}

#[test]
fn response_with_grants() {
    let config = Config { unscheduled_start: 1_000, unscheduled_min: 1_000, max_incoming: 3_000, ..Config::default() };
    let scope = Scope { steps: 6, losses: 2, duplicates: 1 };
    let paths = walk(&plan(10, 5_000, config), scope);
    println!("{paths} paths");
    assert!(paths > 1_000);
}

#[test]
fn two_requests_at_once() {
    let mut plan = plan(100, 100, Config::default());
    plan.exchanges.push(Exchange { client: 1, ..plan.exchanges[0] });
    let scope = Scope { steps: 5, losses: 2, duplicates: 1 };
    let paths = walk(&plan, scope);
    println!("{paths} paths");
    assert!(paths > 1_000);
}
