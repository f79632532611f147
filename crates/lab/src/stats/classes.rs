use homarus_workloads::Workload;
use serde::{Deserialize, Serialize};

/// Why some lengths are looked at together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClassKind {
    /// All messages.
    All,
    /// The shortest 10 % of messages.
    Shortest,
    /// The longest 1 % of messages.
    Longest,
    /// One bucket of a logarithmic scale.
    Bucket,
}

/// Messages of these lengths are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Class {
    pub(crate) kind: ClassKind,
    /// Least and greatest length, bytes, both included.
    pub(crate) least: u32,
    pub(crate) greatest: u32,
}

impl Class {
    /// Whether messages of `length` bytes belong to it.
    pub(crate) fn contains(&self, length: u32) -> bool {
        (self.least..=self.greatest).contains(&length)
    }
}

/// The classes of a workload: all, the shortest 10 %, the longest 1 %, then buckets in rising order.
///
/// "Shortest 10 %" are the messages no longer than the length that 10 % do not exceed, "longest 1 %" those at least as long as the one
/// that 99 % do not exceed. Distributions have steps, so that a class may hold more than its share: in `linux_w4` every message of
/// 1,000,000 bytes is among the longest 1 %.
pub(crate) fn classes_of(workload: &Workload) -> Vec<Class> {
    let (least, greatest) = (workload.smallest(), workload.largest());
    let mut classes = vec![
        Class { kind: ClassKind::All, least, greatest },
        Class { kind: ClassKind::Shortest, least, greatest: workload.quantile(0.10) },
        Class { kind: ClassKind::Longest, least: workload.quantile(0.99), greatest },
    ];
    let mut lower = 0;
    for upper in edges(least, greatest) {
        let bucket = Class { kind: ClassKind::Bucket, least: lower, greatest: upper };
        if workload.probabilities().any(|(size, _)| bucket.contains(size)) {
            classes.push(bucket);
        }
        lower = upper + 1;
    }
    classes
}

/// Upper edges of buckets for lengths from `least` to `greatest`: 1, 2 and 5 times powers of ten, or powers of ten and three
/// times them if that makes more than 14 buckets.
fn edges(least: u32, greatest: u32) -> Vec<u32> {
    let scale = |steps: &[u64]| -> Vec<u32> {
        let all = (0..10).flat_map(|power| steps.iter().map(move |step| step * 10u64.pow(power)));
        let mut edges: Vec<u32> = all
            .skip_while(|&edge| edge < u64::from(least))
            .take_while(|&edge| edge < u64::from(greatest))
            .filter_map(|edge| u32::try_from(edge).ok())
            .collect();
        edges.push(greatest);
        edges
    };
    let fine = scale(&[1, 2, 5]);
    if fine.len() <= 14 { fine } else { scale(&[1, 3]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_every_workload_cover_each_length_once() {
        for name in Workload::builtin_names() {
            let workload = Workload::builtin(name).unwrap();
            let classes = classes_of(&workload);
            let buckets: Vec<&Class> = classes.iter().filter(|class| class.kind == ClassKind::Bucket).collect();
            assert!((2..=16).contains(&buckets.len()), "{name}: {} buckets", buckets.len());
            for (size, _) in workload.probabilities() {
                assert_eq!(buckets.iter().filter(|bucket| bucket.contains(size)).count(), 1, "{name}, {size}");
            }
        }
    }

    #[test]
    fn shortest_and_longest_of_linux_w4() {
        let workload = Workload::builtin("linux_w4").unwrap();
        let classes = classes_of(&workload);
        assert!((0.10..0.11).contains(&workload.share_of_messages(classes[1].greatest)));
        assert_eq!((classes[2].least, classes[2].greatest), (1_000_000, 1_000_000));
    }

    #[test]
    fn one_length_is_one_bucket() {
        let classes = classes_of(&Workload::fixed(1400));
        assert_eq!(classes.len(), 4);
        assert!(classes.iter().all(|class| class.contains(1400)));
        assert!(classes_of(&Workload::fixed(0)).iter().all(|class| class.contains(0)));
    }
}
