//! `homarus serve` and `homarus call` against each other.

use crate::program::{Server, homarus, interrupt, run};
use serde_json::Value;
use std::io::Read;
use std::process::Stdio;

fn call(server: &Server, args: &[&str]) -> Value {
    let ended = run(&[&["call", &server.address, "--json"], args].concat());
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    serde_json::from_str(&ended.stdout).expect("JSON")
}

#[test]
fn every_api_and_size_gets_the_right_contents_back() {
    let server = Server::start();
    let cases: [(&[&str], u64, &str); 6] = [
        (&["--count", "200"], 200, "async"),
        (&["--count", "200", "--concurrency", "32"], 200, "async"),
        (&["--count", "100", "--blocking", "--concurrency", "3"], 100, "blocking"),
        (&["--count", "100", "--spin"], 100, "spin"),
        (&["--count", "5", "--size", "1MB", "--concurrency", "2"], 5, "async"),
        (&["--count", "3", "--size", "0"], 3, "async"),
    ];
    let mut all = 0;
    for (args, count, api) in cases {
        let report = call(&server, args);
        assert_eq!(report["schema"], 1);
        assert_eq!(report["answered"], count, "{args:?}");
        assert_eq!(report["api"], api);
        assert_eq!(report["interrupted"], false);
        assert!(report["latency"]["p50_us"].as_f64() <= report["latency"]["max_us"].as_f64());
        all += count;
    }
    let (total, code) = server.interrupt();
    assert_eq!(code, Some(0));
    assert_eq!(total["event"], "total");
    assert_eq!(total["requests"], all);
}

#[test]
fn the_table_names_every_percentile() {
    let server = Server::start();
    let ended = run(&["call", &server.address, "--count", "20"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for row in ["20 answered", "P50", "P90", "P99 ", "P99.9", "longest", "rate"] {
        assert!(ended.stdout.contains(row), "{row} is missing in:\n{}", ended.stdout);
    }
}

#[test]
fn nobody_there_is_a_clear_failure() {
    // Bound and closed again, so that nobody listens there.
    let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("127.0.0.1:{port}");
    for api in [&[][..], &["--blocking"], &["--spin"]] {
        let ended = run(&[&["call", &address, "--deadline", "1"], api].concat());
        ended.is_clear_failure("1 failed: the peer cannot be reached");
    }
}

#[test]
fn ctrl_c_ends_a_run_and_shows_what_was_measured() {
    let server = Server::start();
    for api in [&[][..], &["--blocking"], &["--spin"]] {
        let arguments = [&["call", &server.address, "--json", "--count", "1000000000"], api].concat();
        let mut child = homarus(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        interrupt(&mut child);
        let mut stdout = String::new();
        child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1), "{api:?}");
        let report: Value = serde_json::from_str(&stdout).expect("JSON");
        assert_eq!(report["interrupted"], true);
        assert_eq!(report["failures"], serde_json::json!({}));
    }
}

#[test]
fn output_that_nobody_reads_is_no_error() {
    let mut child = homarus(&["serve", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    // Its first line has been written already, or fails now; the last one fails for certain.
    interrupt(&mut child);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert_eq!(stderr, "");
}
