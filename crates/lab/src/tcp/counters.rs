//! What TCP counts in this network namespace.

use anyhow::{Context, Result};

/// Segments sent again since the namespace was made.
pub(crate) fn retransmitted_segments() -> Result<u64> {
    let path = "/proc/self/net/snmp";
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    find(&text, "Tcp:", "RetransSegs").with_context(|| format!("{path} has no count of TCP's retransmissions"))
}

/// A value of a table of two lines with the same prefix: names, then numbers.
fn find(text: &str, prefix: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
    let column = lines.next()?.split_whitespace().position(|word| word == name)?;
    lines.next()?.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_found_by_its_name() {
        let text = "Ip: A B\nIp: 1 2\nTcp: RtoMin RetransSegs InErrs\nTcp: 200 77 0\n";
        assert_eq!(find(text, "Tcp:", "RetransSegs"), Some(77));
        assert_eq!(find(text, "Tcp:", "Nothing"), None);
        assert_eq!(find(text, "Udp:", "RetransSegs"), None);
    }
}
