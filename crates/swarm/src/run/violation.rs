use std::fmt;

/// What an endpoint did that it must not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

pub(super) fn violated<T>(what: String) -> Result<T, Violation> {
    Err(Violation(what))
}
