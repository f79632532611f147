//! The built program, used as a user would use it.

mod bench;
mod capture;
mod compare;
mod compare_rack;
#[path = "../../../io/tests/common/namespace.rs"]
mod namespace;
mod over_ip;
mod over_kernel;
mod program;
mod serve_and_call;
mod sim;
mod usage;
