//! What a race has shown: as data, as a table, as a page, as an image.

mod chart;
mod data;
mod html;
mod image;
mod plot;
#[cfg(test)]
mod sample;
mod table;
#[cfg(test)]
mod tests;
mod verdict;

pub(crate) use data::class_reports;
pub use data::{
    ClassReport, Header, IdlePoint, IncastReport, IncastTransport, Quantiles, RaceReport, RaceTransport, SwitchUse,
    WorkloadReport,
};
pub use html::{incast_page, race_page};
pub use image::{incast_image, race_image};
pub use table::{incast_table, race_table};
pub(crate) use verdict::verdict;
pub use verdict::{Behind, Figure, Verdict};

/// Version of the JSON form. It rises when a field changes its meaning or goes; new fields may come without.
pub const SCHEMA_VERSION: u32 = 1;
