//! Plots as SVG: round-trip time against message length, on logarithmic scales.

use std::fmt::Write;

/// A line of a plot. Points must be positive; x rises.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// Shown when the pointer is on a point.
    pub(super) name: String,
    /// CSS class that gives its colour.
    pub(super) class: String,
    /// Whether it is drawn with dashes.
    pub(super) dashed: bool,
    /// Whether points are marked.
    pub(super) marked: bool,
    /// Rising by length.
    pub(super) points: Vec<Point>,
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    /// Length of the messages.
    pub(super) bytes: f64,
    /// Their time.
    pub(super) micros: f64,
    /// Whether too few messages were counted to trust it: drawn hollow.
    pub(super) few: bool,
}

/// Lines that share a pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plot {
    /// Above the plot.
    pub(super) title: String,
    /// In the order of drawing.
    pub(super) lines: Vec<Line>,
    /// Least and greatest length, bytes.
    pub(super) x: (f64, f64),
    /// Least and greatest time, µs.
    pub(super) y: (f64, f64),
}

pub(super) const WIDTH: f64 = 560.0;
pub(super) const HEIGHT: f64 = 420.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 44.0;

/// Range of values, widened to whole decades of y or a little beyond for x; `None` without values.
pub(super) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let positive = values.filter(|value| value.is_finite() && *value > 0.0);
    positive.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// The whole decades around a range.
pub(super) fn decades((low, high): (f64, f64)) -> (f64, f64) {
    let (low, high) = (low.log10().floor(), high.log10().ceil());
    (10f64.powf(low), 10f64.powf(if high > low { high } else { low + 1.0 }))
}

impl Plot {
    /// The plot as an SVG element.
    pub(super) fn svg(&self) -> String {
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            escape(&self.title),
            self.contents()
        )
    }

    /// What is in that element.
    pub(super) fn contents(&self) -> String {
        let mut out = format!("<text class=\"title\" x=\"{LEFT}\" y=\"20\">{}</text>", escape(&self.title));
        self.axes(&mut out);
        for line in &self.lines {
            self.line(&mut out, line);
        }
        out
    }

    fn place_x(&self, bytes: f64) -> f64 {
        let (low, high) = self.x;
        let span = if high > low { (high / low).ln() } else { 1.0 };
        LEFT + 8.0 + (bytes / low).ln() / span * (WIDTH - LEFT - RIGHT - 16.0)
    }

    fn place_y(&self, micros: f64) -> f64 {
        let (low, high) = self.y;
        HEIGHT - BOTTOM - (micros / low).ln() / (high / low).ln() * (HEIGHT - TOP - BOTTOM)
    }

    fn axes(&self, out: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for (value, label) in ticks(self.y, time_label) {
            let y = self.place_y(value);
            let _ = write!(out, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
            let _ = write!(
                out,
                "<text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 8.0,
                y + 4.0
            );
        }
        for (value, label) in ticks(self.x, bytes_label) {
            let x = self.place_x(value);
            let _ = write!(out, "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>");
            let _ = write!(
                out,
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
                bottom + 18.0
            );
        }
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">message length</text>",
            (LEFT + right) / 2.0,
            HEIGHT - 6.0
        );
    }

    fn line(&self, out: &mut String, line: &Line) {
        let place = |point: &Point| (self.place_x(point.bytes), self.place_y(point.micros));
        let path: Vec<String> = line.points.iter().map(place).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dashed = if line.dashed { " dashed" } else { "" };
        let _ = write!(out, "<polyline class=\"line {}{dashed}\" points=\"{}\"/>", line.class, path.join(" "));
        if !line.marked {
            return;
        }
        for point in &line.points {
            let said = format!("{}: {} at {}", line.name, super::table::time(point.micros), bytes_label(point.bytes));
            let (x, y) = place(point);
            *out += &mark(&line.class, point.few, x, y, &said);
        }
    }
}

/// A mark of a line of this class, with what is shown when the pointer is on it. Classes differ in shape, so that nobody needs to see colours.
pub(super) fn mark(class: &str, hollow: bool, x: f64, y: f64, said: &str) -> String {
    let corners: &[(f64, f64)] = match class {
        "c1" | "c5" => &[(-3.2, -3.2), (3.2, -3.2), (3.2, 3.2), (-3.2, 3.2)],
        "c2" | "c6" => &[(0.0, -4.2), (4.0, 3.2), (-4.0, 3.2)],
        "c3" | "c7" => &[(0.0, -4.6), (4.6, 0.0), (0.0, 4.6), (-4.6, 0.0)],
        "c4" | "c8" => &[(0.0, 4.2), (4.0, -3.2), (-4.0, -3.2)],
        _ => &[],
    };
    let hollow = if hollow { " hollow" } else { "" };
    let title = escape(said);
    if corners.is_empty() {
        return format!(
            "<circle class=\"point {class}{hollow}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.6\"><title>{title}</title></circle>"
        );
    }
    let points: Vec<String> = corners.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
    format!("<polygon class=\"point {class}{hollow}\" points=\"{}\"><title>{title}</title></polygon>", points.join(" "))
}

/// Powers of ten within a range, with their labels.
fn ticks((low, high): (f64, f64), label: fn(f64) -> String) -> Vec<(f64, String)> {
    let powers = (low.log10().ceil() as i32)..=((high * 1.0001).log10().floor() as i32);
    powers.map(|power| 10f64.powi(power)).map(|value| (value, label(value))).collect()
}

fn time_label(micros: f64) -> String {
    match micros {
        m if m < 1e3 => format!("{m:.0} µs"),
        m if m < 1e6 => format!("{:.0} ms", m / 1e3),
        m => format!("{:.0} s", m / 1e6),
    }
}

fn bytes_label(bytes: f64) -> String {
    match bytes {
        b if b < 1e3 => format!("{b:.0} B"),
        b if b < 1e6 => format!("{} KB", trimmed(b / 1e3)),
        b => format!("{} MB", trimmed(b / 1e6)),
    }
}

/// At most one decimal.
fn trimmed(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Text within HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_within_the_axes_and_rise_upwards() {
        let plot = Plot { title: "a < b".to_owned(), lines: Vec::new(), x: (50.0, 1e6), y: (100.0, 1e7) };
        assert!(plot.place_y(100.0) > plot.place_y(1e6));
        assert!((LEFT..WIDTH).contains(&plot.place_x(50.0)) && (LEFT..WIDTH).contains(&plot.place_x(1e6)));
        assert!(plot.svg().contains("a &lt; b") && plot.svg().contains("10 KB") && plot.svg().contains("10 s"));
    }

    #[test]
    fn marks_of_different_lines_differ_in_shape() {
        let shape = |class: &str| mark(class, false, 0.0, 0.0, "").replace(class, "");
        let shapes: std::collections::HashSet<String> = ["homa", "c1", "c2", "c3", "c4"].map(shape).into();
        assert_eq!(shapes.len(), 5);
    }

    #[test]
    fn ranges_end_at_whole_decades() {
        assert_eq!(range([3.0, 0.0, 250.0].into_iter()), Some((3.0, 250.0)));
        assert_eq!(range(std::iter::empty()), None);
        assert_eq!(decades((3.0, 250.0)), (1.0, 1000.0));
        assert_eq!(decades((10.0, 10.0)), (10.0, 100.0));
    }

    #[test]
    fn lengths_have_labels() {
        assert_eq!([53.0, 1000.0, 1500.0, 2e6].map(bytes_label), ["53 B", "1 KB", "1.5 KB", "2 MB"]);
    }
}
