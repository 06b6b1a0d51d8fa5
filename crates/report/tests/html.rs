//! Rules for every page: no figure is lost, no resource is loaded, and no text breaks out of its markup.

use std::collections::BTreeMap;

use report::{Found, IndexEntry, Sides, comparison_html, experiment_html, index_html, study_html};
use results::{
    AgentRecord, Arrivals, ErrorCount, Experiment, Gate, GateResult, Invalid, LoopKind, Operation,
    OperationLimit, Reason, ServerFigures, Service, ServiceUsage, TierWork, Verdict,
};
use spec::workload::{Pacing, Video};
use spec::{Spec, Workload};

const SECTIONS: [&str; 10] = [
    "summary",
    "latency",
    "throughput",
    "time",
    "trials",
    "generator",
    "repeat",
    "configuration",
    "host",
    "reading",
];

/// Every page that the samples give, by name.
fn pages() -> Vec<(String, String)> {
    let live = crate::sample::live(3);
    let mut pages = vec![
        ("sweep".to_owned(), experiment_html(&crate::sample::sweep())),
        ("live".to_owned(), experiment_html(&live)),
        ("load".to_owned(), experiment_html(&crate::sample::load())),
        ("closed".to_owned(), experiment_html(&crate::sample::closed())),
        ("disturbed".to_owned(), experiment_html(&crate::sample::disturbed())),
        ("viewing".to_owned(), experiment_html(&crate::sample::viewing())),
        ("viewed".to_owned(), experiment_html(&crate::sample::viewed())),
        ("traced".to_owned(), experiment_html(&crate::sample::traced())),
        (
            "comparison".to_owned(),
            comparison_html(&crate::sample::comparison(&live), Sides::Results(&live, &live)),
        ),
    ];
    let study = crate::sample::study();
    pages.push(("study".to_owned(), study_html(&study)));
    for (name, other) in crate::sample::studies_in_trouble() {
        pages.push((format!("study, {name}"), study_html(&other)));
        let page = comparison_html(&crate::sample::compared(&study, &other), Sides::Studies(&study, &other));
        pages.push((format!("study compared, {name}"), page));
    }
    pages.push(("study, index".to_owned(), index_html("results", &index())));
    for (name, experiment) in crate::sample::degenerate() {
        pages.push((name.to_owned(), experiment_html(&experiment)));
        let mut comparison = crate::sample::comparison(&live);
        let page = comparison_html(&comparison, Sides::Results(&experiment, &live));
        pages.push((format!("comparison with {name}"), page));
        comparison.figures.clear();
        let page = comparison_html(&comparison, Sides::Results(&experiment, &experiment));
        pages.push((format!("{name}, nothing in common"), page));
    }
    pages
}

/// An index over every sample, among them a folder that cannot be read.
fn index() -> Vec<IndexEntry> {
    let entry = |folder: &str, found| IndexEntry { folder: folder.into(), has_page: true, found };
    let mut entries = vec![
        entry("2026-study", Found::Study(Box::new(crate::sample::study()))),
        entry("2026-sweep", Found::Experiment(Box::new(crate::sample::sweep()))),
        entry("javascript:alert(1)", Found::Damaged("it has no schema number".into())),
    ];
    let studies = crate::sample::studies_in_trouble().into_iter();
    entries.extend(studies.map(|(name, study)| entry(name, Found::Study(Box::new(study)))));
    let experiments = crate::sample::degenerate().into_iter();
    entries
        .extend(experiments.map(|(name, experiment)| entry(name, Found::Experiment(Box::new(experiment)))));
    entries
}

/// The values of every attribute called `name`.
fn attributes<'a>(page: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let marker = format!(" {name}=\"");
    let starts: Vec<usize> = page.match_indices(&marker).map(|(at, found)| at + found.len()).collect();
    starts.into_iter().map(move |start| &page[start..start + page[start..].find('"').unwrap()])
}

