//! The built program, used as a user would use it.

mod bench;
mod program;
mod serve_and_call;
mod usage;
