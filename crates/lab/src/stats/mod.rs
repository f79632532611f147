//! Statistics of round trips by message length.

mod baseline;
mod classes;
mod histogram;
mod record;

pub(crate) use baseline::BaseLine;
pub(crate) use classes::{Class, ClassKind, classes_of};
pub(crate) use histogram::Histogram;
pub(crate) use record::{ClassRecord, Recorded};