#[test]
fn sections_stand_in_order() {
    let page = experiment_html(&crate::sample::sweep());
    let places: Vec<usize> = SECTIONS
        .iter()
        .map(|id| page.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}")))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(page.matches("<svg class=\"w\"").count(), 1);
    assert!(
        page.contains(
            "peak throughput under QoS 112–117\u{a0}krps (75\u{a0}% of its maximum of 151\u{a0}krps)"
        )
    );
}

#[test]
fn a_page_of_sessions_says_what_they_felt() {
    let page = experiment_html(&crate::sample::viewing());
    for words in [
        "peak throughput under QoS 6.00–6.50\u{a0}sessions/s",
        "of them at once",
        "start-up delay p95 ≤\u{a0}2\u{a0}s, rebuffer ratio ≤\u{a0}1\u{a0}%, misses ≤\u{a0}1\u{a0}%",
        "What sessions felt",
        "Start-up delay against offered load",
        "Misses against offered load",
        "Rebuffering against offered load",
        "Sessions under way against offered load",
        "Start-up delay: share that took no longer",
        "Response time by operation at",
        "Response time by operation against offered load",
        "Media buffered over time",
        "Sessions under way over time",
        "Requests answered against offered load",
        "offered load (sessions/s)",
        "QoS 1 %",
        "What became of the sessions",
        "What was measured of sessions",
        "720p",
        "rebuffer ratio",
    ] {
        assert!(page.contains(words), "{words}");
    }
    // Their load is in sessions, and no response time is judged.
    assert!(!page.contains("achieved = offered") && !page.contains("QoS judges the"));
    let requests = experiment_html(&crate::sample::sweep());
    for words in ["sessions/s", "What sessions felt", "start-up", "rebuffer"] {
        assert!(!requests.contains(words), "{words}");
    }
}

#[test]
fn a_page_of_traced_requests_says_where_their_time_went() {
    let page = experiment_html(&crate::sample::traced());
    let section = &page[page.find("id=\"traces\"").unwrap()..page.find("id=\"generator\"").unwrap()];
    for words in [
        "Where the time goes, service by service",
        "Whose time it is",
        "What it was spent on",
        "The middle and the tail at",
        "A median request: browse at",
        "A request of the slowest hundredth: browse at",
        "A median and a slow request of review at",
        "Calls and how long they take",
        "Each service and store over all traced operations",
        "What the parts of a request sum to",
        "Coverage: traced requests of the window",
        "What tracing cost",
        "compose-page.compose",
        "get movies-cache",
        "from 10\u{a0}% ",
        "transit and queues make up",
    ] {
        assert!(section.contains(words), "{words}");
    }
    // No request was lost, so no bar is hatched.
    assert!(!section.contains("hatched-note"));
    let mut lost = crate::sample::traced();
    for trial in &mut lost.trials {
        trial.traces.as_mut().unwrap().coverage.joined -= 1;
    }
    assert!(experiment_html(&lost).contains("traced requests have no span at the entrance"));
    assert!(!experiment_html(&crate::sample::sweep()).contains("id=\"traces\""));
}

/// The captions of tables in which a row has more or fewer cells than there are heads.
fn ragged(page: &str) -> Vec<&str> {
    // Columns and rows that each cell of a row spans.
    let spans = |row: &str| -> Vec<(usize, usize)> {
        let cells = row.split("<t").filter(|cell| cell.starts_with(['d', 'h']));
        let span = |cell, name| attributes(cell, name).next().map_or(1, |span| span.parse().unwrap());
        cells.map(|cell| (span(cell, "colspan"), span(cell, "rowspan"))).collect()
    };
    let is_ragged = |table: &&str| {
        let Some((head, body)) = table.split_once("</thead>") else { return false };
        // The first row of heads spans all of them.
        let heads: usize = spans(head.split("<tr").nth(1).unwrap()).iter().map(|(columns, _)| columns).sum();
        let mut open: Vec<(usize, usize)> = Vec::new();
        body.split("<tr").skip(1).any(|row| {
            open.extend(spans(row));
            let width: usize = open.iter().map(|(columns, _)| columns).sum();
            open.retain_mut(|(_, rows)| {
                *rows -= 1;
                *rows > 0
            });
            width != heads
        })
    };
    let tables = page.split("<table").skip(1).map(|table| table.split("</table>").next().unwrap());
    let caption = |table| {
        between(table, "<caption>", "</caption>").or_else(|| between(table, "<thead>", "</thead>")).unwrap()
    };
    tables.filter(is_ragged).map(caption).collect()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.split_once(start).and_then(|(_, rest)| rest.split_once(end)).map(|(found, _)| found)
}

