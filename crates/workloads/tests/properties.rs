//! Properties of any distribution.

use homarus_workloads::Workload;
use proptest::prelude::*;
use rand_pcg::Pcg64Mcg;

/// A CSV file of rising sizes and probabilities, as text.
fn any_workload() -> impl Strategy<Value = Workload> {
    prop::collection::vec((1u32..100_000, 1u32..1000), 1..40).prop_map(|rows| {
        let total: u32 = rows.iter().map(|row| row.1).sum();
        let (mut size, mut weight, mut text) = (0, 0, String::from("size_bytes,cumulative_probability\n"));
        for (more_bytes, more_weight) in rows {
            size += more_bytes;
            weight += more_weight;
            text += &format!("{size},{:.12}\n", f64::from(weight) / f64::from(total));
        }
        Workload::from_csv("random", &text).expect("the text is a workload")
    })
}

proptest! {
    #[test]
    fn samples_follow_the_steps(workload in any_workload(), seed in any::<u64>()) {
        let mut rng = Pcg64Mcg::new(u128::from(seed));
        let n = 4000;
        let mut samples: Vec<u32> = (0..n).map(|_| workload.sample(&mut rng)).collect();
        samples.sort_unstable();
        for step in workload.steps() {
            prop_assert_eq!(workload.share_of_messages(step.size), step.cumulative);
            let share = samples.partition_point(|&s| s <= step.size) as f64 / f64::from(n);
            prop_assert!((share - step.cumulative).abs() < 0.05, "{} against {}", share, step.cumulative);
        }
        prop_assert!(samples.iter().all(|s| workload.steps().iter().any(|step| step.size == *s)));
    }

    #[test]
    fn quantile_and_share_are_inverse(workload in any_workload(), p in 0.0f64..=1.0) {
        let size = workload.quantile(p);
        prop_assert!(workload.share_of_messages(size) >= p);
        prop_assert!(size == workload.smallest() || workload.share_of_messages(size - 1) < p);
        let size = workload.byte_quantile(p);
        prop_assert!(workload.share_of_bytes(size) >= p - 1e-9);
    }

    #[test]
    fn probabilities_sum_to_one_and_the_mean_lies_inside(workload in any_workload()) {
        let sum: f64 = workload.probabilities().map(|(_, p)| p).sum();
        prop_assert!((sum - 1.0).abs() < 1e-9);
        let mean = workload.mean();
        prop_assert!(f64::from(workload.smallest()) <= mean + 1e-6 && mean <= f64::from(workload.largest()) + 1e-6);
    }

    #[test]
    fn cutting_moves_only_the_longer_messages(workload in any_workload(), longest in 1u32..2_000_000) {
        let cut = workload.clone().cut_at(longest);
        prop_assert_eq!(cut.largest(), workload.largest().min(longest));
        let mean = workload.expect(|s| f64::from(s.min(longest)));
        prop_assert!((cut.mean() - mean).abs() < 1e-6 * mean);
    }

    #[test]
    fn it_survives_the_trip_through_text(workload in any_workload()) {
        let back = Workload::from_csv(workload.name(), &workload.to_csv()).unwrap();
        prop_assert_eq!(back, workload);
    }

    #[test]
    fn any_text_is_accepted_or_refused_without_a_panic(text in ".{0,200}") {
        let _ = Workload::from_csv("fuzz", &text);
    }
}
