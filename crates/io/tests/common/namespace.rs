//! Runs a test again inside a network namespace of its own, where it can make links as it likes.
#![allow(dead_code)]

use std::process::{Command, Stdio};

/// Set inside the namespace, to the process in the namespace of the router.
pub(crate) const ROUTER: &str = "HOMARUS_IO_ROUTER";

/// Whether the test named `test` runs inside its namespace, and is to do its work. Outside it is started again
/// inside, after the shell commands `setup`, and must succeed there.
pub(crate) fn enter(test: &str, setup: &str) -> bool {
    if std::env::var(ROUTER).is_ok() {
        return true;
    }
    if let Some(missing) = missing() {
        println!("SKIPPED: {missing}");
        return false;
    }
    // The router, a namespace inside, lives as long as its `sleep`, which the shell ends.
    let script = format!(
        "set -e; ip link set lo up; unshare --net sleep 120 & router=$!; trap 'kill $router' EXIT\n\
         while [ \"$(readlink /proc/self/ns/net)\" = \"$(readlink /proc/$router/ns/net)\" ]; do sleep 0.02; done\n\
         {setup}\n{ROUTER}=$router \"$0\" --exact {test} --nocapture"
    );
    let status = Command::new("unshare")
        .args(["--map-root-user", "--net", "sh", "-c", &script])
        .arg(std::env::current_exe().unwrap())
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{test} failed inside its namespace");
    false
}

/// Runs a shell command inside the namespace.
pub(crate) fn shell(command: &str) {
    assert!(Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
}

fn missing() -> Option<&'static str> {
    let works = |program: &str, args: &[&str]| {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !works("ip", &["-V"]) {
        Some("the program ip is not installed")
    } else if !works("unshare", &["--map-root-user", "--net", "ip", "link", "add", "type", "veth"]) {
        Some("no network namespaces with veth links here")
    } else {
        None
    }
}
