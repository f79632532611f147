use crate::STAGE;
use std::path::Path;
use std::process::{Command, Stdio};

/// Two namespaces, a link between them, and in each of them one of the two tests.
const SCRIPT: &str = r#"set -e
    ip link set lo up
    unshare --net sleep 300 & other=$!
    trap 'kill $other $modelled 2>/dev/null || true' EXIT
    while [ "$(readlink /proc/self/ns/net)" = "$(readlink /proc/$other/ns/net)" ]; do sleep 0.02; done
    ip link add name near type veth peer name far netns $other
    ip addr add 10.78.0.1/24 dev near
    ip link set near up
    in_other="nsenter --target $other --net"
    $in_other ip link set lo up
    $in_other ip addr add 10.78.0.2/24 dev far
    $in_other ip link set far up
    $in_other "$0" --exact "$2" --nocapture & modelled=$!
    "$0" --exact "$1" --nocapture
    wait $modelled"#;

/// Runs both tests in namespaces, or says why not.
pub(crate) fn start(ours: &str, theirs: &str) {
    if let Some(missing) = missing() {
        println!("SKIPPED: {missing}");
        return;
    }
    let stage = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("raw-{}", std::process::id()));
    std::fs::create_dir_all(&stage).expect("a directory for the two hosts");
    let status = Command::new("unshare")
        .args(["--map-root-user", "--net", "sh", "-c", SCRIPT])
        .arg(std::env::current_exe().expect("this program"))
        .args([ours, theirs])
        .env(STAGE, &stage)
        .stdin(Stdio::null())
        .status()
        .expect("unshare runs");
    std::fs::remove_dir_all(&stage).expect("the directory goes away");
    assert!(status.success(), "one of the two hosts failed: its words are above");
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
