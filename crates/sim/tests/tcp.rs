//! TCP and DCTCP on virtual time: what their windows, timers and queues do.

#[path = "tcp/line.rs"]
mod line;
#[path = "tcp/script.rs"]
mod script;

use homarus_sim::net::Hop;
use homarus_sim::transport::dctcp;
use homarus_sim::transport::tcp::{Congestion, Connections, Qdisc, TcpSetup};
use homarus_sim::{Rate, Time};
use line::Line;
use script::{Rack, Script, bytes_received, totals};

const FRAME: u64 = 1_538;
const RENO: TcpSetup = TcpSetup { congestion: Congestion::Reno, ..TcpSetup::LINUX };

fn micros(micros: u64) -> Time {
    Time::from_micros(micros)
}

#[test]
fn the_window_doubles_every_round_trip_in_slow_start() {
    let mut line = Line::new(&RENO, Rate::from_gbits(100), micros(100));
    line.send(0, 100_000_000, None);
    for (round_trips, window) in [(0, 10), (1, 20), (2, 40), (3, 80)] {
        // The last bytes of a round trip's segments arrive some microseconds after the first.
        line.run_until(micros(200 * round_trips + 50));
        assert_eq!(line.window(0), window, "after {round_trips} round trips");
    }
}

#[test]
fn a_single_loss_is_repaired_by_fast_retransmission_and_halves_the_window() {
    let mut line = Line::new(&RENO, Rate::from_gbits(10), micros(20));
    line.drop_segments(&[5]);
    line.send(0, 10 * 1_448, None);
    line.run_until(micros(1_000));
    let counts = line.hosts[0].counts();
    assert_eq!((counts.retransmissions, counts.timeouts, counts.probes), (1, 0, 0));
    assert_eq!(line.window(0), 8, "half of the 16 that it had grown to");
    // Ten frames, the round trip that tells of the loss, and the segment once more.
    let done = line.arrived[0];
    assert!(done > micros(60) && done < micros(80), "{done}");
}

#[test]
fn many_losses_in_a_window_are_repaired_in_two_round_trips() {
    let mut line = Line::new(&TcpSetup { initial_window: 40, ..RENO }, Rate::from_gbits(10), micros(50));
    line.drop_segments(&[3, 7, 8, 9, 15, 22]);
    line.send(0, 40 * 1_448, None);
    line.run_until(micros(10_000));
    let counts = line.hosts[0].counts();
    assert_eq!((counts.retransmissions, counts.timeouts), (6, 0));
    assert!(line.arrived[0] < micros(300), "{}", line.arrived[0]);
}

#[test]
fn a_lost_retransmission_is_noticed_by_what_was_sent_after_it() {
    let mut line = Line::new(&RENO, Rate::from_gbits(10), micros(20));
    // Number 10 is the retransmission of number 2; new segments follow it.
    line.drop_segments(&[2, 10]);
    line.send(0, 100 * 1_448, None);
    line.run_until(micros(100_000));
    let counts = line.hosts[0].counts();
    assert_eq!((counts.retransmissions, counts.timeouts), (2, 0));
    assert_eq!(line.arrived.len(), 1);
}

#[test]
fn a_lost_tail_waits_for_the_timeout_which_doubles() {
    let setup = TcpSetup { tail_loss_probe: false, delayed_ack: None, ..RENO };
    let mut line = Line::new(&setup, Rate::from_gbits(10), micros(20));
    line.drop_segments(&[9, 10]);
    line.send(0, 10 * 1_448, None);
    line.run_until(Time::from_secs(2.0));
    let counts = line.hosts[0].counts();
    assert_eq!((counts.timeouts, counts.retransmissions), (2, 2));
    let done = line.arrived[0];
    assert!(done > micros(600_000) && done < micros(600_200), "200 ms and then 400: {done}");
}

#[test]
fn a_probe_finds_a_lost_tail_within_milliseconds() {
    let mut line = Line::new(&RENO, Rate::from_gbits(10), micros(20));
    line.send(0, 1_448, None);
    line.run_until(micros(1_000));
    line.drop_segments(&[10]);
    line.send(0, 10 * 1_448, None);
    line.run_until(Time::from_secs(1.0));
    let counts = line.hosts[0].counts();
    assert_eq!((counts.probes, counts.retransmissions, counts.timeouts), (1, 1, 0));
    let done = line.arrived[1] - micros(1_000);
    assert!(done > micros(2_000) && done < micros(3_000), "two round trips and 2 ms: {done}");
}

