//! Workloads from files: the only part that needs an operating system.

use crate::{CsvError, Workload};
use std::path::Path;
use thiserror::Error;

/// Why a workload could not be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error("cannot read the workload file {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not a workload.
    #[error("{path}: {source}")]
    Csv {
        /// The file.
        path: String,
        /// What is wrong, and where.
        source: CsvError,
    },
    /// Neither a built-in name, nor a length, nor a file.
    #[error(
        "no workload {given:?}: expected one of {builtin}; a length in bytes; or a CSV file of size_bytes,cumulative_probability"
    )]
    Unknown {
        /// What was asked for.
        given: String,
        /// Names of the built-in workloads.
        builtin: String,
    },
}

impl Workload {
    /// Reads a CSV file of `size_bytes,cumulative_probability`; its name becomes the workload's.
    pub fn from_file(path: &Path) -> Result<Workload, LoadError> {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| LoadError::Read { path: shown.clone(), source })?;
        Workload::from_csv(shown.clone(), &text).map_err(|source| LoadError::Csv { path: shown, source })
    }

    /// What a user may write for a workload: a built-in name, a length in bytes, or the path of a CSV file.
    pub fn resolve(given: &str) -> Result<Workload, LoadError> {
        if let Ok(workload) = given.parse() {
            return Ok(workload);
        }
        let path = Path::new(given);
        if path.exists() || given.contains(['/', '.']) {
            return Workload::from_file(path);
        }
        let builtin = Workload::builtin_names().collect::<Vec<_>>().join(", ");
        Err(LoadError::Unknown { given: given.to_owned(), builtin })
    }
}
