//! `serve` and `call` over IP protocol 146.

use crate::namespace::enter;
use crate::program::{Ended, Server, homarus, run};
use serde_json::Value;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

#[test]
fn one_server_over_udp_and_ip() {
    if !enter("over_ip::one_server_over_udp_and_ip", "") {
        return;
    }
    let mut server = Server::start_with(&["127.0.0.1:4000", "homa://127.0.0.1:4000", "homa://[::1]:4000"]);
    let addresses = [server.address.clone(), server.next_address(), server.next_address()];
    assert_eq!(addresses, ["127.0.0.1:4000", "homa://127.0.0.1:4000", "homa://[::1]:4000"]);
    for address in &addresses {
        for args in [&["--size", "1MB", "--count", "3"][..], &["--count", "60", "--spin"], &["-n", "60", "-c", "20"]] {
            let ended = run(&[&["call", address, "--json"], args].concat());
            ended.is_success();
            let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
            assert_eq!(report["server"], **address);
        }
    }
    let (total, code) = server.interrupt();
    assert_eq!(code, Some(0));
    assert_eq!(total["requests"], 3 * (3 + 60 + 60));
}

#[test]
fn what_is_too_long_for_linux_is_refused() {
    if !enter("over_ip::what_is_too_long_for_linux_is_refused", "") {
        return;
    }
    let server = Server::start_with(&["homa://127.0.0.1:0"]);
    run(&["call", &server.address, "--size", "1MB", "--count", "1"]).is_success();
    let ended = run(&["call", &server.address, "--size", "1000001", "--count", "1"]);
    ended.is_clear_failure("message of 1000001 bytes exceeds the 1000000 that hosts with the Linux Homa module accept");
}

#[test]
fn a_port_is_served_once() {
    if !enter("over_ip::a_port_is_served_once", "") {
        return;
    }
    let server = Server::start_with(&["homa://127.0.0.1:4000"]);
    let ended = run(&["serve", "homa://0.0.0.0:4000"]);
    ended.is_clear_failure("cannot bind homa://0.0.0.0:4000: Homa port 4000 belongs to another endpoint of this host");
    drop(server);
}

#[test]
fn a_host_without_homa_is_a_clear_failure() {
    let link = "ip link add name near type veth peer name far netns $router
        ip addr add 10.77.0.1/24 dev near; ip link set near up
        nsenter --target $router --net sh -c 'ip addr add 10.77.0.2/24 dev far; ip link set far up'";
    if enter("over_ip::a_host_without_homa_is_a_clear_failure", link) {
        let ended = run(&["call", "homa://10.77.0.2:4000", "--deadline", "5"]);
        ended.is_clear_failure("the peer cannot be reached: the host does not accept the protocol");
    }
}

#[test]
fn without_the_capability_the_error_says_what_to_do() {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    for args in [["serve", "homa://127.0.0.1:0"], ["call", "homa://127.0.0.1:1"]] {
        let output = match is_root {
            true => {
                let mut without = Command::new("setpriv");
                without.args(["--bounding-set", "-net_raw", env!("CARGO_BIN_EXE_homarus")]).args(args).output()
            }
            false => homarus(&args).output(),
        };
        match output {
            Ok(output) => Ended::from(output).is_clear_failure("lacks the capability CAP_NET_RAW"),
            Err(error) => println!("SKIPPED: cannot drop the capability by setpriv: {error}"),
        }
    }
}
