//! `homarus bench`: the trials run and the record is whole. What they measure decides nothing here.

use crate::program::run;
use serde_json::Value;

/// A run of one short round.
fn bench(only: &str) -> Value {
    let ended = run(&["bench", "--only", only, "--rounds", "1", "--measure", "20", "--no-peers", "--json", "-"]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    serde_json::from_str(&ended.stdout).expect("JSON")
}

fn transports(record: &Value) -> Vec<(String, bool)> {
    let samples = record["tables"][0]["samples"].as_array().expect("samples");
    samples
        .iter()
        .map(|samples| {
            let measured = samples["runs"][0]["measured"]["rpcs"].as_u64().is_some_and(|rpcs| rpcs > 0);
            (samples["transport"].as_str().expect("a name").to_owned(), measured)
        })
        .collect()
}

#[test]
fn round_trips_are_measured_against_udp_and_tcp() {
    for kind in ["blocking, P50", "spinning, P50"] {
        let record = bench(kind);
        assert_eq!(record["schema"], 1);
        let expected = ["homarus", "udp", "tcp"].map(|name| (name.to_owned(), true));
        assert_eq!(transports(&record), expected, "{kind}");
        let bar = &record["tables"][0]["rows"][0]["bars"][0];
        assert!(bar["value"].as_f64().is_some_and(|ratio| ratio > 0.0), "{bar}");
        assert_eq!(bar["must"], if kind.starts_with("blocking") { 1.2 } else { 1.4 });
    }
}

#[test]
fn every_own_transport_does_every_job() {
    for kind in ["tokio, P50", "64 outstanding", "1 MB", "core alone"] {
        let record = bench(kind);
        assert!(record["machine"]["kernel"].as_str().is_some_and(|kernel| !kernel.is_empty()));
        for (transport, measured) in transports(&record) {
            assert!(measured, "{kind}: {transport} measured nothing");
        }
    }
}

#[test]
fn a_veth_pair_is_measured_with_offloads_on_and_off() {
    let ended =
        run(&["bench", "--veth", "--only", "1 MB", "--rounds", "1", "--measure", "20", "--no-peers", "--json", "-"]);
    if ended.stderr.contains("namespace") || ended.stderr.contains("install") {
        println!("SKIPPED: no veth pair can be made here: {}", ended.stderr.trim());
        return;
    }
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let record: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let offloads: Vec<_> = record["tables"].as_array().unwrap().iter().map(|table| &table["offloads"]).collect();
    assert_eq!(offloads, ["on", "off"]);
    for table in record["tables"].as_array().unwrap() {
        assert_eq!(table["link"], "veth");
        assert!(table["rows"][0]["homarus"].as_f64().is_some_and(|rate| rate > 0.0), "{table}");
    }
}

#[test]
fn a_selection_of_nothing_names_the_choices() {
    run(&["bench", "--only", "pigeons"]).is_clear_failure("round trip of 100 B, blocking, P50");
}

#[test]
fn a_trial_of_nothing_names_the_transports() {
    let ended =
        run(&["bench-trial", "pigeons", "serve", "127.0.0.1:0", "--mode", "blocking", "--job", "rtt", "--size", "100"]);
    ended.is_clear_failure("expected one of homarus, core, udp, tcp");
}
