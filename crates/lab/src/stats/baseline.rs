use serde::{Deserialize, Serialize};

/// Best round trip on an idle rack for some message lengths: what slowdowns are measured against.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BaseLine {
    /// Length in bytes and round trip in ns, lengths rising.
    pub(crate) points: Vec<(u32, u64)>,
}

impl BaseLine {
    /// For each length the lower of both, where both were measured at the same lengths; else the one that was measured.
    pub(crate) fn lower_of(&self, other: &BaseLine) -> BaseLine {
        let mut points = self.points.clone();
        for &(length, nanos) in &other.points {
            match points.iter_mut().find(|point| point.0 == length) {
                Some(point) => point.1 = point.1.min(nanos),
                None => points.push((length, nanos)),
            }
        }
        points.sort_unstable();
        BaseLine { points }
    }

    /// Round trip for any length, ns: on the straight line between the lengths measured next to it; beyond them the nearest. 0 if
    /// nothing was measured.
    pub(crate) fn at(&self, length: u32) -> f64 {
        let above = self.points.partition_point(|point| point.0 < length);
        match (above.checked_sub(1).map(|below| self.points[below]), self.points.get(above)) {
            (Some((x0, y0)), Some(&(x1, y1))) => {
                let part = f64::from(length - x0) / f64::from(x1 - x0);
                y0 as f64 + part * (y1 as f64 - y0 as f64)
            }
            (Some((_, nanos)), None) => nanos as f64,
            (None, Some(&(_, nanos))) => nanos as f64,
            (None, None) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_lengths_it_is_a_straight_line() {
        let base = BaseLine { points: vec![(100, 1000), (200, 3000)] };
        assert_eq!([50, 100, 150, 200, 900].map(|length| base.at(length)), [1000.0, 1000.0, 2000.0, 3000.0, 3000.0]);
        assert_eq!(BaseLine::default().at(5), 0.0);
    }

    #[test]
    fn the_lower_counts() {
        let a = BaseLine { points: vec![(1, 10), (2, 20)] };
        let b = BaseLine { points: vec![(2, 15), (3, 30)] };
        assert_eq!(a.lower_of(&b).points, [(1, 10), (2, 15), (3, 30)]);
    }
}
