//! `homarus sim`.

use crate::program::run;
use std::fs;

fn scenario(name: &str, text: &str) -> String {
    let file = std::env::temp_dir().join(format!("homarus-{}-{name}.toml", std::process::id()));
    fs::write(&file, text).expect("a file in the temporary folder");
    file.to_str().expect("a path in UTF-8").to_owned()
}

const SMALL: &str = r#"
name = "small"
[cluster]
racks = 2
hosts_per_rack = 4
spines = 2
[load]
kind = "poisson"
workload = "w3"
load = 0.6
messages = 500
warm_up_us = 100
[[transports]]
kind = "homa"
[[transports]]
kind = "dctcp"
[[transports]]
kind = "roce"
[[transports]]
kind = "srpt"
"#;

/// The same scenario gives the same results, the hash of all that happened included, whoever runs first.
#[test]
fn a_scenario_is_played_by_all_transports_alike_each_time() {
    let file = scenario("small", SMALL);
    let outcomes: Vec<serde_json::Value> = (0..2)
        .map(|_| {
            let ended = run(&["sim", "run", &file, "--json", "-"]);
            ended.is_success();
            serde_json::from_str(&ended.stdout).expect("JSON alone on standard output")
        })
        .collect();
    fs::remove_file(&file).expect("removed");
    assert_eq!(outcomes[0], outcomes[1]);
    let transports = outcomes[0]["outcomes"].as_array().expect("outcomes");
    assert_eq!(transports.len(), 4);
    let p99 = |index: usize| transports[index]["ranges"][2]["p99"].as_f64().expect("the P99 of all messages");
    for outcome in transports {
        assert_eq!(outcome["ranges"][2]["count"], 500, "{outcome}");
    }
    assert!(p99(3) <= p99(0) && p99(0) < p99(1), "oracle {}, Homa {}, DCTCP {}", p99(3), p99(0), p99(1));
}

#[test]
fn a_wrong_scenario_is_told_by_line_key_and_what_was_expected() {
    for (name, from, to, told) in [
        ("key", "load = 0.6", "laod = 0.6", ["line 10", "laod", "messages"]),
        ("kind", "kind = \"roce\"", "kind = \"rocky\"", ["line 18", "rocky", "roce"]),
        ("value", "load = 0.6", "load = 1.6", ["load.load", "1.6", "0.99"]),
        ("workload", "\"w3\"", "\"w9\"", ["load.workload", "w9", "linux_w4"]),
        ("type", "racks = 2", "racks = \"two\"", ["line 4", "two", "u32"]),
    ] {
        let file = scenario(name, &SMALL.replace(from, to));
        let ended = run(&["sim", "run", &file]);
        fs::remove_file(&file).expect("removed");
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        for word in told {
            assert!(ended.stderr.contains(word), "{name}: {word:?} is not in {}", ended.stderr);
        }
    }
}

#[test]
fn an_incast_shows_what_the_optimisation_is_for() {
    let ended = run(&[
        "sim",
        "incast",
        "--requests",
        "100",
        "--rounds",
        "2",
        "--transports",
        "homa,homa-no-incast",
        "--json",
        "-",
    ]);
    ended.is_success();
    let record: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let drops = |index: usize| record["outcomes"][index]["drops"].as_u64().expect("drops");
    assert!(drops(0) == 0 && drops(1) > 100, "{} and {} drops", drops(0), drops(1));
}