#[test]
fn tables_have_a_cell_below_each_head() {
    for (name, page) in pages() {
        assert_eq!(ragged(&page), [""; 0], "{name}");
    }
    let check = |rows: &str, is_ragged: bool| {
        let head = "<thead><tr><th>a</th><th colspan=\"2\">b</th></tr></thead>";
        let page = format!("<table><caption>c</caption>{head}<tbody>{rows}</tbody></table>");
        assert_eq!(!ragged(&page).is_empty(), is_ragged, "{rows}");
    };
    check("<tr><th>1</th><td>2</td><td>3</td></tr>", false);
    check("<tr><th rowspan=\"2\">1</th><td>2</td><td>3</td></tr><tr><td colspan=\"2\">4</td></tr>", false);
    check("<tr><th>1</th><td>2</td></tr>", true);
}

#[test]
fn targets_whose_requests_were_traced_have_a_table_of_services_each() {
    let check = |loads: usize, captions: &[&str]| {
        let mut two = crate::sample::traced();
        two.trials.truncate(loads);
        let mut other = two.clone();
        other.targets.iter_mut().for_each(|target| target.name = "movies-java".into());
        other.trials.iter_mut().for_each(|trial| trial.target = "movies-java".into());
        two.targets.append(&mut other.targets);
        two.trials.append(&mut other.trials);
        let page = experiment_html(&two);
        assert_eq!(ragged(&page), [""; 0], "{loads} loads");
        let begin = "<caption>Each service and store over all traced operations (";
        let of: Vec<&str> = page.split(begin).skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
        assert_eq!(of, captions);
    };
    check(1, &["at movies · 10 % · 30.0 rps", "at movies-java · 10 % · 30.0 rps"]);
    let both = |name: &str| {
        let at = |load: &str| format!("{name} · {load} rps");
        format!("low is {}, high is {}", at("10 % · 30.0"), at("50 % · 150"))
    };
    check(2, &[&both("movies"), &both("movies-java")]);
}

#[test]
fn a_page_says_what_the_host_left() {
    let page = experiment_html(&crate::sample::disturbed());
    let header = &page[..page.find("id=\"latency\"").unwrap()];
    for words in
        ["not measurable on this host now", "what can still be told: maximum throughput", "What would help"]
    {
        assert!(header.contains(words), "{words}: {header}");
    }
    assert!(!header.contains("missed the QoS") && !header.contains("met the QoS"), "{header}");
}

#[test]
fn one_step_of_a_search_does_not_stretch_the_figure_of_throughput() {
    let figure = |experiment: &Experiment| {
        let page = experiment_html(experiment);
        let from = page.find("Achieved against offered throughput").unwrap();
        let length = page[from..].find("</figure>").unwrap();
        page[from..from + length].to_owned()
    };
    let mut experiment = crate::sample::sweep();
    experiment.trials.retain(|trial| trial.offered_rps < 1.2 * crate::sample::SPHINX.max_rps);
    assert!(!figure(&experiment).contains("at the right edge"));
    experiment.trials[0].offered_rps = 40_000_000.0;
    let stretched = figure(&experiment);
    assert!(stretched.contains("offered load (krps)"), "the axis is that of the loads: {stretched}");
    let said = "1 trial of a search, which offered up to 40.0 Mrps, stands at the right edge.";
    assert!(stretched.replace('\u{a0}', " ").contains(said), "{stretched}");
}

