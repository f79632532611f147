use std::fmt::{Debug, Display};
use thiserror::Error;

/// A scenario that cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScenarioError {
    /// The file is not of the right form.
    #[error("line {line}: {what}\n  {source_line}")]
    Form {
        /// From 1.
        line: usize,
        /// What is wrong and what was expected.
        what: String,
        /// The line itself.
        source_line: String,
    },
    /// A value is out of range.
    #[error("{key} is {found}: expected {expected}")]
    Value {
        /// Where it is.
        key: String,
        /// What it is.
        found: String,
        /// What could be there.
        expected: String,
    },
}

impl ScenarioError {
    pub(super) fn from_toml(text: &str, error: &toml::de::Error) -> ScenarioError {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        // Of an unknown key or kind in a table that has a kind only the table's place is told.
        let word = ["unknown field `", "unknown variant `"].iter().find_map(|what| error.message().strip_prefix(what));
        let word = word.and_then(|rest| rest.split('`').next());
        let is_there = |line: &str, word: &str| {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            key.trim() == word || value.trim().trim_matches('"') == word
        };
        let is_key = |line: &str| word.is_some_and(|word| is_there(line, word));
        let line = before + text.lines().skip(before).position(is_key).unwrap_or(0) + 1;
        let source_line = text.lines().nth(line - 1).unwrap_or_default().trim().to_owned();
        ScenarioError::Form { line, what: error.message().to_owned(), source_line }
    }

    pub(super) fn value(key: &str, found: impl Display, expected: impl Display) -> ScenarioError {
        ScenarioError::Value { key: key.to_owned(), found: found.to_string(), expected: expected.to_string() }
    }
}

pub(super) fn within<T: PartialOrd + Display + Copy>(
    key: &str,
    found: T,
    least: T,
    most: T,
) -> Result<(), ScenarioError> {
    if found >= least && found <= most {
        return Ok(());
    }
    Err(ScenarioError::value(key, found, format!("{least} to {most}")))
}
