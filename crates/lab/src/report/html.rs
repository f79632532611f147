use super::data::{IncastReport, RaceReport};
/// page
pub fn race_page(_report: &RaceReport) -> String {
    String::new()
}
/// page
pub fn incast_page(_report: &IncastReport) -> String {
    String::new()
}
