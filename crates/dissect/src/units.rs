//! Numbers with units, as people read them.

/// A duration: three significant digits or so.
pub(crate) fn nanos(ns: u64) -> String {
    let value = ns as f64;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} ms", value / 1e6),
        _ => format!("{:.3} s", value / 1e9),
    }
}

/// Seconds and their fraction, to the digits that the file has.
pub(crate) fn seconds(ns: u64, digits: usize) -> String {
    let fraction = format!("{:09}", ns % 1_000_000_000);
    format!("{}.{}", ns / 1_000_000_000, &fraction[..digits.clamp(1, 9)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_cut_to_the_digits_that_are_known() {
        assert_eq!(seconds(1_234_567_891, 6), "1.234567");
        assert_eq!(seconds(5, 9), "0.000000005");
        assert_eq!(nanos(1_500), "1.5 us");
    }
}
