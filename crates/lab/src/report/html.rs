//! The report as a page that needs nothing but itself.

use super::data::{ClassReport, Header, IncastReport, IncastTransport, Quantiles, RaceReport, RaceTransport};
use super::plot::{Line, Plot, decades, escape, range};
use super::table::{grouped, rate, time};
use super::verdict::verdicts;
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");

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
    warnings(&mut body, &report.header, report.transports.iter().flat_map(|t| t.marks.iter().map(|m| (&t.name, m))));
    if !report.transports.is_empty() {
        tiles(&mut body, report);
        plots(&mut body, report);
        lengths_table(&mut body, report);
        runs_table(&mut body, report);
    }
    proof(&mut body, &report.header);
    body += HOW_RACE;
    machine(&mut body, &report.header);
    document("Homa against TCP", &body)
}

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
    let marks = report.transports.iter().filter_map(|t| Some((&t.name, t.failure.as_ref()?)));
    warnings(&mut body, &report.header, marks);
    if !report.transports.is_empty() {
        let ideal = format!("The least that a round can take is {}.", time(report.ideal_round_ms * 1000.0));
        bars(&mut body, "Time of a round, median", &ideal, &report.transports, |t| Some(t.round_ms?.p50 * 1000.0));
        bars(&mut body, "Probe's round trip, P99", "", &report.transports, |t| Some(t.probe_us?.p99));
        incast_rows(&mut body, report);
    }
    proof(&mut body, &report.header);
    machine(&mut body, &report.header);
    document("Homa and TCP under incast", &body)
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\"><title>{title}</title><style>{STYLE}</style></head><body><main>{body}</main></body></html>\n"
    )
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0).replace(".0 %", " %")
}

fn warnings<'a>(out: &mut String, header: &Header, marks: impl Iterator<Item = (&'a String, &'a String)>) {
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
        let _ = write!(out, "<p class=\"mark\"><b>{}:</b> {}</p>", escape(name), escape(mark));
    }
}

fn tiles(out: &mut String, report: &RaceReport) {
    *out += "<div class=\"tiles\">";
    for verdict in verdicts(report) {
        let (factor, word) = verdict.factor();
        let good = if word == "lower" { " good" } else { "" };
        let _ = write!(
            out,
            "<div class=\"tile{good}\"><span>{}</span><b>{factor:.1} × {}</b><span>Homa {}, best TCP {} ({})</span></div>",
            verdict.what,
            word.to_lowercase(),
            time(verdict.homa),
            time(verdict.tcp),
            escape(&verdict.tcp_name)
        );
    }
    *out += "</div>";
}

/// CSS class of the transport at this place; Homa has its own colour, the others take turns.
fn class_of<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut others = 0;
    ids.map(|id| {
        if id == "homa" {
            return "homa".to_owned();
        }
        others += 1;
        format!("c{}", (others - 1) % 8 + 1)
    })
    .collect()
}

fn is_dashed(transport: &RaceTransport) -> bool {
    transport.id.ends_with("-pool")
}

fn plots(out: &mut String, report: &RaceReport) {
    let classes = class_of(report.transports.iter().map(|transport| transport.id.as_str()));
    let all = report.transports.iter().flat_map(|transport| &transport.buckets).filter_map(|bucket| bucket.rtt_us);
    let idle = report.idle.iter().map(|point| point.base_us);
    let times = range(all.flat_map(|q| [q.p50, q.p99]).chain(idle));
    let lengths = range(report.idle.iter().map(|point| f64::from(point.bytes)));
    let (Some(times), Some(lengths)) = (times, lengths) else { return };
    legend(out, report, &classes);
    *out += "<div class=\"plots\">";
    type Pick = fn(&Quantiles) -> f64;
    let panels: [(&str, Pick); 2] = [("Round trip, P50", |q| q.p50), ("Round trip, P99", |q| q.p99)];
    for (title, pick) in panels {
        let idle = Line {
            name: "best on the idle rack".to_owned(),
            class: "idle".to_owned(),
            dashed: false,
            marked: false,
            points: report.idle.iter().map(|point| (f64::from(point.bytes.max(1)), point.base_us)).collect(),
        };
        let transports = report.transports.iter().zip(&classes).map(|(transport, class)| Line {
            name: transport.name.clone(),
            class: class.clone(),
            dashed: is_dashed(transport),
            marked: true,
            points: transport
                .buckets
                .iter()
                .filter_map(|bucket| Some((bucket.mean_bytes.max(1.0), pick(&bucket.rtt_us?))))
                .collect(),
        });
        // Homa is drawn last, above the others.
        let mut lines: Vec<Line> = std::iter::once(idle).chain(transports).collect();
        lines.sort_by_key(|line| line.class == "homa");
        let plot = Plot { title: title.to_owned(), lines, x: lengths, y: decades(times) };
        let _ = write!(out, "<figure>{}</figure>", plot.svg());
    }
    *out += "</div>";
}

