//! The plots of a report as an image of their own, for documents that cannot hold a page.

use super::chart::{Bars, HOLLOW, incast_bars, race_legend, race_plots};
use super::data::{Header, IncastReport, RaceReport};
use super::plot::{HEIGHT, WIDTH, escape};
use super::table::{grouped, rate};
use std::fmt::Write;

const STYLE: &str = include_str!("plot.css");

/// Blank at the edges.
const MARGIN: f64 = 20.0;

/// The plots of a race as an SVG file; it follows the reader's choice of a light or a dark page.
pub fn race_image(report: &RaceReport) -> String {
    let plots = race_plots(report);
    let width = 2.0 * WIDTH + 3.0 * MARGIN;
    let rack = &report.header.rack;
    let mut body = heading(
        "Round-trip time against message length",
        &format!(
            "{} hosts on {} links, {} at {:.0} % load, {} s for each transport",
            rack.hosts,
            rate(rack.rate),
            report.workload.name,
            report.load * 100.0,
            report.seconds
        ),
    );
    if plots.is_empty() {
        body += &said(MARGIN, 96.0, "Nothing was measured: the rack failed its proof.");
    }
    let mut x = MARGIN;
    for (key, name) in race_legend(report) {
        let _ = write!(body, "<g transform=\"translate({x:.0} 82)\">{key}</g>");
        body += &format!("<text x=\"{:.0}\" y=\"92\">{}</text>", x + 41.0, escape(&name));
        x += 66.0 + 7.2 * name.chars().count() as f64;
    }
    for (index, plot) in plots.iter().enumerate() {
        let x = MARGIN + index as f64 * (WIDTH + MARGIN);
        let _ = write!(body, "<g transform=\"translate({x:.0} 106)\">{}</g>", plot.contents());
    }
    let bottom = 106.0 + HEIGHT + 26.0;
    body += &said(MARGIN, bottom, &format!("{HOLLOW} {}", source(&report.header)));
    document(&body, width, bottom + 16.0)
}

/// The bars of an incast as an SVG file.
pub fn incast_image(report: &IncastReport) -> String {
    let rack = &report.header.rack;
    let mut body = heading(
        &format!("Incast: {} servers answer one client at once", report.servers),
        &format!(
            "{} bytes each over one {} link, {} rounds, beside a probe of {} bytes",
            grouped(u64::from(report.reply_bytes)),
            rate(rack.rate),
            report.rounds,
            grouped(u64::from(report.probe_bytes))
        ),
    );
    let mut y = 92.0;
    for bars in incast_bars(report) {
        let _ = write!(body, "<text class=\"title\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", escape(&bars.title));
        body += &said(MARGIN, y + 18.0, &bars.note);
        let _ = write!(body, "<g transform=\"translate(0 {})\">{}</g>", y + 26.0, bars.contents());
        y += bars.height() + 60.0;
    }
    body += &said(MARGIN, y, &source(&report.header));
    document(&body, Bars::WIDTH, y + 16.0)
}

fn heading(title: &str, below: &str) -> String {
    format!("<text class=\"heading\" x=\"{MARGIN}\" y=\"36\">{}</text>{}", escape(title), said(MARGIN, 60.0, below))
}

fn said(x: f64, y: f64, text: &str) -> String {
    format!("<text class=\"tick\" x=\"{x}\" y=\"{y}\">{}</text>", escape(text))
}

/// By what the image was made.
fn source(header: &Header) -> String {
    format!("homarus {}, {}: {}", header.homarus_version, header.machine.kernel, header.command)
}

fn document(body: &str, width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\
         <style>{STYLE}</style><rect class=\"ground\" width=\"{width}\" height=\"{height}\" rx=\"10\"/>{body}</svg>\n"
    )
}
