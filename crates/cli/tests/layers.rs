//! The arrows between crates point one way only: ARCHITECTURE.md says which.

use std::collections::BTreeSet;
use std::process::Command;

/// What each package may depend on among the project's own.
const ALLOWED: [(&str, &[&str]); 11] = [
    ("homarus-proto", &[]),
    ("homarus-workloads", &[]),
    ("homarus-dissect", &["homarus-proto"]),
    ("homarus-interop", &["homarus-proto"]),
    ("homarus-sim", &["homarus-proto", "homarus-workloads"]),
    ("homarus-io", &["homarus-proto"]),
    ("homarus", &["homarus-proto", "homarus-io"]),
    ("homarus-swarm", &["homarus-proto"]),
    ("homarus-lab", &["homarus", "homarus-io", "homarus-proto", "homarus-workloads"]),
    (
        "homarus-cli",
        &[
            "homarus",
            "homarus-dissect",
            "homarus-io",
            "homarus-lab",
            "homarus-proto",
            "homarus-sim",
            "homarus-swarm",
            "homarus-workloads",
        ],
    ),
    ("homarus-peers", &["homarus-cli"]),
];

#[test]
fn crates_depend_downwards_only() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let ours: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let known: BTreeSet<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    assert_eq!(ours, known, "a new crate needs a line in ARCHITECTURE.md and in this test");
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let allowed = ALLOWED.iter().find(|(other, _)| *other == name).expect("known").1;
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let used = dependency["name"].as_str().expect("a name");
            let shipped = dependency["kind"].is_null();
            assert!(
                !shipped || !ours.contains(used) || allowed.contains(&used),
                "{name} must not depend on {used}: see ARCHITECTURE.md"
            );
        }
    }
}
