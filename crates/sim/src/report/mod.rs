//! Results for people.

mod published;
mod table;

pub use published::{Published, published};
pub use table::table;
