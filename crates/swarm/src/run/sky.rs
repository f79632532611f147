use super::Plant;
use super::forge;
use crate::dice::Dice;
use crate::net::{Fate, Packet, World};
use crate::scenario::{Scenario, Weather};
use homarus_proto::wire::Header;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;

/// Ids remembered for forgeries.
const RECENT_IDS: usize = 16;

/// The network's temper, shared by the run, which changes it, and the world's judge, which asks it.
#[derive(Debug)]
pub(super) struct Sky {
    weather: Weather,
    dice: Dice,
    /// Addresses that nothing reaches now, once for each blackout.
    dark: Vec<SocketAddr>,
    addresses: Vec<SocketAddr>,
    recent_ids: VecDeque<u64>,
    /// Ids that hostile packets bore since they were last asked for.
    tainted: Vec<u64>,
    /// The planted bug.
    repeats_requests: bool,
}

pub(super) type SharedSky = Rc<RefCell<Sky>>;

impl Sky {
    /// Makes it, and lets it judge what happens in `world`.
    pub(super) fn over(world: &mut World, scenario: &Scenario, plant: Option<Plant>) -> SharedSky {
        let sky = Rc::new(RefCell::new(Sky {
            weather: scenario.weather,
            dice: Dice::new(scenario.seed, 2),
            dark: Vec::new(),
            addresses: (0..world.host_count()).map(|host| world.address(host)).collect(),
            recent_ids: VecDeque::new(),
            tainted: Vec::new(),
            repeats_requests: plant == Some(Plant::OldRequestAgain),
        }));
        let judge = Rc::clone(&sky);
        world.set_judge(Box::new(move |_, packet| judge.borrow_mut().judge(packet)));
        sky
    }

    /// From now on every packet arrives, once and in order.
    pub(super) fn clear(&mut self) {
        self.weather = Weather::default();
        self.dark.clear();
    }

    pub(super) fn darken(&mut self, address: SocketAddr) {
        self.dark.push(address);
    }

    pub(super) fn lighten(&mut self, address: SocketAddr) {
        if let Some(index) = self.dark.iter().position(|dark| *dark == address) {
            self.dark.swap_remove(index);
        }
    }

    pub(super) fn take_tainted(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.tainted)
    }

    fn judge(&mut self, packet: &Packet) -> Fate {
        if self.dark.contains(&packet.to()) || self.dark.contains(&packet.from) {
            return Fate::Drop;
        }
        if self.repeats_requests
            && let Some(again) = forge::under_another_id(packet)
        {
            self.repeats_requests = false;
            return Fate::With(Box::new(again));
        }
        let weather = self.weather;
        if !weather.is_honest()
            && let Some(fate) = self.hostile(packet)
        {
            return fate;
        }
        if self.dice.chance(weather.loss) {
            Fate::Drop
        } else if self.dice.chance(weather.duplication) {
            Fate::Twice(self.dice.time(weather.late_by))
        } else if self.dice.chance(weather.lateness) {
            Fate::Late(self.dice.time(weather.late_by))
        } else {
            Fate::Deliver
        }
    }

    fn hostile(&mut self, packet: &Packet) -> Option<Fate> {
        self.remember(packet);
        if self.dice.chance(self.weather.mutation) {
            let mutant = forge::mutate(&mut self.dice, packet, self.recent_ids.make_contiguous());
            self.taint(packet);
            self.taint(&mutant);
            return Some(Fate::Instead(Box::new(mutant)));
        }
        if self.dice.chance(self.weather.forgery.min(1.0)) {
            let ids = self.recent_ids.make_contiguous();
            let forged = forge::forge(&mut self.dice, &self.addresses, ids);
            self.taint(&forged);
            return Some(Fate::With(Box::new(forged)));
        }
        None
    }

    fn remember(&mut self, packet: &Packet) {
        if let Ok(header) = Header::parse(packet.transmit.header()) {
            if self.recent_ids.len() == RECENT_IDS {
                self.recent_ids.pop_front();
            }
            self.recent_ids.push_back(header.sender_id);
        }
    }

    fn taint(&mut self, packet: &Packet) {
        self.tainted.extend(forge::ids_in(&packet.to_vec()));
    }
}