#[test]
fn a_page_of_one_load_begins_with_its_figures_and_draws_no_lone_dots() {
    let mut experiment = crate::sample::load();
    crate::sample::widen(&mut experiment);
    let page = experiment_html(&experiment);
    let first = page[..page.find("<section id=\"time\"").unwrap()].replace('\u{a0}', " ");
    for words in [
        "cluster, cache at 90.0 krps",
        "<dt>p99.9</dt>",
        "confidence: bounds only",
        "stop rustc, then",
        "59 errors",
    ] {
        assert!(first.contains(words), "{words}: {first}");
    }
    assert!(!page.contains("against offered") && !page.contains("Generator’s own lag"));
    for folded in ["generator", "configuration", "host", "reading"] {
        assert!(page.contains(&format!("<details class=\"section\" id=\"{folded}\">")), "{folded}");
    }
}

#[test]
fn the_hit_ratio_is_drawn_of_trials_with_gets() {
    let mut experiment = crate::sample::load();
    let title = "Hit ratio over time";
    assert!(!experiment_html(&experiment).contains(title));
    for (i, window) in experiment.trials[0].windows.iter_mut().enumerate() {
        // A window without gets leaves a gap.
        (window.hits, window.gets) = (Some(i as u64 % 7), Some(if i == 3 { 0 } else { 10 }));
    }
    let page = experiment_html(&experiment);
    assert!(page.contains(title) && page.contains(">100 %<") && !page.contains("NaN"), "{page}");
}

#[test]
fn figures_that_are_only_bounded_are_bars_with_names() {
    let mut experiment = crate::sample::sweep();
    experiment.trials.retain(|trial| trial.purpose == results::Purpose::LoadPoint && trial.block == 0);
    assert!(!experiment_html(&experiment).contains("class=\"interval"));
    crate::sample::widen(&mut experiment);
    let page = experiment_html(&experiment);
    for drawn in ["class=\"interval p99\"", "class=\"interval p999\"", ">p99.9</text>", "Bars: between what"]
    {
        assert!(page.contains(drawn), "{drawn}");
    }
    assert!(!page.contains("leader"));
}

#[test]
fn operations_with_limits_have_their_share_and_the_work_of_the_server() {
    let mut experiment = crate::sample::sweep();
    let plain = experiment_html(&experiment);
    assert!(!plain.contains("<th>due</th>") && !plain.contains("in the server, mean"), "none has a limit");
    for trial in &mut experiment.trials {
        trial.operations = vec![Operation {
            name: "home".into(),
            outcomes: Some(Arrivals::default()),
            within: Some(OperationLimit { limit_us: 1e6, due: 200, within: 190 }),
            tiers: vec![TierWork { name: "db".into(), mean_us: 1_500.0, calls: 12.0 }],
            ..Operation::default()
        }];
    }
    let page = experiment_html(&experiment);
    for cell in [
        "<th>due</th>",
        "<th>p95</th>",
        "<td>200</td>",
        "<td>1 s</td>",
        "<td>95 %</td>",
        "<td>db 1.50 ms (12)</td>",
    ] {
        assert!(page.contains(cell), "{cell}");
    }
}

/// A sweep of two services, one of which calls the other.
fn two_services() -> Experiment {
    let mut experiment = crate::sample::sweep();
    let service = |name: &str, calls: &[&str]| Service {
        name: name.into(),
        version: format!("{name} 1.2"),
        calls: calls.iter().map(|&name| name.into()).collect(),
        entrances: if calls.is_empty() { Vec::new() } else { vec!["web".into()] },
        form: "bare".into(),
        instances: 1,
        threads: 2,
        memory_bytes: 64 << 20,
        cpus: vec![0],
        ..Service::default()
    };
    experiment.targets[0].services = vec![service("origin", &[]), service("front", &["origin"])];
    for trial in &mut experiment.trials {
        trial.services = [("origin", 1.0), ("front", 3.0)]
            .map(|(name, cpu_s)| ServiceUsage {
                name: name.into(),
                cpu_s: Some(cpu_s),
                resident_bytes: Some(5_000_000),
                counters: BTreeMap::from([("requests".into(), 7.0)]),
                ..ServiceUsage::default()
            })
            .into();
    }
    experiment
}