#[test]
fn acknowledgements_are_delayed_but_not_for_ever() {
    let mut line = Line::new(&TcpSetup { ack_at_end: false, ..RENO }, Rate::from_gbits(10), micros(20));
    line.send(0, 5 * 1_448, None);
    line.run_until(micros(1_000));
    assert_eq!(line.hosts[1].counts().acks, 2, "one for two segments");
    line.run_until(micros(50_000));
    assert_eq!(line.hosts[1].counts().acks, 3, "the fifth after 40 ms");
    assert_eq!(line.hosts[0].counts().timeouts, 0);
}

#[test]
fn a_response_carries_the_acknowledgement_of_its_request() {
    let mut line = Line::new(&RENO, Rate::from_gbits(10), micros(20));
    line.send(0, 100, Some(100));
    line.run_until(micros(1_000));
    assert_eq!(line.answered.len(), 1);
    assert_eq!(line.hosts[1].counts().acks, 0);
    assert_eq!(line.hosts[1].connections().count(), 1, "on the same connection");
}

#[test]
fn marks_halve_a_classic_window_once_a_round_trip() {
    let mut line = Line::new(&TcpSetup { ecn: true, initial_window: 40, ..RENO }, Rate::from_gbits(10), micros(100));
    line.mark_segments(&[4, 5, 6, 7, 8, 9, 10, 20, 30]);
    line.send(0, 40 * 1_448, None);
    line.run_until(micros(1_000));
    assert_eq!(line.window(0), 22, "half of 44, once");
    assert_eq!(line.hosts[0].counts().retransmissions, 0);
}

#[test]
fn small_writes_share_segments_when_they_have_to_wait() {
    let mut line = Line::new(&RENO, Rate::from_gbits(10), micros(20));
    for _ in 0..1_000 {
        line.send(0, 100, None);
    }
    line.run_until(micros(10_000));
    assert_eq!(line.arrived.len(), 1_000);
    assert!(line.hosts[0].counts().segments < 85, "{}", line.hosts[0].counts().segments);
}

#[test]
fn incast_collapses_with_a_long_minimum_timeout_and_not_with_a_short_one() {
    // 32 servers answer with 64 KB each at the same time, through a port with room for 64 frames; one round after another.
    let goodput = |minimum_rto, delayed_ack| {
        let setup = TcpSetup { minimum_rto, delayed_ack, tail_loss_probe: false, ..RENO };
        let mut rack = Rack { hosts: 33, buffer: 64 * FRAME, ..Rack::default() }.cluster(&setup);
        let mut script = Script::incast(32, 65_536, 10);
        assert!(rack.run(&mut script, Time::from_secs(60.0)), "all rounds end");
        (32.0 * 65_536.0 * 8.0 * 10.0 / rack.now().as_secs() / 1e9, totals(&rack).timeouts)
    };
    let (collapsed, timeouts) = goodput(micros(200_000), Some(micros(40_000)));
    let (tuned, _) = goodput(micros(1_000), Some(micros(200)));
    assert!(timeouts > 10, "{timeouts}");
    assert!(collapsed < 0.9, "{collapsed} Gbit/s of 10");
    assert!(tuned > 5.0 * collapsed, "{tuned} Gbit/s against {collapsed}");
}

/// Two endless flows between two racks, through one port at a quarter of the hosts' rate: what both bring in the second half,
/// Gbit/s, and the mean and longest queue there, frames.
fn two_flows(setup: &TcpSetup, time: Time) -> ([f64; 2], f64, u64) {
    let room = Rack { hosts: 2, racks: 2, buffer: 400 * FRAME, mark_at: Some(20 * FRAME), ..Rack::default() };
    let mut racks = Rack { gbits: (40, 10), spines: 1, ..room }.cluster(setup);
    let mut script = Script::new(vec![(Time::ZERO, 0, 2, u32::MAX, None), (micros(1_000), 1, 3, u32::MAX, None)]);
    let half = Time::from_picos(time.as_picos() / 2);
    let port = |racks: &script::Hosts, now| {
        let mut ports = racks.network().ports(now).filter(|(hop, _)| *hop == Hop::RackUp);
        ports.next().expect("racks have ways up").1
    };
    racks.run(&mut script, half);
    let before = port(&racks, half);
    let sent = [bytes_received(&racks, 2, 0), bytes_received(&racks, 3, 1)];
    racks.run(&mut script, time);
    let after = port(&racks, time);
    let mean = (after.byte_nanos - before.byte_nanos) as f64 / (time - half).as_nanos() as f64;
    let rate = |bytes: u64| bytes as f64 * 8.0 / (time - half).as_nanos() as f64;
    let rates = [rate(bytes_received(&racks, 2, 0) - sent[0]), rate(bytes_received(&racks, 3, 1) - sent[1])];
    (rates, mean / FRAME as f64, after.longest / FRAME)
}

