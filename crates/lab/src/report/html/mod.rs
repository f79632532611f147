//! The report as a page that needs nothing but itself.

mod incast;
mod race;

pub use incast::incast_page;
pub use race::race_page;

use super::data::Header;
use super::plot::escape;
use super::table::time;
use std::fmt::Write;

const STYLE: [&str; 2] = [include_str!("../plot.css"), include_str!("../page.css")];

fn document(title: &str, body: &str) -> String {
    let [plots, page] = STYLE;
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\"><title>{title}</title><style>{plots}{page}</style></head><body><main>{body}</main></body></html>\n"
    )
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0).replace(".0 %", " %")
}

fn kilobytes(bytes: f64) -> String {
    format!("{:.1} KB", bytes / 1000.0)
}

fn warnings<'a>(out: &mut String, header: &Header, marks: impl Iterator<Item = (&'a str, String)>) {
    for failure in &header.proof.failures {
        let _ = write!(
            out,
            "<p class=\"mark\"><b>The rack failed its proof, nothing was measured:</b> {}</p>",
            escape(failure)
        );
    }
    for skipped in &header.skipped {
        let _ = write!(out, "<p class=\"mark\">Skipped: {}</p>", escape(skipped));
    }
    for (name, mark) in marks {
        let _ = write!(out, "<p class=\"mark\"><b>{}:</b> {}</p>", escape(name), escape(&mark));
    }
}

fn proof(out: &mut String, header: &Header) {
    let proof = &header.proof;
    let _ = write!(
        out,
        "<h2>The rack's proof</h2><p>With every link full in both directions they carried {} to {} of the rate set, and {} of the \
         processors' time was left. 100 bytes over UDP on the idle rack: {} (P50), {} (P99).",
        percent(proof.slowest_link),
        percent(proof.fastest_link),
        percent(proof.cpu_left),
        time(proof.idle_p50_us),
        time(proof.idle_p99_us)
    );
    if let (Some(high), Some(low)) = (proof.flooded_high_p50_us, proof.flooded_low_p50_us) {
        let _ = write!(
            out,
            " Beside a flood of the lowest priority: {} at the highest priority, {} at the flood's own.",
            time(high),
            time(low)
        );
    }
    *out += "</p>";
}

fn machine(out: &mut String, header: &Header) {
    let machine = &header.machine;
    let _ = write!(
        out,
        "<h2>Machine and command</h2><p>{} cores of {}, {:.0} GB of memory, {}, {}; homarus {}.</p><p>To repeat it:</p><pre><code>{}</code></pre>",
        machine.cores,
        escape(&machine.processor),
        machine.memory as f64 / 1e9,
        escape(&machine.kernel),
        escape(&machine.privilege),
        escape(&header.homarus_version),
        escape(&header.command)
    );
}