#[test]
fn services_are_drawn_and_listed() {
    let experiment = two_services();
    let page = experiment_html(&experiment);
    assert!(page.contains("id=\"services\"") && page.contains("<h3>Topology</h3>"));
    assert_eq!(page.matches("75 % CPU time").count(), 2, "wide and for a phone");
    assert!(page.contains("front 1.2") && page.contains("Counters of origin that moved (1)"));
    // A single service has no drawing, and a server that already ran has no services.
    let mut one = experiment.clone();
    one.targets[0].services.truncate(1);
    let page = experiment_html(&one);
    assert!(page.contains("id=\"services\"") && !page.contains("<h3>Topology</h3>"));
    assert!(!experiment_html(&crate::sample::sweep()).contains("id=\"services\""));
    // Foreign text is escaped.
    let mut hostile = experiment;
    hostile.targets[0].services[0].name = "<b onclick=x>".into();
    hostile.targets[0].services[0].version = "\"><script>".into();
    let page = experiment_html(&hostile);
    assert!(!page.contains("<b onclick") && !page.contains("\"><script>"));
}

#[test]
fn every_trial_appears_and_invalid_ones_are_hatched() {
    let experiment = crate::sample::sweep();
    let page = experiment_html(&experiment);
    let rows: Vec<&str> = page.split("<tbody class=\"").skip(1).collect();
    assert_eq!(rows.len(), experiment.trials.len());
    for (trial, row) in experiment.trials.iter().zip(rows) {
        assert!(row.contains(&format!(">{}</th>", trial.id)), "{}", trial.id);
        let hatched = matches!(trial.verdict, Verdict::Invalid { .. });
        assert_eq!(row.starts_with("invalid hatched"), hatched, "{}", trial.id);
        if hatched {
            assert!(row.contains(&trial.verdict.to_string()), "{}", trial.id);
        }
    }
    assert!(page.contains("class=\"mark invalid p99\""));
    assert!(page.contains("id=\"hatch\""));
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    for (name, page) in pages() {
        for attribute in ["src", "href", "xlink:href", "action", "data", "srcset", "poster"] {
            for value in attributes(&page, attribute) {
                // A study and an index link the pages of their experiments, in the folders below them.
                let below = attribute == "href"
                    && name.starts_with("study")
                    && value.ends_with("/report.html")
                    && !value.contains(':')
                    && !value.contains("..")
                    && !value.starts_with('/');
                assert!(value.starts_with('#') || value == "data:," || below, "{name}: {attribute}={value}");
            }
        }
        assert!(page.match_indices("url(").all(|(at, _)| page[at..].starts_with("url(#")), "{name}");
        for forbidden in
            ["http://", "https://", "@import", "fetch(", "XMLHttpRequest", "<iframe", "<object", "<embed"]
        {
            assert!(!page.contains(forbidden), "{name}: {forbidden}");
        }
        assert!(page.contains("default-src 'none'"), "{name}");
    }
}