fn legend(out: &mut String, report: &RaceReport, classes: &[String]) {
    *out += "<h2>Round-trip time against message length</h2><div class=\"legend\">";
    let entry = |out: &mut String, class: &str, dashed: bool, name: &str| {
        let dashed = if dashed { " dashed" } else { "" };
        let _ = write!(
            out,
            "<span><svg viewBox=\"0 0 30 12\"><line class=\"line {class}{dashed}\" x1=\"1\" x2=\"29\" y1=\"6\" y2=\"6\"/></svg>{}</span>",
            escape(name)
        );
    };
    for (transport, class) in report.transports.iter().zip(classes) {
        entry(out, class, is_dashed(transport), &transport.name);
    }
    entry(out, "idle", false, "best on the idle rack");
    *out += "</div>";
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

fn kilobytes(bytes: f64) -> String {
    format!("{:.1} KB", bytes / 1000.0)
}

fn bars(
    out: &mut String,
    title: &str,
    note: &str,
    transports: &[IncastTransport],
    pick: impl Fn(&IncastTransport) -> Option<f64>,
) {
    let classes = class_of(transports.iter().map(|transport| transport.id.as_str()));
    let greatest = transports.iter().filter_map(&pick).fold(0.0, f64::max);
    let height = transports.len() * 34 + 8;
    let _ = write!(
        out,
        "<h2>{title}</h2><p class=\"soft\">{note}</p><div class=\"plots\"><figure><svg viewBox=\"0 0 900 {height}\" role=\"img\" \
         aria-label=\"{title}\">"
    );
    for (index, (transport, class)) in transports.iter().zip(&classes).enumerate() {
        let y = index * 34 + 8;
        let value = pick(transport);
        let width = value.map_or(0.0, |value| value / greatest.max(1e-9) * 590.0).max(2.0);
        let _ = write!(
            out,
            "<text x=\"188\" y=\"{}\" text-anchor=\"end\">{}</text><rect class=\"bar {class}\" x=\"200\" y=\"{y}\" width=\"{width:.1}\" \
             height=\"22\" rx=\"3\"/><text x=\"{:.1}\" y=\"{}\">{}</text>",
            y + 16,
            escape(&transport.name),
            208.0 + width,
            y + 16,
            value.map_or("–".to_owned(), time)
        );
    }
    *out += "</svg></figure></div>";
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

const HOW_RACE: &str = "<h2>How it was measured</h2>\
<p>Each host is a process in a network namespace of its own; the switch gives each port strict priorities and a bounded buffer, and each \
host's own link is one FIFO at the same rate. Requests arrive at each host at random times (Poisson), whatever becomes of earlier ones, and \
go to a host chosen at random; every transport sees the same arrivals. A round trip is counted from the scheduled time of the request until \
the last byte of the response.</p>\
<p>Load is wire bytes of requests and responses over link capacity, by TCP's framing for every transport. The shortest 10 % are the messages no \
longer than the length that 10 % do not exceed, the longest 1 % those at least as long as the length that 99 % do not exceed. Slowdown is the round trip over the \
best round trip that any transport had for that length on the idle rack.</p>\
<p>TCP has its best: long-lived connections without Nagle's delay, opened beforehand; <i>pipelined</i> shares one connection for each pair of \
hosts, <i>pool</i> gives each RPC in flight a connection of its own.</p>";

fn machine(out: &mut String, header: &Header) {
    let machine = &header.machine;
    let _ = write!(
        out,
        "<h2>Machine and command</h2><p>{} cores of {}, {:.0} GB of memory, {}, {}; homarus {}.</p><p><code>{}</code></p>",
        machine.cores,
        escape(&machine.processor),
        machine.memory as f64 / 1e9,
        escape(&machine.kernel),
        escape(&machine.privilege),
        escape(&header.homarus_version),
        escape(&header.command)
    );
}
