//! Reads `size_bytes,cumulative_probability` files.

use crate::workload::Step;
use thiserror::Error;

/// What is wrong with a workload file, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}")]
pub struct CsvError {
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in the line, in characters, from 1.
    pub column: usize,
    /// What would be accepted.
    pub expected: &'static str,
    /// What stands there.
    pub found: String,
}

/// How far the last cumulative probability may be from 1, since published tables are rounded.
const ROUNDING: f64 = 1e-6;

/// Parses the text of a file. Lines that begin with `#`, empty lines and one header line (before any numbers) are skipped.
pub(crate) fn parse(text: &str) -> Result<Vec<Step>, CsvError> {
    let mut steps: Vec<Step> = Vec::new();
    let mut header_seen = false;
    let mut last_line = 1;
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        last_line = line;
        if raw.trim().is_empty() || raw.trim_start().starts_with('#') {
            continue;
        }
        let is_header = raw.trim_start().starts_with(|c: char| c.is_ascii_alphabetic());
        if steps.is_empty() && !header_seen && is_header {
            header_seen = true;
            continue;
        }
        let step = parse_line(line, raw, steps.last())?;
        match steps.last_mut() {
            Some(last) if last.size == step.size => *last = step,
            _ => steps.push(step),
        }
    }
    let reached = steps.last().map_or(0.0, |step| step.cumulative);
    if (reached - 1.0).abs() > ROUNDING {
        return Err(CsvError {
            line: last_line,
            column: 1,
            expected: "a last line whose cumulative probability is 1",
            found: if steps.is_empty() { "no numbers".to_owned() } else { format!("a file that ends at {reached}") },
        });
    }
    if let Some(last) = steps.last_mut() {
        last.cumulative = 1.0;
    }
    Ok(steps)
}

fn parse_line(line: usize, raw: &str, previous: Option<&Step>) -> Result<Step, CsvError> {
    let error = |column: usize, expected, found: &str| CsvError { line, column, expected, found: format!("{found:?}") };
    let Some((left, right)) = raw.split_once(',') else {
        return Err(error(1, "two numbers: size_bytes,cumulative_probability", raw.trim()));
    };
    let right_column = left.chars().count() + 2;
    let size: u32 =
        left.trim().parse().map_err(|_| error(1, "a size in bytes: a whole number up to 4294967295", left.trim()))?;
    let cumulative: f64 = right
        .trim()
        .parse()
        .ok()
        .filter(|p| (0.0..=1.0 + ROUNDING).contains(p))
        .ok_or_else(|| error(right_column, "a cumulative probability between 0 and 1", right.trim()))?;
    if previous.is_some_and(|p| size < p.size) {
        return Err(error(1, "a size at least that of the line before", left.trim()));
    }
    if previous.is_some_and(|p| cumulative < p.cumulative) {
        return Err(error(right_column, "a probability at least that of the line before", right.trim()));
    }
    Ok(Step { size, cumulative })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_file_with_comment_header_and_blank_lines() {
        let steps = parse("# source: mine\nsize_bytes,cumulative_probability\n\n10,0.25\n 2000 , 1.0\n").unwrap();
        assert_eq!(steps, [Step { size: 10, cumulative: 0.25 }, Step { size: 2000, cumulative: 1.0 }]);
    }

    #[test]
    fn lines_of_equal_size_are_one_step() {
        assert_eq!(parse("10,0.25\n10,0.5\n20,1").unwrap().len(), 2);
    }

    #[test]
    fn errors_name_line_and_column() {
        let place = |text: &str| parse(text).map_err(|e| (e.line, e.column, e.to_string())).unwrap_err();
        assert_eq!(place("10,0.5\nx,1").0, 2);
        assert!(place("10,0.5\nx,1").2.contains("line 2, column 1: expected a size in bytes"));
        assert_eq!((place("10,0.5\n20,1.5").0, place("10,0.5\n20,1.5").1), (2, 4));
        assert_eq!((place("10,0.5\n20,0.4").0, place("10,0.5\n20,0.4").1), (2, 4));
        assert_eq!((place("10,0.5\n9,1").0, place("10,0.5\n9,1").1), (2, 1));
        assert!(place("10,0.5\n20").2.contains("two numbers"));
        assert!(place("10,0.5\n20,0.9").2.contains("ends at 0.9"));
        assert!(place("").2.contains("no numbers"));
        assert!(place("a,b\nc,d").2.contains("line 2, column 1"));
        assert!(place("1,NaN").2.contains("between 0 and 1"));
    }
}