#[test]
fn coordinates_are_finite_whatever_was_measured() {
    let names = [
        "x",
        "y",
        "x1",
        "y1",
        "x2",
        "y2",
        "width",
        "height",
        "d",
        "transform",
        "viewBox",
        "data-points",
        "cx",
        "cy",
    ];
    for (name, page) in pages() {
        for svg in page.split("<svg ").skip(1).map(|rest| &rest[..rest.find("</svg>").unwrap()]) {
            let svg = format!(" {svg}");
            for value in names.iter().flat_map(|attribute| attributes(&svg, attribute)) {
                assert!(!value.contains("NaN") && !value.contains("inf"), "{name}: {value}");
                for number in value.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')) {
                    let parsed = number.parse::<f64>().unwrap_or(0.0);
                    assert!(parsed.abs() < 10_000.0, "{name}: {number} in {value:.80}");
                }
            }
        }
    }
}

#[test]
fn hostile_text_stays_text() {
    let hostile = r#"</script><script>alert(1)</script>"><img src=x onerror=alert(2)> {{x}} & 'q'"#;
    let mut experiment = crate::sample::live(3);
    experiment.name = hostile.into();
    experiment.notes.push(hostile.into());
    experiment.interrupted = Some(hostile.into());
    experiment.complete = false;
    experiment.command.push(hostile.into());
    experiment.host = serde_json::json!({ hostile: [hostile, { hostile: hostile }] });
    experiment.qos_basis_reason = hostile.into();
    for target in &mut experiment.targets {
        target.version = hostile.into();
    }
    let rename = |name: &mut String| {
        if name == "sphinx" {
            *name = hostile.into();
        }
    };
    experiment.targets.iter_mut().for_each(|target| rename(&mut target.name));
    let gate = "p99<1ms".parse::<Gate>().unwrap().evaluate(&experiment.trials[0]);
    for trial in &mut experiment.trials {
        rename(&mut trial.target);
        trial.id.push_str(hostile);
        trial.found.servers = vec![hostile.into()];
        trial.operations.iter_mut().for_each(|operation| operation.name = hostile.into());
        trial.generator.pace = hostile.into();
        trial.errors = vec![ErrorCount {
            kind: hostile.into(),
            count: 1,
            requests: Some(1),
            first_detail: Some(hostile.into()),
        }];
        trial.servers = vec![ServerFigures { address: hostile.into(), ..ServerFigures::default() }];
        let (name, address, version) = (hostile.to_owned(), hostile.to_owned(), hostile.to_owned());
        trial.agents = vec![AgentRecord { name, address, version, ..AgentRecord::default() }];
        let gate = GateResult { words: hostile.into(), gate: hostile.into(), ..gate.clone() };
        trial.gates = vec![gate];
        if let Verdict::Invalid { reasons } = &mut trial.verdict {
            reasons.push(Invalid { reason: Reason::ErrorRate, detail: hostile.into() });
        }
    }
    let mut comparison = crate::sample::comparison(&crate::sample::live(3));
    comparison.notes.push(hostile.into());
    comparison.differences.push(hostile.into());
    comparison.a.label = hostile.into();
    comparison.b.folder = hostile.into();
    (comparison.a.target, comparison.b.target) = (Some("memcached".into()), Some(hostile.into()));
    let compared = comparison_html(&comparison, Sides::Results(&experiment, &experiment));
    for page in [experiment_html(&experiment), compared] {
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("<img"));
        assert!(page.contains("&lt;img src=x onerror=alert(2)&gt;"));
    }
}

#[test]
fn hostile_text_in_a_study_stays_text() {
    for (name, page) in
        pages().iter().filter(|(name, _)| name.contains("markup in names") || name.contains("index"))
    {
        assert_eq!(page.matches("<script").count(), 2, "{name}");
        assert_eq!(page.matches("</script>").count(), 2, "{name}");
        assert!(!page.contains("<img"), "{name}");
        assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"), "{name}");
    }
}

