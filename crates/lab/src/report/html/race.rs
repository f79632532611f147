use super::{document, kilobytes, machine, percent, proof, warnings};
use crate::report::chart::{HOLLOW, race_legend, race_plots};
use crate::report::data::{ClassReport, Quantiles, RaceReport, RaceTransport};
use crate::report::plot::escape;
use crate::report::table::{grouped, rate, time};
use crate::report::verdict::{Verdict, against, name_of, sentences};
use std::fmt::Write;

/// The page of a race.
pub fn race_page(report: &RaceReport) -> String {
    let mut body = String::new();
    let rack = &report.header.rack;
    let _ = write!(
        body,
        "<h1>Homa against TCP</h1><p class=\"soft\">{} hosts on {} links, {} load of {} (mean message {} bytes), requests and \
         responses of equal length, {} s for each transport</p>",
        rack.hosts,
        rate(rack.rate),
        percent(report.load),
        escape(&report.workload.name),
        grouped(report.workload.mean_bytes as u64),
        report.seconds
    );
    if let Some(verdict) = &report.verdict {
        tiles(&mut body, verdict, &report.transports);
        verdict_in_words(&mut body, verdict, &report.transports);
    }
    let marked = report.transports.iter().filter(|transport| !transport.marks.is_empty());
    warnings(&mut body, &report.header, marked.map(|transport| (transport.name.as_str(), transport.marks.join("; "))));
    if !report.transports.is_empty() {
        plots(&mut body, report);
        lengths_table(&mut body, report);
        runs_table(&mut body, report);
    }
    proof(&mut body, &report.header);
    body += HOW_RACE;
    machine(&mut body, &report.header);
    document("Homa against TCP", &body)
}

fn verdict_in_words(out: &mut String, verdict: &Verdict, transports: &[RaceTransport]) {
    *out += "<ul class=\"verdict\">";
    for sentence in sentences(verdict, transports) {
        // The first words tell what the sentence is about.
        let _ = match sentence.split_once(':') {
            Some((about, rest)) if about.starts_with("Homa") => {
                write!(out, "<li><b>{}:</b>{}</li>", escape(about), escape(rest))
            }
            _ => write!(out, "<li>{}</li>", escape(&sentence)),
        };
    }
    *out += "</ul>";
}

fn tiles(out: &mut String, verdict: &Verdict, transports: &[RaceTransport]) {
    *out += "<div class=\"tiles\">";
    for figure in &verdict.figures {
        let best = against(figure.homa_us, figure.best_tcp_us);
        let good = if best.ends_with("lower") { " good" } else { "" };
        let headline = best.strip_suffix(" within 5 %").unwrap_or(&best);
        let _ = write!(
            out,
            "<div class=\"tile{good}\"><span>{}</span><b>{}</b><span>Homa {}</span><span>best TCP in this figure: {}, {}</span>\
             <span>one TCP throughout: {}, {} ({})</span></div>",
            escape(&figure.what()),
            headline.to_lowercase(),
            time(figure.homa_us),
            time(figure.best_tcp_us),
            escape(name_of(transports, &figure.best_tcp)),
            time(figure.reference_tcp_us),
            escape(name_of(transports, &verdict.reference_tcp)),
            against(figure.homa_us, figure.reference_tcp_us).to_lowercase()
        );
    }
    *out += "</div>";
}

fn plots(out: &mut String, report: &RaceReport) {
    *out += "<h2>Round-trip time against message length</h2><div class=\"legend\">";
    for (key, name) in race_legend(report) {
        let _ = write!(out, "<span><svg viewBox=\"0 0 34 12\">{key}</svg>{}</span>", escape(&name));
    }
    *out += "</div><div class=\"plots\">";
    for plot in race_plots(report) {
        let _ = write!(out, "<figure>{}</figure>", plot.svg());
    }
    let _ = write!(out, "</div><p class=\"soft\">{HOLLOW}</p>");
}

