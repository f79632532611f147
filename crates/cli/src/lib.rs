//! The homarus command, and the trial protocol that other programs are measured by.

mod sys;
pub mod trial;
