//! `serve` and `call` by way of the kernel's Homa module.

use crate::program::{Server, homarus, run};

#[test]
fn the_module_echoes_or_its_absence_is_explained() {
    let absent = "this kernel has no Homa module: load it, or use udp:// or homa://";
    let tried = run(&["call", "kernel://127.0.0.1:4003", "--count", "1", "--deadline", "1"]);
    if tried.stderr.contains(absent) {
        println!("SKIPPED: {absent}");
        tried.is_clear_failure("cannot bind kernel://0.0.0.0:0: ");
        for address in ["kernel://127.0.0.1:4003", "kernel://[::1]:4003"] {
            run(&["serve", address]).is_clear_failure(absent);
        }
        return;
    }
    let server = Server::start_with(&["kernel://127.0.0.1:4003"]);
    assert_eq!(server.address, "kernel://127.0.0.1:4003");
    for args in [&["--size", "1MB", "--count", "3"][..], &["--count", "60", "--spin"], &["-n", "60", "-c", "20"]] {
        run(&[&["call", &server.address], args].concat()).is_success();
    }
}

#[test]
fn what_the_help_says() {
    for subcommand in ["serve", "call"] {
        let help = homarus(&[subcommand, "--help"]).output().expect("the program runs");
        assert!(String::from_utf8_lossy(&help.stdout).contains("kernel://HOST:PORT"), "{subcommand}");
    }
}
