use crate::dice::Dice;
use crate::net::{HostSpec, LinkSpec};
use homarus_proto::{Config, Framing};
use std::time::Duration;

/// Hosts, whether any bound is tight, and whether switch ports may overflow.
pub(super) fn hosts(dice: &mut Dice, number: usize) -> (Vec<HostSpec>, bool, bool) {
    let tight = dice.chance(0.25);
    let links = Links::draw(dice);
    let framing = if dice.chance(0.25) { Framing::Ip } else { Framing::Udp };
    let config = |dice: &mut Dice| Config { framing, ..config(dice, tight) };
    let common = config(dice);
    let alike = dice.chance(0.5);
    let mut hosts: Vec<HostSpec> = (0..number)
        .map(|_| HostSpec {
            config: if alike { common.clone() } else { config(dice) },
            link: links.one(dice),
            clock_ahead: Duration::from_nanos(dice.spread(1, 1 << 50)),
            seed: dice.number(),
            takes_datagrams: dice.chance(0.3),
        })
        .collect();
    // No switch is sold whose ports cannot hold a few packets of the network they are made for.
    let longest = hosts.iter().map(|host| host.config.mtu).max().unwrap_or_default();
    hosts.iter_mut().for_each(|host| host.link.port_buffer = host.link.port_buffer.max(PACKETS_A_PORT * longest));
    (hosts, tight, links.is_shallow())
}

/// Bytes of a RESEND on the wire.
const QUESTION: u64 = 103;

/// Raises `resend_max` until the links can bear the questions about `calls` outstanding RPCs with a quarter of their
/// rate: questions overtake data, so whoever configures more has configured a collapse.
pub(super) fn bear_questions(hosts: &mut [HostSpec], calls: u64) {
    let rates = hosts.iter().flat_map(|host| [host.link.up_rate, host.link.down_rate]).flatten();
    let Some(slowest) = rates.min() else { return };
    let least = Duration::from_nanos(4 * calls * QUESTION * 8_000_000_000 / slowest);
    for config in hosts.iter_mut().map(|host| &mut host.config) {
        config.resend_max = config.resend_max.max(least);
        config.dead_after = config.dead_after.max(3 * config.resend_max);
    }
}

/// What the links have in common.
struct Links {
    rate: Option<u64>,
    alike: bool,
    delay: Duration,
    port_buffer: usize,
}

const MBIT: u64 = 1_000_000;

/// A switch's buffer that never overflows.
const DEEP: usize = 64 << 20;

/// Packets that the shallowest switch port holds.
const PACKETS_A_PORT: usize = 4;

impl Links {
    fn draw(dice: &mut Dice) -> Links {
        Links {
            rate: dice.chance(0.6).then(|| dice.pick(&[10, 50, 1_000, 10_000, 100_000]) * MBIT),
            alike: dice.chance(0.7),
            delay: Duration::from_nanos(dice.spread(100, 10_000_000)),
            port_buffer: if dice.chance(0.1) { dice.spread(20_000, 1_000_000) as usize } else { DEEP },
        }
    }

    fn is_shallow(&self) -> bool {
        self.rate.is_some() && self.port_buffer < DEEP
    }

    fn one(&self, dice: &mut Dice) -> LinkSpec {
        let mut rate = || self.rate.map(|rate| if self.alike { rate } else { dice.pick(&[rate, rate / 10, rate * 2]) });
        LinkSpec {
            up_rate: rate(),
            down_rate: rate(),
            delay: self.delay,
            port_buffer: self.port_buffer,
            send_buffer: 212_992,
        }
    }
}

fn config(dice: &mut Dice, tight: bool) -> Config {
    let mut config = Config { pacing: dice.chance(0.3), ..Config::default() };
    if dice.chance(0.5) {
        schedule(dice, &mut config);
    }
    if dice.chance(0.5) {
        timers(dice, &mut config);
    }
    if tight {
        bounds(dice, &mut config);
    }
    config.validate().expect("drawn within what is valid");
    config
}

fn schedule(dice: &mut Dice, config: &mut Config) {
    config.mtu = dice.pick(&[200, 576, 1_280, 1_500, 9_000, 65_535]);
    config.unscheduled_start = dice.pick(&[1, 1_000, 10_000, 40_000, 200_000]);
    config.unscheduled_min = dice.pick(&[1, 3_000, 10_000]);
    config.unscheduled_max = config.unscheduled_min + dice.pick(&[0, 1, 50_000, 1_000_000]);
    config.overcommitment = dice.within(1, 64) as usize;
    config.max_incoming = dice.spread(2_000, 2_000_000) as u32;
    config.grant_fifo_percent = dice.pick(&[0, 5, 50]);
    config.send_fifo_percent = dice.pick(&[0, 5, 50]);
    config.priorities = dice.within(1, 8) as u8;
    config.incast_optimisation = dice.chance(0.5);
    config.incast_threshold = dice.pick(&[0, 1, 5, 32]);
    config.incast_unscheduled = dice.pick(&[1, 400, 3_000]);
}

fn timers(dice: &mut Dice, config: &mut Config) {
    config.resend_start = Duration::from_micros(dice.spread(100, 50_000));
    config.resend_min = Duration::from_micros(dice.spread(10, 5_000));
    config.resend_max = config.resend_min + Duration::from_micros(dice.spread(10_000, 300_000));
    config.dead_after = config.resend_max + Duration::from_millis(dice.spread(500, 5_000));
    config.default_deadline = dice.pick(&[None, Some(Duration::from_secs(60)), Some(Duration::from_secs(1))]);
}

/// Bounds so small that requests meet them.
fn bounds(dice: &mut Dice, config: &mut Config) {
    let mut small = |normal: usize, low: u64, high: u64| {
        if dice.chance(0.4) { dice.spread(low, high) as usize } else { normal }
    };
    config.max_client_rpcs = small(config.max_client_rpcs, 1, 20);
    config.max_server_rpcs = small(config.max_server_rpcs, 1, 20);
    config.max_peers = small(config.max_peers, 1, 10);
    config.max_receive_buffer = small(config.max_receive_buffer, 1_000, 300_000);
    config.max_send_buffer = small(config.max_send_buffer, 1_000, 300_000);
    config.max_gaps = small(config.max_gaps, 1, 8);
    config.max_message_len = small(config.max_message_len as usize, 1, 50_000) as u32;
}