#[test]
fn dctcp_holds_the_queue_near_k_and_cubic_fills_the_buffer() {
    let (rates, mean, longest) = two_flows(&dctcp::SETUP, micros(400_000));
    assert!((8.0..25.0).contains(&mean), "DCTCP's mean queue with K 20: {mean}");
    assert!(longest < 100, "{longest}");
    assert!(rates[0] + rates[1] > 9.3, "and the link is full, 9.41 Gbit/s of data: {rates:?}");
    let (rates, mean, longest) = two_flows(&TcpSetup::LINUX, micros(400_000));
    assert!(mean > 200.0, "cubic's: {mean} of 400");
    assert!(longest >= 398, "{longest}");
    assert!(rates[0] + rates[1] > 9.3, "{rates:?}");
}

#[test]
fn two_flows_share_fairly() {
    for (name, setup) in [("DCTCP", dctcp::SETUP), ("Reno", RENO), ("cubic", TcpSetup::LINUX)] {
        let ([first, second], ..) = two_flows(&setup, Time::from_secs(2.0));
        let share = first / (first + second);
        assert!((0.35..0.65).contains(&share), "{name}: {share}");
    }
}

#[test]
fn a_short_message_waits_behind_a_long_one_in_a_pipelined_connection_and_not_in_a_pool() {
    let short = |connections, qdisc| {
        let mut rack =
            Rack { hosts: 2, ..Rack::default() }.cluster(&TcpSetup { connections, qdisc, ..TcpSetup::LINUX });
        let mut script = Script::new(vec![(Time::ZERO, 0, 1, 10_000_000, None), (micros(1_000), 0, 1, 100, Some(100))]);
        assert!(rack.run(&mut script, Time::from_secs(1.0)));
        script.time_of(1)
    };
    assert!(short(Connections::Pipelined, Qdisc::Fair) > micros(7_000), "10 MB take 8.5 ms");
    assert!(short(Connections::Pool { most: None }, Qdisc::Fair) < micros(15));
    assert!(short(Connections::Pool { most: Some(2) }, Qdisc::Fair) < micros(15));
    assert!(short(Connections::Pool { most: Some(1) }, Qdisc::Fair) > micros(7_000), "a pool of one");
    let fifo = short(Connections::Pool { most: None }, Qdisc::Fifo);
    assert!(fifo > micros(15) && fifo < micros(2_000), "a burst of the long one goes first: {fifo}");
}

#[test]
fn every_byte_and_every_message_arrives_exactly_once_whatever_the_settings_and_the_losses() {
    let mut retransmissions = 0;
    for seed in 0..200 {
        let (setup, rack) = script::random_settings(seed);
        let mut traces = Vec::new();
        for _ in 0..2 {
            let mut cluster = rack.cluster(&setup);
            let mut script = Script::random(rack.hosts * rack.racks, 150, seed);
            assert!(cluster.run(&mut script, Time::from_secs(20_000.0)), "seed {seed}: all messages arrive");
            script.assert_each_was_done_once();
            let counts = totals(&cluster);
            assert_eq!(counts.bytes_received, script.bytes(), "seed {seed}");
            retransmissions += counts.retransmissions;
            let network = cluster.network().counts();
            let in_flight = cluster.network().in_flight() as u64;
            assert_eq!(network.sent, network.delivered + network.dropped + in_flight, "seed {seed}");
            traces.push(cluster.network().trace());
        }
        assert_eq!(traces[0], traces[1], "seed {seed}: equal runs are equal");
    }
    assert!(retransmissions > 10_000, "much was lost: {retransmissions}");
}
