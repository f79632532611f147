//! The published workloads, compiled in.

/// The Linux benchmark shortens all longer messages to this many bytes, the longest that the Linux module accepts.
pub(crate) const LINUX_LONGEST: u32 = 1_000_000;

macro_rules! workloads {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../data/workloads/", $name, ".csv")))),*]
    };
}

/// Name and CSV text of each built-in workload.
pub(crate) const BUILTIN: &[(&str, &str)] = workloads![
    "w1",
    "w2",
    "w3",
    "w4",
    "w5",
    "linux_w1",
    "linux_w2",
    "linux_w3",
    "linux_w4",
    "linux_w5",
    "linux_starve",
];
