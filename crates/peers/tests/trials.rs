//! Every library does every job of the trial protocol.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_homarus-peers"));
    command.args(arguments);
    command
}

/// Value of `key` in a line of JSON: up to the next quote, comma or brace.
fn field<'a>(line: &'a str, key: &str) -> &'a str {
    let (_, rest) = line.split_once(&format!("\"{key}\":")).unwrap_or_else(|| panic!("{key} in {line}"));
    rest.trim_start_matches('"').split(['"', ',', '}']).next().unwrap_or_default()
}

fn trial(transport: &str, job: &[&str]) -> u64 {
    let spec = [&["--mode", "tokio", "--warmup-ms", "10", "--measure-ms", "50"], job].concat();
    let mut server = program(&[&[transport, "serve", "127.0.0.1:0"], &spec[..]].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut ready = String::new();
    BufReader::new(server.stdout.take().expect("piped")).read_line(&mut ready).expect("a line");
    let client = program(&[&[transport, "drive", field(&ready, "listening")], &spec[..]].concat()).output();
    // Closing its standard input ends it.
    drop(server.stdin.take());
    let served = server.wait().expect("it ends");
    let client = client.expect("the program starts");
    assert!(client.status.success() && served.success(), "{transport}: {}", String::from_utf8_lossy(&client.stderr));
    field(&String::from_utf8_lossy(&client.stdout), "rpcs").parse().expect("a number")
}

#[test]
fn every_library_does_every_job() {
    let jobs: [&[&str]; 3] = [
        &["--job", "rtt", "--size", "100"],
        &["--job", "rate", "--size", "100", "--outstanding", "64"],
        &["--job", "bulk", "--size", "1000000", "--outstanding", "4"],
    ];
    for transport in ["quinn", "tonic", "tarpc"] {
        for job in jobs {
            assert!(trial(transport, job) > 0, "{transport} {job:?}");
        }
    }
}
