use std::io;
use thiserror::Error;

/// Where a capture is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("byte {at} ({place}): expected {expected}, found {found}")]
pub struct FileError {
    /// Bytes from the start of the file.
    pub at: u64,
    /// What stands there: a header, or a record or block by its number from 1.
    pub place: String,
    /// What a capture has there.
    pub expected: String,
    /// What this file has.
    pub found: String,
}

/// Why a capture was not read to its end.
#[derive(Debug, Error)]
pub enum DissectError {
    /// The file cannot be opened.
    #[error("cannot open {path}")]
    Open {
        /// As the user named it.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Reading failed midway.
    #[error("cannot read {path} beyond byte {at}")]
    Read {
        /// As the user named it.
        path: String,
        /// Bytes that were read.
        at: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is no capture, is cut off, or is damaged; what stands before that place was shown.
    #[error("{path}: {source}")]
    File {
        /// As the user named it.
        path: String,
        /// The place, what was expected and what came.
        source: FileError,
    },
    /// The output could not be written.
    #[error("cannot write the output")]
    Output(#[from] io::Error),
}

impl From<serde_json::Error> for DissectError {
    fn from(error: serde_json::Error) -> DissectError {
        DissectError::Output(error.into())
    }
}
