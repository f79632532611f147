use super::{document, kilobytes, machine, proof, warnings};
use crate::report::chart::{Bars, incast_bars};
use crate::report::data::IncastReport;
use crate::report::plot::escape;
use crate::report::table::{grouped, rate, time};
use crate::report::verdict::incast_sentences;
use std::fmt::Write;

/// The page of an incast.
pub fn incast_page(report: &IncastReport) -> String {
    let mut body = String::new();
    let rack = &report.header.rack;
    let _ = write!(
        body,
        "<h1>Incast: {} servers answer one client at once</h1><p class=\"soft\">{} bytes each over one {} link, {} rounds, beside a \
         probe of {} bytes from another host every {} ms; {} KB of buffer a switch port</p>",
        report.servers,
        grouped(u64::from(report.reply_bytes)),
        rate(rack.rate),
        report.rounds,
        grouped(u64::from(report.probe_bytes)),
        report.probe_period_ms,
        rack.buffer / 1000
    );
    body += "<ul class=\"verdict\">";
    for sentence in incast_sentences(report) {
        let _ = write!(body, "<li>{}</li>", escape(&sentence));
    }
    body += "</ul>";
    let marks = report.transports.iter().filter_map(|t| Some((t.name.as_str(), t.failure.clone()?)));
    warnings(&mut body, &report.header, marks);
    if !report.transports.is_empty() {
        for bars in incast_bars(report) {
            let _ = write!(
                body,
                "<h2>{title}</h2><p class=\"soft\">{note}</p><div class=\"plots\"><figure><svg viewBox=\"0 0 {width} {height}\" role=\"img\" \
                 aria-label=\"{title}\">{contents}</svg></figure></div>",
                title = escape(&bars.title),
                note = escape(&bars.note),
                width = Bars::WIDTH,
                height = bars.height(),
                contents = bars.contents()
            );
        }
        incast_rows(&mut body, report);
    }
    proof(&mut body, &report.header);
    machine(&mut body, &report.header);
    document("Homa and TCP under incast", &body)
}

fn incast_rows(out: &mut String, report: &IncastReport) {
    *out += "<h2>All numbers</h2><div class=\"scroll\"><table><tr><th></th>";
    for head in [
        "round P50",
        "P99",
        "longest",
        "probe P50",
        "P99",
        "longest",
        "probes",
        "lost",
        "queue peak",
        "drops",
        "packets resent",
    ] {
        let _ = write!(out, "<th>{head}</th>");
    }
    *out += "</tr>";
    for run in &report.transports {
        let _ = write!(out, "<tr><td>{}</td>", escape(&run.name));
        for (quantiles, scale) in [(run.round_ms, 1000.0), (run.probe_us, 1.0)] {
            match quantiles {
                Some(q) => [q.p50, q.p99, q.max].iter().for_each(|value| {
                    let _ = write!(out, "<td>{}</td>", time(value * scale));
                }),
                None => *out += "<td>–</td><td>–</td><td>–</td>",
            }
        }
        let _ = write!(
            out,
            "<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            grouped(run.probes),
            run.probes_lost,
            kilobytes(run.port_queue_peak_bytes as f64),
            grouped(run.port_drops),
            grouped(run.retransmitted_packets)
        );
    }
    *out += "</table></div>";
}
