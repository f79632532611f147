//! Captured conversations of the Linux module.
