//! Runs `ip` and `tc` of iproute2.
//!
//! Their batch mode is how every Linux distribution configures links, qdiscs and filters; it works with the kernels that their
//! users have, which a netlink client of our own would have to be tried on one by one.

use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Finds one of iproute2's programs. They are often outside an ordinary user's PATH.
fn find(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(more)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
        .with_context(|| {
            format!(
                "the program `{program}` was not found: the rack is built with iproute2; install it \
                 (Debian, Ubuntu: apt-get install iproute2; Fedora: dnf install iproute iproute-tc)"
            )
        })
}

/// Checks that every program is there.
pub(crate) fn check() -> Result<()> {
    ["ip", "tc"].iter().try_for_each(|program| find(program).map(drop))
}

/// Runs `program -batch -` with these lines.
pub(crate) fn batch(program: &str, lines: &[String]) -> Result<()> {
    let mut child = Command::new(find(program)?)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{program}`"))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin
            .write_all((lines.join("\n") + "\n").as_bytes())
            .with_context(|| format!("cannot write to `{program}`"))?;
    }
    let output = child.wait_with_output().with_context(|| format!("cannot wait for `{program}`"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let failed_line = said
        .lines()
        .find_map(|line| line.strip_prefix("Command failed -:")?.parse::<usize>().ok())
        .and_then(|number| lines.get(number.checked_sub(1)?));
    bail!("`{program} {}` failed: {}", failed_line.map_or("-batch", |line| line), said.trim().replace('\n', "; "))
}
