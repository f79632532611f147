//! `homarus compare` as a user meets it. What needs namespaces is skipped aloud where there are none.

use crate::compare_rack::{Marked, Scratch, skipped_without_rack};
use crate::program::{Ended, homarus, run};
use std::process::Command;
use std::time::Duration;

#[test]
fn what_cannot_be_asked_for_is_a_usage_error_that_says_what_is_expected() {
    let cases: [(&[&str], &str); 10] = [
        (&["--hosts", "0"], "hosts is 0: expected 2 to 64"),
        (&["--load", "2.0"], "expected 0.01 to 0.95, or 1% to 95%"),
        (&["--rate", "10gb"], "expected bits per second such as 50mbit"),
        (&["--rate", "999tbit"], "expected bits per second such as 50mbit"),
        (&["--seconds", "0"], "seconds is 0: expected 1 to 3600"),
        (&["--transports", "udp"], "expected homa, homa-no-incast, tcp-CC-pipelined or tcp-CC-pool"),
        (&["--transports", "homa,homa"], "homa is named twice"),
        (&["--incast", "--seconds", "3"], "cannot be used with"),
        (&["--servers", "3"], "--incast"),
        (&["--json", "x", "--html", "x"], "x is to hold two results: choose another file"),
    ];
    for (args, says) in cases {
        let ended = run(&[&["compare"], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(says), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn files_that_cannot_be_read_or_written_are_told_of_before_anything_is_measured() {
    let scratch = Scratch::new();
    let bad = scratch.path("bad.csv");
    std::fs::write(&bad, "size,share\n100,0.5\n90,1.0\n").expect("a file");
    for (args, says) in [
        (["--json", "/nowhere/x.json"], "choose another file or folder"),
        (["--html", "/nowhere/x.html"], "choose another file or folder"),
        (["--svg", "/nowhere/x.svg"], "choose another file or folder"),
        (["--json", "/"], "choose another file or folder"),
        (["--workload", "/nowhere/x.csv"], "cannot read the workload file /nowhere/x.csv"),
        (["--workload", bad.as_str()], "line 3"),
    ] {
        let ended =
            Ended::from(homarus(&["compare"]).args(args).current_dir(scratch.folder()).output().expect("it starts"));
        ended.is_clear_failure(says);
        assert!(!ended.stderr.contains("building"), "{}", ended.stderr);
    }
    assert_eq!(scratch.files(), ["bad.csv"], "the check left a file behind");
}

#[test]
fn where_no_namespace_is_granted_it_says_so_and_offers_the_loopback() {
    // Within a user namespace that allows no further namespaces.
    let forbid = "echo 0 > /proc/sys/user/max_net_namespaces && echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" compare";
    let scratch = Scratch::new();
    let inside = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "sh", "-c", forbid, env!("CARGO_BIN_EXE_homarus")])
        .current_dir(scratch.folder())
        .output();
    match inside.map(Ended::from) {
        Ok(ended) if ended.stderr.starts_with("error:") => {
            ended.is_clear_failure("needs network namespaces of its own, and this system grants none");
            ended.is_clear_failure("see sysctl user.max_net_namespaces");
            ended.is_clear_failure("`homarus bench` compares the transports over loopback");
        }
        Ok(ended) => eprintln!("SKIPPED: cannot forbid namespaces here: {}", ended.stderr.trim()),
        Err(error) => eprintln!("SKIPPED: no program `unshare`: {error}"),
    }
    assert!(scratch.files().is_empty(), "{:?}", scratch.files());
}

#[test]
fn a_short_race_gives_table_page_image_and_json() {
    let scratch = Scratch::new();
    if skipped_without_rack() {
        return;
    }
    let args = ["compare", "--hosts", "4", "--rate", "10mbit", "--seconds", "1", "--workload", "1000", "--load", "0.3"];
    let more = ["--transports", "homa,tcp-cubic-pool,tcp-nosuch-pool", "--json", "-", "--svg", "x.svg"];
    let ended = Ended::from(homarus(&args).args(more).current_dir(scratch.folder()).output().expect("it starts"));
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).expect("standard output is JSON alone");
    assert!(ended.stderr.contains("skipped: TCP nosuch pool: this kernel has no nosuch; it has"), "{}", ended.stderr);
    assert_eq!(scratch.files(), ["homarus-compare.html", "x.svg"]);
    let proved = json["proof"]["passed"] == true;
    assert_eq!(ended.code, Some(if proved { 0 } else { 1 }), "{}", ended.stderr);
    if !proved {
        eprintln!("SKIPPED the results: the rack failed its proof: {}", json["proof"]["failures"]);
        return;
    }
    assert_eq!(json["transports"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["verdict"]["reference_tcp"], "tcp-cubic-pool");
    assert!(json["transports"][0]["all"]["count"].as_u64().is_some_and(|count| count > 100), "{json}");
    assert!(
        ended.stderr.contains("Homa against TCP") && ended.stderr.contains("TCP cubic pool throughout"),
        "{}",
        ended.stderr
    );
}

#[test]
fn it_works_for_a_user_without_root() {
    let scratch = Scratch::new();
    scratch.open_to_all();
    if skipped_without_rack() {
        return;
    }
    let program = env!("CARGO_BIN_EXE_homarus");
    let nobody = |program: &str, args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--", program]).args(args);
        command.current_dir(scratch.folder()).output().map(Ended::from)
    };
    // The program's folder may be closed to others, and user namespaces may be forbidden.
    match nobody("unshare", &["--user", "--map-root-user", "--net", program, "--version"]) {
        Ok(ended) if ended.code == Some(0) => {}
        Ok(ended) => return eprintln!("SKIPPED: another user cannot run this here: {}", ended.stderr.trim()),
        Err(error) => return eprintln!("SKIPPED: no program `setpriv`: {error}"),
    }
    let args = ["compare", "--hosts", "4", "--rate", "10mbit", "--seconds", "1", "--workload", "1000", "--load", "0.3"];
    let ended = nobody(program, &[&args[..], &["--transports", "homa", "--json", "-"]].concat()).expect("it starts");
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).expect("standard output is JSON");
    assert_eq!(json["machine"]["privilege"], "in a user namespace", "{}", ended.stderr);
    if json["proof"]["passed"] != true {
        return eprintln!("SKIPPED the results: the rack failed its proof: {}", json["proof"]["failures"]);
    }
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(json["transports"][0]["all"]["count"].as_u64().is_some_and(|count| count > 100), "{json}");
}

