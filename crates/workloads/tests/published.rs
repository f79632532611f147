//! The built-in workloads are those that were published.

use homarus_workloads::{LoadError, Workload};

#[test]
fn means_of_the_papers_workloads() {
    for (name, mean) in [("w1", 188.0), ("w2", 441.0), ("w3", 2927.0), ("w4", 127_797.0), ("w5", 2_515_863.0)] {
        let found = Workload::builtin(name).unwrap().mean();
        assert!((found / mean - 1.0).abs() < 0.005, "{name}: mean {found}, published {mean}");
    }
}

#[test]
fn linux_messages_end_at_a_million_bytes() {
    for name in Workload::builtin_names().filter(|name| name.starts_with("linux_")) {
        assert!(Workload::builtin(name).unwrap().largest() <= 1_000_000, "{name}");
    }
}

#[test]
fn what_a_user_may_write() {
    assert_eq!(Workload::resolve("linux_w4").unwrap().name(), "linux_w4");
    assert_eq!(Workload::resolve("1400").unwrap().mean(), 1400.0);
    let unknown = Workload::resolve("w9").unwrap_err();
    assert!(matches!(&unknown, LoadError::Unknown { builtin, .. } if builtin.contains("linux_w4")), "{unknown}");
    assert!(matches!(Workload::resolve("no/such.csv").unwrap_err(), LoadError::Read { .. }));
}
