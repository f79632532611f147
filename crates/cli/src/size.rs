//! Sizes as people write them: `100`, `64k`, `1M`, `256KiB`.

/// Parses a number of bytes. `k`, `M`, `G` are powers of 1000; `Ki`, `Mi`, `Gi` of 1024; a `B` may follow.
pub(crate) fn parse(text: &str) -> Result<u32, String> {
    let number_ends = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    let (number, suffix) = text.split_at(number_ends);
    let explain = || format!("'{text}' is no size: expected a number of bytes such as 100, 64k, 1MB or 256KiB");
    let factor: u64 = match suffix.trim().to_ascii_lowercase().trim_end_matches('b') {
        "" => 1,
        "k" => 1000,
        "m" => 1000 * 1000,
        "g" => 1000 * 1000 * 1000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        _ => return Err(explain()),
    };
    let number: u64 = number.replace('_', "").parse().map_err(|_| explain())?;
    number
        .checked_mul(factor)
        .and_then(|bytes| u32::try_from(bytes).ok())
        .ok_or_else(|| format!("'{text}' is more than any message can have: at most {} bytes", u32::MAX))
}

/// A number of bytes as people read it.
pub(crate) fn show(bytes: f64) -> String {
    match bytes {
        bytes if bytes < 1e3 => format!("{bytes:.0} B"),
        bytes if bytes < 1e6 => format!("{:.1} kB", bytes / 1e3),
        bytes if bytes < 1e9 => format!("{:.1} MB", bytes / 1e6),
        bytes => format!("{:.2} GB", bytes / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_powers_of_1000_or_1024() {
        let sizes = [
            ("0", 0),
            ("100", 100),
            ("100B", 100),
            ("64k", 64_000),
            ("64K", 64_000),
            ("64KB", 64_000),
            ("64KiB", 65_536),
            ("1M", 1_000_000),
            ("1_000_000", 1_000_000),
            ("256MiB", 256 << 20),
            ("1g", 1_000_000_000),
            ("1 MB", 1_000_000),
        ];
        for (text, bytes) in sizes {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_explained() {
        for text in ["", "k", "-1", "1.5k", "10x", "1kk"] {
            assert!(parse(text).is_err_and(|why| why.contains("expected a number of bytes")), "{text}");
        }
        assert!(parse("5G").is_err_and(|why| why.contains("more than any message can have")));
        assert!(parse("99999999999999999999").is_err());
    }
}