#[test]
fn nothing_is_left_behind_however_it_ends() {
    if skipped_without_rack() {
        return;
    }
    // What it says when the moment has come, and how long after that it is ended.
    let moments = [
        ("building and proving the rack", Duration::from_millis(60)),
        ("building and proving the rack", Duration::from_millis(2500)),
        ("Homa …", Duration::from_millis(1500)),
    ];
    for signal in ["INT", "TERM", "KILL"] {
        for (says, later) in moments {
            let scratch = Scratch::new();
            let ports = switch_ports();
            let mut race = Marked::start(&scratch);
            race.wait_for(says);
            std::thread::sleep(later);
            let namespaces = race.namespaces();
            assert!(!namespaces.is_empty(), "SIG{signal} {says} + {later:?}: there was no rack to leave behind");
            race.end(signal);
            race.assert_gone(&namespaces);
            assert!(scratch.files().is_empty(), "SIG{signal} {says} + {later:?} left {:?}", scratch.files());
            assert_eq!(switch_ports(), ports, "SIG{signal} {says} + {later:?} left links");
        }
    }
}

/// Links in this namespace that are named as a rack's switch ports are.
fn switch_ports() -> Vec<String> {
    let links = std::fs::read_dir("/sys/class/net").expect("links").flatten();
    let names = links.map(|link| link.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("port")).collect()
}
