//! Tells the program which commit it was built from, if it is built in a git checkout.

use std::process::Command;

fn main() {
    // Whatever changes the answer: another commit, or a change to a source file.
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs");
    println!("cargo::rerun-if-changed=..");
    let described = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output();
    if let Ok(output) = described
        && output.status.success()
        && let Ok(commit) = String::from_utf8(output.stdout)
    {
        println!("cargo::rustc-env=HOMARUS_COMMIT={}", commit.trim());
    }
}