fn lengths_table(out: &mut String, report: &RaceReport) {
    *out += "<h2>Round trips by message length</h2><div class=\"scroll\"><table><tr><th>length, bytes</th><th>messages</th>";
    for transport in &report.transports {
        let _ = write!(out, "<th class=\"group\" colspan=\"4\">{}</th>", escape(&transport.name));
    }
    *out += "</tr><tr><th></th><th></th>";
    for _ in &report.transports {
        *out += "<th class=\"first\">P50</th><th>P99</th><th>P99.9</th><th>slowdown P99</th>";
    }
    *out += "</tr>";
    let row = |out: &mut String, label: &str, sum: bool, pick: &dyn Fn(&RaceTransport) -> Option<&ClassReport>| {
        let count = report.transports.iter().filter_map(pick).map(|class| class.count).max().unwrap_or(0);
        let sum = if sum { " class=\"sum\"" } else { "" };
        let _ = write!(out, "<tr{sum}><td>{label}</td><td>{}</td>", grouped(count));
        for transport in &report.transports {
            let class = pick(transport);
            match class.and_then(|class| Some((class.rtt_us?, class.slowdown))) {
                Some((rtt, slowdown)) => {
                    let slowdown = slowdown.map_or("–".to_owned(), |slowdown| format!("{:.1}", slowdown.p99));
                    let _ = write!(
                        out,
                        "<td class=\"first\">{}</td><td>{}</td><td>{}</td><td>{slowdown}</td>",
                        time(rtt.p50),
                        time(rtt.p99),
                        time(rtt.p999)
                    );
                }
                None => *out += "<td class=\"first\">–</td><td>–</td><td>–</td><td>–</td>",
            }
        }
        *out += "</tr>";
    };
    let buckets = report.transports.first().map_or(&[][..], |transport| &transport.buckets);
    for (index, bucket) in buckets.iter().enumerate() {
        let least = if bucket.least_bytes == 0 { 1 } else { u64::from(bucket.least_bytes) };
        let label = format!("{} to {}", grouped(least), grouped(u64::from(bucket.greatest_bytes)));
        row(out, &label, false, &|transport| transport.buckets.get(index));
    }
    row(out, "shortest 10 %", true, &|transport| Some(&transport.shortest_10_percent));
    row(out, "longest 1 %", true, &|transport| Some(&transport.longest_1_percent));
    row(out, "all", true, &|transport| Some(&transport.all));
    *out += "</table></div>";
}

fn runs_table(out: &mut String, report: &RaceReport) {
    *out += "<h2>The runs</h2><div class=\"scroll\"><table><tr><th></th>";
    for head in [
        "load offered",
        "load achieved",
        "on the links",
        "slowdown P50",
        "slowdown P99",
        "packets resent",
        "switch drops",
        "queue peak",
        "queue mean",
        "host queue peak",
        "connections",
        "CPU left",
        "hosts waited for CPU",
    ] {
        let _ = write!(out, "<th>{head}</th>");
    }
    *out += "</tr>";
    for run in &report.transports {
        let slowdown =
            |pick: fn(&Quantiles) -> f64| run.all.slowdown.map_or("–".to_owned(), |q| format!("{:.2}", pick(&q)));
        let cells = [
            percent(run.offered_load),
            percent(run.achieved_load),
            percent(run.link_use),
            slowdown(|q| q.p50),
            slowdown(|q| q.p99),
            grouped(run.retransmitted_packets),
            grouped(run.switch.drops),
            kilobytes(run.switch.queue_peak_bytes as f64),
            kilobytes(run.switch.queue_mean_bytes),
            kilobytes(run.host_queue_peak_bytes as f64),
            grouped(run.connections),
            percent(run.cpu_left),
            percent(run.waited_for_cpu),
        ];
        let _ = write!(out, "<tr><td>{}</td>", escape(&run.name));
        for cell in cells {
            let _ = write!(out, "<td>{cell}</td>");
        }
        *out += "</tr>";
    }
    *out += "</table></div>";
}

const HOW_RACE: &str = "<h2>How it was measured</h2>\
<p>Each host is a process in a network namespace of its own; the switch gives each port strict priorities and a bounded buffer, and each \
host's own link is one FIFO at the same rate. Requests arrive at each host at random times (Poisson), whatever becomes of earlier ones, and \
go to a host chosen at random; every transport sees the same arrivals. A round trip is counted from the scheduled time of the request until \
the last byte of the response.</p>\
<p>Load is wire bytes of requests and responses over link capacity, by TCP's framing for every transport. The shortest 10 % are the messages no \
longer than the length that 10 % do not exceed, the longest 1 % those at least as long as the length that 99 % do not exceed. Slowdown is the round trip over the \
best round trip that any transport had for that length on the idle rack.</p>\
<p>TCP has its best: long-lived connections without Nagle's delay, opened beforehand; <i>pipelined</i> shares one connection for each pair of \
hosts, <i>pool</i> gives each RPC in flight a connection of its own. Its congestion control is in the name.</p>";
