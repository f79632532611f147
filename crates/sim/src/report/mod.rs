//! Results for people.

mod table;

pub use table::table;
