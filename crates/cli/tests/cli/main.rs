//! The built program, used as a user would use it.

mod bench;
mod compare;
mod compare_rack;
mod program;
mod serve_and_call;
mod usage;
