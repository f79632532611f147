use super::*;
use serde_json::Value;
use std::collections::BTreeSet;

const DOCUMENT: &str = include_str!("../../../../docs/compare-json.md");

fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            found.insert(key.clone());
            keys(value, found);
        }),
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

fn written() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    keys(&serde_json::to_value(sample::race()).unwrap(), &mut found);
    keys(&serde_json::to_value(sample::incast()).unwrap(), &mut found);
    found
}

#[test]
fn every_field_of_the_json_is_documented() {
    let missing: Vec<String> = written().into_iter().filter(|key| !DOCUMENT.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "docs/compare-json.md does not name {missing:?}");
}

#[test]
fn every_documented_field_is_in_the_json() {
    let written = written();
    let rows = DOCUMENT.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let named = rows.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`').to_owned());
    let gone: Vec<String> = named.filter(|name| !written.contains(name)).collect();
    assert!(gone.is_empty(), "docs/compare-json.md names {gone:?}, which no report has");
    assert!(DOCUMENT.contains(&format!("`schema_version` is {SCHEMA_VERSION}")));
}

#[test]
fn a_report_survives_the_trip_through_json() {
    let race = sample::race();
    let text = serde_json::to_string(&race).unwrap();
    assert_eq!(serde_json::from_str::<RaceReport>(&text).unwrap(), race);
}

#[test]
fn the_verdict_names_the_best_tcp_of_each_figure_and_one_for_all() {
    let verdict = sample::race().verdict.unwrap();
    assert_eq!(verdict.reference_tcp, "tcp-cubic-pool");
    let found: Vec<(&str, &str, &str, f64)> = verdict
        .figures
        .iter()
        .map(|f| (f.messages.as_str(), f.quantile.as_str(), f.best_tcp.as_str(), f.reference_tcp_us))
        .collect();
    let expected = [
        ("shortest_10_percent", "p50", "tcp-cubic-pipelined", 10_000.0),
        ("shortest_10_percent", "p99", "tcp-cubic-pool", 60_000.0),
        ("longest_1_percent", "p50", "tcp-cubic-pipelined", 1.8e6),
        ("longest_1_percent", "p99", "tcp-cubic-pipelined", 3.0e6),
    ];
    assert_eq!(found, expected);
    assert!(matches!(&verdict.behind[..], [b] if b.quantile == "p50" && b.least_bytes == 1_000_000));
}

#[test]
fn without_tcp_or_without_homa_there_is_no_verdict() {
    let transports = sample::race().transports;
    assert_eq!(verdict(&transports[..1]), None);
    assert_eq!(verdict(&transports[1..]), None);
    assert!(verdict(&transports).is_some());
}

#[test]
fn every_form_says_where_homa_helps_and_where_not_and_what_is_marked() {
    let report = sample::race();
    for text in [race_table(&report), race_page(&report)] {
        let plain = text.replace("<b>", "").replace("</b>", "");
        for says in [
            "Homa helps: the P50 of the shortest 10 % is 1.00 ms against 5.00 ms of TCP cubic pipelined (5.0 × lower); the P99 of",
            "Homa does not help: the P50 of the longest 1 % is 1.50 s against 1.20 s of TCP cubic pipelined (1.2 × HIGHER).",
            "By length, some TCP was faster in: P50 of 1,000,000",
            "lowest P99 of the shortest 10 % that is TCP cubic pool, the reference.",
            "to be read with the marks: TCP bbr pool.",
            "achieved 70.0 % load where 80.0 % were offered",
        ] {
            assert!(plain.contains(says), "missing {says:?} in {plain}");
        }
    }
}

#[test]
fn an_incast_is_judged_in_its_rounds_and_in_what_it_does_to_others() {
    let report = sample::incast();
    for text in [incast_table(&report), incast_page(&report)] {
        let text = text.replace("&#39;", "'");
        for says in [
            "The median round takes 1.00 ms with Homa and 1.00 ms with TCP cubic pool, the best TCP in it: the same within 5 %.",
            "The probe's P99 takes 2 µs with Homa and 20 µs with TCP cubic pool, the best TCP in it: 10.0 × lower.",
            "round 3 was not over",
        ] {
            assert!(text.contains(says), "missing {says:?} in {text}");
        }
    }
}

/// Checks that tags are closed in order, but for those that HTML does not close.
fn assert_balanced(text: &str) {
    let mut open = Vec::new();
    for tag in text.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag) {
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap_or_default();
        if tag.starts_with('!') || tag.ends_with('/') || name == "meta" {
            continue;
        }
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closing {tag}");
        } else {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn pages_and_images_need_nothing_else_and_are_well_formed() {
    let (race, incast) = (sample::race(), sample::incast());
    for text in [race_page(&race), incast_page(&incast), race_image(&race), incast_image(&incast)] {
        let bare = text.replace("http://www.w3.org/2000/svg", "");
        for outside in ["http:", "https:", "src=", "@import", "url(", "<script", "<link"] {
            assert!(!bare.contains(outside), "{outside}");
        }
        assert!(!bare.contains("a<b&c") && !bare.contains("NaN") && !bare.contains("inf\""));
        assert_balanced(&text);
    }
    for image in [race_image(&race), incast_image(&incast)] {
        assert!(image.starts_with("<svg xmlns=") && image.contains("Homa") && image.contains("TCP cubic pool"));
    }
}

#[test]
fn a_rack_that_failed_its_proof_has_no_plots_but_a_reason() {
    let mut report = sample::race();
    (report.transports, report.verdict, report.idle) = (Vec::new(), None, Vec::new());
    report.header.proof.passed = false;
    report.header.proof.failures.push("the links were slow".to_owned());
    assert!(race_page(&report).contains("the links were slow") && race_table(&report).contains("the links were slow"));
    assert!(race_image(&report).contains("Nothing was measured"));
}

#[test]
fn times_are_compared_in_words() {
    assert_eq!(verdict::against(10.0, 75.0), "7.5 × lower");
    assert_eq!(verdict::against(20.0, 10.0), "2.0 × HIGHER");
    assert_eq!(verdict::against(10.0, 10.3), "the same within 5 %");
}
