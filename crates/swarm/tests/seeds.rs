//! Some hundred random scenarios; `homarus-swarm --seeds 100000` plays many more.

use homarus_swarm::run::{Options, run_seed};

fn play(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if let Err(violation) = run_seed(seed, Options::default()) {
            panic!("{violation}\nrepeat with: cargo run --release -p homarus-swarm -- --seed {seed} --trace");
        }
    }
}

#[test]
fn first_hundred() {
    play(0..100);
}

#[test]
fn second_hundred() {
    play(100..200);
}

#[test]
fn third_hundred() {
    play(200..300);
}

/// Seeds that once showed a bug, and what it was.
#[test]
fn found_before() {
    const FOUND: [(u64, &str); 19] = [
        (1, "two silent RPCs passed the turn to ask to each other for ever"),
        (3957, "NEED_ACK kept a client from asking for a lost response"),
        (3009, "an UNKNOWN that was late ended an RPC whose response was arriving"),
        (731, "a request was executed twice because its client had been forgotten"),
        (399, "a forged response kept the true one out for ever"),
        (579, "a request longer than the server's buffer was sent again and again"),
        (17, "a full server let its clients start over again and again"),
        (986, "a request longer than the server accepts never ended"),
        (875, "a request that was too long went back and forth with UNKNOWN as fast as the link"),
        (91680, "a client that had been stopped had its request executed a second time"),
        (3212, "a client counted as dead ten milliseconds after it was first asked"),
        (66952, "a lost request waited for seconds while others' responses trickled in"),
        (22579, "hundreds of gaps were asked for again and again though the sender had nothing more"),
        (1861, "NEED_ACK and RESEND drove each other to flood a slow link"),
        (36885, "requests that waited at a slow port were sent again and again behind themselves"),
        (1775, "a host's first request paid for a long reply to a stranger"),
        (285302, "a request that had arrived meanwhile kept the turn to ask"),
        (205622, "three late UNKNOWNs that answered one question ended a request"),
        (256860, "packets of 116 bytes on links of 1 Mbit/s are more than were foreseen for a run"),
    ];
    for (seed, what) in FOUND {
        if let Err(violation) = run_seed(seed, Options::default()) {
            panic!("seed {seed} ({what}): {violation}");
        }
    }
}