#[test]
fn a_study_shows_all_that_its_record_has() {
    let study = crate::sample::study();
    let page = study_html(&study);
    let ids = [
        "summary",
        "claims",
        "figures",
        "tables",
        "skipped",
        "limits",
        "method",
        "measurements",
        "repeat",
        "host",
    ];
    let places: Vec<Option<usize>> = ids.iter().map(|id| page.find(&format!("id=\"{id}\""))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    // Each figure is drawn for both widths.
    assert_eq!(page.matches("<svg class=\"w\"").count(), study.figures.len());
    for expected in [
        "1 of 3 claims reproduced, 1 differs, 1 not measurable here",
        "not measurable here</span>",
        "QoS 1 ms",
        "class=\"mark hollow s0\"",
        "class=\"mark invalid s0\"",
        "class=\"bar hollow s0\"",
        "class=\"cell both\"",
        "class=\"cell-frame\"",
        "class=\"whisker s1\"",
        "Hollow: published (Author'99, Fig. 1)",
        "<tr class=\"published\">",
        "800–910 µs",
        "each core shows one thread",
        "2 cores: up to 1 server thread",
        "1 thread rather than 7",
        "href=\"memcached-0/report.html\"",
        "../elsewhere#0001",
        "generator lag over 100 µs",
        "memcached at 100 %: 4 of 7 trials overloaded",
        "memcached at 4: 2 of 7 trials overloaded",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    let hatched = page.matches("<tr class=\"hatched\">").count();
    assert_eq!(hatched, study.cells.iter().filter(|cell| !cell.verdict.is_usable()).count());
}

#[test]
fn two_machines_have_their_ratio_at_every_place() {
    let a = crate::sample::study();
    let mut b = crate::sample::study();
    b.host = serde_json::json!({"name": "other"});
    for point in
        b.figures.iter_mut().flat_map(|figure| &mut figure.series).flat_map(|series| &mut series.points)
    {
        point.y = point.y.map(|y| 2.0 * y);
    }
    let comparison = crate::sample::compared(&a, &b);
    let page = comparison_html(&comparison, Sides::Studies(&a, &b));
    // For three figures both sides and the ratio; the matrix twice.
    assert_eq!(page.matches("<svg class=\"w\"").count(), 8);
    let ratios = comparison.figures.iter().flat_map(|f| &f.series).flat_map(|s| &s.points);
    let ratios = ratios.filter(|point| point.ratio.is_some()).count();
    assert!(ratios > 40 && page.matches("<b>2.00×</b>").count() == ratios, "{ratios}");
    assert!(page.contains("class=\"one\""));
}

#[test]
fn an_index_has_a_card_for_each_result() {
    let entries = index();
    let page = index_html("results", &entries);
    assert_eq!(page.matches("<li class=\"card\">").count(), entries.len());
    assert!(page.contains("href=\"./2026-study/report.html\"") && page.contains("it has no schema number"));
    let places = ["id=\"studies\"", "id=\"experiments\"", "id=\"damaged\""].map(|id| page.find(id).unwrap());
    assert!(places.is_sorted());
}

#[test]
fn several_targets_lie_over_each_other() {
    let page = experiment_html(&crate::sample::live(3));
    for class in ["curve s0", "curve s1", "label s0", "label s1", "band s0", "band s1"] {
        assert!(page.contains(&format!("class=\"{class}\"")), "{class}");
    }
}

#[test]
fn few_repeats_are_not_judged() {
    let check = |repeats: u32, too_few: bool| {
        let live = crate::sample::live(repeats);
        let page = comparison_html(&crate::sample::comparison(&live), Sides::Results(&live, &live));
        assert_eq!(page.contains("too few to judge a difference"), too_few, "{repeats}");
        assert_eq!(page.contains("sphinx is faster (p"), !too_few, "{repeats}");
    };
    check(3, true);
    check(8, false);
}

#[test]
fn the_same_result_gives_the_same_page() {
    assert_eq!(experiment_html(&crate::sample::sweep()), experiment_html(&crate::sample::sweep()));
}

#[test]
fn a_closed_loop_is_named_wherever_it_is_seen() {
    let page = experiment_html(&crate::sample::closed());
    let headline = page.split("<h1>").nth(1).unwrap().split("</h1>").next().unwrap();
    assert!(headline.contains("closed loop"), "{headline}");
    let figures: Vec<&str> =
        page.split("<svg class=\"").skip(2).map(|rest| rest.split("</svg>").next().unwrap()).collect();
    assert!(figures.len() > 4);
    for figure in figures {
        assert!(figure.contains(">closed loop</text>"), "{figure:.200}");
    }
    let tables = page
        .split("<table")
        .filter(|table| table.contains("<caption>Closed loop, uncorrected beside corrected"));
    assert_eq!(tables.count(), 1);
    assert!(!page.contains("Load is open-loop") && page.contains("The corrected column adds"));
    let open = experiment_html(&crate::sample::load());
    assert!(!open.contains("closed loop") && open.contains("Load is open-loop"));
}

#[test]
fn sessions_that_are_closed_loops_are_not_called_open() {
    let page = |workload: Workload, kind: LoopKind| {
        let mut viewed = crate::sample::viewed();
        for trial in &mut viewed.trials {
            trial.spec = Some(Spec { workload: workload.clone(), ..Spec::default() });
            trial.loop_kind = kind;
        }
        experiment_html(&viewed)
    };
    let viewers =
        |pacing| page(Workload::Video(Box::new(Video { pacing, ..Video::default() })), LoopKind::Open);
    let open = ["Load is open-loop: sessions", "at times that were fixed", "at a time that was fixed"];
    let check = |page: &str, says: &[&str]| {
        for words in says {
            assert!(page.contains(words), "{words}");
        }
        for words in open.iter().filter(|words| !says.contains(words)) {
            assert!(!page.contains(words), "{words}");
        }
    };
    check(&viewers(Pacing::Open), &open);
    let within = [
        "Closed loop within each session",
        "each is a closed loop: it asks for a step after the answers before",
        "due at a time that depends on the answers before.",
    ];
    check(&viewers(Pacing::Closed), &within);
    check(&viewers(Pacing::Player), &within);
    let users = page(Workload::Social(Box::default()), LoopKind::Closed);
    check(&users, &["so many users are there at once", "due at a time that depends on the answers before."]);
    assert!(!users.contains("The corrected column"));
}

#[test]
fn a_load_shows_its_time_series_and_its_parts() {
    let page = experiment_html(&crate::sample::load());
    for expected in [
        "<dt>within 500 µs</dt><dd>99.9\u{a0}%</dd>",
        "Where response times fell",
        "class=\"heat5\"",
        "Outstanding over time",
        "Offered and achieved over time",
        "10.0.0.12:11211",
        "SERVER_ERROR out of memory storing object",
        "set-on-miss",
        "+310 µs ± 3 µs",
        "udp+tcp",
        "✗ p99&lt;100us",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
}

#[test]
fn a_configuration_has_the_names_of_its_options() {
    let page = experiment_html(&crate::sample::sweep());
    let check = |name: &str, value: &str| {
        assert!(page.contains(&format!("<dt>{name}</dt><dd>{value}</dd>")), "{name}");
    };
    check("workload.key-size", "fixed:30");
    check("generator.timeout", "2s");
}

/// Results of the first schema, as its last version wrote them.
#[test]
fn old_results_have_a_report() {
    for text in [
        include_str!("../../results/tests/fixtures/v1-load.json"),
        include_str!("../../results/tests/fixtures/v1-sweep.json"),
        include_str!("../../results/tests/fixtures/v1-live.json"),
    ] {
        let experiment: Experiment = serde_json::from_str(text).unwrap();
        let page = experiment_html(&experiment);
        for trial in &experiment.trials {
            assert!(page.contains(&format!(">{}</th>", trial.id)), "{}", trial.id);
        }
        // Figures without data are left out, all others are drawn.
        assert!(!page.contains("Where response times fell") && page.contains("Outstanding over time"));
        assert!(!page.contains("NaN"));
        assert!(!report::experiment_table(&experiment, 100, false).contains("within"));
    }
}
