//! What `--capture` writes, `dissect` reads.

use crate::namespace::enter;
use crate::program::{Server, run};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// A file that is gone when this is.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("homarus-{}-{name}.pcapng", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Calls a server on `address` with captures at both ends, and checks what they say.
fn check(address: &str) {
    let (near, far) = (Scratch::new("near"), Scratch::new("far"));
    let server = Server::start_with(&[address, "--capture", far.path()]);
    let calls = ["--size", "20000", "--count", "7", "--capture", near.path()];
    run(&[&["call", &server.address][..], &calls].concat()).is_success();
    assert_eq!(server.interrupt().1, Some(0));
    for file in [&near, &far] {
        let ended = run(&["dissect", file.path(), "--json"]);
        ended.is_success();
        let events: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let packets: Vec<&Value> = events.iter().filter(|event| event["event"] == "packet").collect();
        assert_eq!(packets.len() + 2, events.len(), "start, packets, summary: {}", ended.stdout);
        assert!(packets.iter().all(|packet| packet["notes"].as_array().is_none_or(Vec::is_empty)), "{}", ended.stdout);
        if address.starts_with("homa") {
            assert!(packets.iter().all(|packet| packet["checksum"] == "complete"), "{}", ended.stdout);
        }
        let summary = run(&["dissect", file.path(), "--summary"]);
        assert!(summary.stdout.contains("7 complete"), "{}", summary.stdout);
    }
    tshark(&near);
}

/// tshark reads the file, if there is one.
fn tshark(file: &Scratch) {
    let fields = ["-T", "fields", "-e", "frame.protocols", "-e", "ip.checksum.status", "-e", "udp.checksum.status"];
    let options = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    match Command::new("tshark").args(["-n", "-r", file.path()]).args(options).args(fields).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let lines = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(lines.lines().count() > 14, "{lines}");
            // Status 0 is a wrong checksum.
            assert!(lines.lines().all(|line| !line.split('\t').skip(1).any(|status| status == "0")), "{lines}");
        }
        Err(why) => println!("SKIPPED: tshark cannot be run: {why}"),
    }
}

#[test]
fn over_udp() {
    check("127.0.0.1:0");
}

#[test]
fn over_ip() {
    if enter("capture::over_ip", "") {
        check("homa://127.0.0.1:0");
        check("homa://[::1]:0");
    }
}
