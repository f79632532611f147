//! The homarus command.
fn main() {}
