//! Limits that judgements, searches and probes rest on: each with the value that is compiled, and why it is that one.

use units::{SESSION_PERCENTILE, SessionFigure};

use super::chapter::{Entry, Section};
use super::constant::{self, Constant, Source, Unit};

/// Facts about a constant that its source does not state.
struct Limit {
    constant: &'static str,
    unit: Unit,
    /// Why it has this value.
    source: &'static str,
}

const fn limit(constant: &'static str, unit: Unit, source: &'static str) -> Limit {
    Limit { constant, unit, source }
}

const JUDGE: [Limit; 11] = [
    limit(
        "LAG_SHARE",
        Unit::Share,
        "ours, because it is the most by which the generator may falsify the p99 that is claimed",
    ),
    limit(
        "LAG_ALLOWED",
        Unit::Span,
        "ours, because a generator that sleeps wakes up 10 to 60 µs late, and a tenth of a short response time is less than that",
    ),
    limit(
        "MOVED_SHARE",
        Unit::Share,
        "ours, because it is as much as the generator's lag may be of the p99 that is claimed",
    ),
    limit(
        "MOVED_ALLOWED",
        Unit::Span,
        "ours, because wires and event loops add as much to known times (docs/reference/accuracy.md)",
    ),
    limit(
        "TAKEN_NAMED",
        Unit::Share,
        "ours, because a p99 is decided by 1 % of the requests, which as much of the time can hold up",
    ),
    limit(
        "SATURATED",
        Unit::Share,
        "ours, because the rest is what chance needs: a thread that works more has no time to catch up",
    ),
    limit(
        "ACHIEVED",
        Unit::Share,
        "ours, because the last answers of a window come after it: 10 ms of 5 s are 0.2 %, and chance adds to that",
    ),
    limit(
        "GROWTH",
        Unit::Share,
        "ours, because it is half of the share that may be missing from what is achieved",
    ),
    limit("SIGNIFICANT", Unit::Share, "ours, because chance alone may then fault one trial of a hundred"),
    limit(
        "ERRORS",
        Unit::Share,
        "ours, because it is a tenth of the requests beyond the p99: errors, which have no response time, cannot hide that",
    ),
    limit(
        "STARVED",
        Unit::Share,
        "ours, because it is as much as may be missing from what is achieved: a server that had nothing to do for longer is not why",
    ),
];

const STEADY: [Limit; 1] = [limit(
    "STEADY",
    Unit::Share,
    "ours, because medians differ by some tens of per cent where the host alone is at work, and a cache that fills makes more of it",
)];

const SESSIONS: [Limit; 3] = [
    limit(
        "FAULTS",
        Unit::Share,
        "CloudSuite 3's video streaming, whose run succeeds with errors of at most 5 % of the connections; time-outs are none here, but misses of the QoS",
    ),
    limit(
        "BY_CHANCE",
        Unit::Factor,
        "ours, because numbers of arrivals at random are Poisson's, whose difference exceeds three times √(2 · mean) once in 700 trials",
    ),
    limit("END", Unit::Share, "ours, because it is short against the sessions, and longer than a step takes"),
];

const WINDOWS: [Limit; 4] = [
    limit(
        "WINDOW",
        Unit::Span,
        "ours, because it has 1000 requests from 10 krps on, and a trial of seconds has tens of them",
    ),
    limit("MOST", Unit::Count, "ours, because memory must not grow with the length of a measurement"),
    limit("MIN_SAMPLES", Unit::Count, "ours, because that puts 10 of them beyond the p99"),
    limit("MIN_GROUPS", Unit::Count, "ours, because the median of fewer is one of them"),
];

const VOTE: [Limit; 1] = [limit(
    "SUSTAINED",
    Unit::Share,
    "ours, because the maximum throughput is defined by it (docs/glossary.md); IISWC'17 §III-B has it where requests are dropped",
)];

const BALLOTS: [Limit; 1] = [limit(
    "AGREEING",
    Unit::Count,
    "ours, because one trial may be an accident, and two of three take one trial more at most",
)];

const BISECTION: [Limit; 1] = [limit(
    "MOST_TRIALS",
    Unit::Count,
    "ours, because a search that takes longer watches a machine that changes faster than it can be measured",
)];

const MAXIMUM: [Limit; 5] = [
    limit(
        "FIRST_OFFER",
        Unit::Rate,
        "ours, because it is three times what a core serves without pipelining, and four times as much follows where it is sustained",
    ),
    limit("CLEAR_OVERLOAD", Unit::Factor, "ours, because a stall of the host explains less"),
    limit("FIRST_GUESS", Unit::Factor, "ours, because full queues and batches flatter a server a little"),
    limit("FAMILIAR", Unit::Factor, "ours, because strides that long take more trials than an overload does"),
    limit(
        "FLOOR",
        Unit::Share,
        "ours, because a server that sustains less of what it gives under overload is broken",
    ),
];

const PEAK: [Limit; 1] = [limit(
    "LIMIT",
    Unit::Factor,
    "ours, because a machine that is twice as fast as at its first maximum is another machine",
)];

const RUNNER: [Limit; 1] = [limit(
    "PEAK_TOLERANCE",
    Unit::Share,
    "ours, because it is half of the step between the loads of IISWC'17 Fig. 1",
)];

const CLAIMS: [Limit; 1] =
    [limit("LEVEL", Unit::Share, "ours, because it is the usual level, after Holm's correction")];

const SLOTS: [Limit; 2] = [
    limit("SHORTEST", Unit::Span, "ours, because a slot must hold one window of 100 ms, wherever it begins"),
    limit(
        "LONGEST",
        Unit::Span,
        "ours, because changes of the machine within seconds must fall on both kinds of slots",
    ),
];

const SAMPLES: [Limit; 3] = [
    limit(
        "RATE_HZ",
        Unit::Hertz,
        "ours, because a prime keeps no step with what beats in ms, and at 2 µs a sample it costs 0.1 %",
    ),
    limit("STACKS", Unit::Count, "ours, because the whole tree of a cache has fewer"),
    limit("MAY_LOSE", Unit::Share, "ours, because what is left of more may not be like the whole"),
];

const MEMORY: [Limit; 1] = [limit(
    "SEGMENTS",
    Unit::Count,
    "ours, because two or three of them stand empty, and what goes, goes by the segment (docs/reference/memory.md)",
)];

/// When a trial is invalid or overloaded.
pub(super) fn verdicts() -> Section {
    let sources: [(Source, &[Limit]); 4] = [
        (constant::JUDGE, &JUDGE),
        (constant::SESSIONS, &SESSIONS),
        (constant::STEADY, &STEADY),
        (constant::FOOTING, &[]),
    ];
    section("Limits of verdicts", "verdicts", &sources)
}

/// What sessions can be held to.
pub(super) fn sessions() -> Section {
    let figure = |figure: SessionFigure| Entry {
        name: format!("qos.{}", figure.name),
        value: None,
        meaning: format!(
            "{}, of which {}: {}, such as {}.",
            figure.words,
            if figure.is_cost { "less is better" } else { "more is better" },
            if figure.is_time { "a percentile of times" } else { "a ratio that the workload counts" },
            match figure {
                SessionFigure { is_time: true, name, .. } => format!("{name}<2s, {name}.p99<5s"),
                SessionFigure { is_cost: true, name, .. } => format!("{name}<1%"),
                SessionFigure { name, .. } => format!("{name}>95%"),
            }
        ),
        source: "ours, because it is what a user of the service feels (docs/glossary.md)".into(),
        ..Entry::default()
    };
    let percentile = Entry {
        name: "qos.session-percentile".into(),
        value: Some(format!("p{SESSION_PERCENTILE}")),
        meaning: "The percentile of a time of sessions that is judged where none is given.".into(),
        source: "ours, because one session in twenty is what 200 of them can tell".into(),
        ..Entry::default()
    };
    Section::new("What sessions are held to", SessionFigure::ALL.map(figure).into_iter().chain([percentile]))
}

/// The windows of the windowed p99, and how many samples a percentile takes.
pub(super) fn windows() -> Section {
    let mut section = section("Windows and percentiles", "qos", &[(constant::WINDOWS, &WINDOWS)]);
    section.entries.push(Entry {
        name: "qos.min-beyond".into(),
        value: Some(hist::MIN_BEYOND.to_string()),
        meaning: "The samples that must lie beyond a percentile before it is reported.".into(),
        source: "ours, because their count is Poisson: with 10 its relative standard error is 32 %".into(),
        ..Entry::default()
    });
    section
}

/// Searches for a maximum or a peak.
pub(super) fn searches() -> Section {
    let sources: [(Source, &[Limit]); 6] = [
        (constant::VOTE, &VOTE),
        (constant::BALLOTS, &BALLOTS),
        (constant::BISECTION, &BISECTION),
        (constant::MAXIMUM, &MAXIMUM),
        (constant::PEAK, &PEAK),
        (constant::RUNNER, &RUNNER),
    ];
    section("Limits of searches", "search", &sources)
}

/// How claims of studies, and differences of two results, are judged.
pub(super) fn claims() -> Section {
    let mut section = section("How claims are judged", "claims", &[(constant::CLAIMS, &CLAIMS)]);
    section.entries.push(Entry {
        name: "claims.min-to-judge".into(),
        value: Some(stats::MIN_TO_JUDGE.to_string()),
        meaning: "The blocks from which on a difference is tested.".into(),
        source:
            "ours, because six that agree have p = 0.031 by the signed-rank test, and five cannot reach 5 %"
                .into(),
        ..Entry::default()
    });
    section
}

/// Slots and samples of probes, and from when on their overhead is flagged.
pub(super) fn probes() -> Section {
    let mut section =
        section("Limits of probes", "probes", &[(constant::SLOTS, &SLOTS), (constant::SAMPLES, &SAMPLES)]);
    let flagged = [
        (
            "probes.throughput-limit",
            results::probes::Overhead::THROUGHPUT_LIMIT,
            "A probe that takes more of the throughput, or of the processor time that makes it, is flagged.",
            "ours, because it is what a maximum may be off by and still be sustained",
        ),
        (
            "probes.p99-limit",
            results::probes::Overhead::P99_LIMIT,
            "A probe that adds more to the 99th percentile is flagged.",
            "ours, because it is half of what the generator's lag may add",
        ),
    ];
    section.entries.extend(flagged.map(|(name, value, meaning, source)| Entry {
        name: name.into(),
        value: Unit::Share.shown(&value.to_string()),
        option: None,
        meaning: meaning.into(),
        source: source.into(),
    }));
    section
}

/// How Sphinx divides its memory.
pub(super) fn memory() -> Section {
    let mut section = section("How Sphinx divides its memory", "sphinx", &[(constant::MEMORY, &MEMORY)]);
    // The file's other constants concern descriptors and bounds.
    section.entries.retain(|entry| entry.name == "sphinx.segments");
    section
}

/// Every constant of the sources, in their order; one that is new to the table with the comment of its source.
fn section(title: &str, prefix: &str, sources: &[(Source, &[Limit])]) -> Section {
    let entries = sources.iter().flat_map(|(source, limits)| {
        source.constants().into_iter().map(move |constant| entry(prefix, source.path, limits, constant))
    });
    Section::new(title, entries)
}

fn entry(prefix: &str, path: &str, limits: &[Limit], constant: Constant) -> Entry {
    let Constant { name, value, comment } = constant;
    let known = limits.iter().find(|limit| limit.constant == name);
    let (meaning, reason) = comment.split_once("Source:").unwrap_or((&comment, ""));
    let source = match known {
        Some(limit) => limit.source.to_owned(),
        None if reason.is_empty() => format!("ours, because {path} says: {}", plain(&comment)),
        None => format!("ours, because {}", plain(reason.trim()).trim_end_matches('.')),
    };
    Entry {
        name: format!("{prefix}.{}", name.to_lowercase().replace('_', "-")),
        value: Some(known.and_then(|limit| limit.unit.shown(value)).unwrap_or_else(|| plain_value(value))),
        option: None,
        meaning: plain(meaning.trim()),
        source,
    }
}

/// A value that no table has a unit for: spans and lists as people write them.
fn plain_value(value: &str) -> String {
    let list = value.strip_prefix('[').and_then(|value| value.strip_suffix(']'));
    Unit::Span.shown(value).unwrap_or_else(|| list.unwrap_or(value).replace(".0", "").replace(" / ", "/"))
}

/// A comment without links and backticks.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("](") {
        plain.push_str(before);
        rest = behind.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain.push_str(rest);
    plain.replace(['`', '[', ']'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_a_constant_of_its_source() {
        let check = |source: Source, limits: &[Limit]| {
            for Limit { constant, unit, source: why } in limits {
                let found = source.constants().into_iter().find(|found| found.name == *constant);
                let found = found.unwrap_or_else(|| panic!("{}: {constant}", source.path));
                assert!(
                    unit.shown(found.value).is_some(),
                    "{constant} is {} in {}",
                    found.value,
                    source.path
                );
                assert!(!found.comment.is_empty() && spec::is_source(why), "{constant}: {why}");
            }
        };
        check(constant::JUDGE, &JUDGE);
        check(constant::SESSIONS, &SESSIONS);
        check(constant::STEADY, &STEADY);
        check(constant::WINDOWS, &WINDOWS);
        check(constant::VOTE, &VOTE);
        check(constant::BALLOTS, &BALLOTS);
        check(constant::BISECTION, &BISECTION);
        check(constant::MAXIMUM, &MAXIMUM);
        check(constant::PEAK, &PEAK);
        check(constant::RUNNER, &RUNNER);
        check(constant::CLAIMS, &CLAIMS);
        check(constant::SLOTS, &SLOTS);
        check(constant::SAMPLES, &SAMPLES);
        check(constant::MEMORY, &MEMORY);
    }

    #[test]
    fn a_constant_that_is_new_is_told_with_its_comment() {
        let new =
            Constant { name: "NEW_ONE", value: "0.5", comment: "At most [`X`](crate::X) of it.".into() };
        let told = entry("verdicts", "crates/a.rs", &JUDGE, new);
        assert_eq!((told.name.as_str(), told.value.as_deref()), ("verdicts.new-one", Some("0.5")));
        assert_eq!(told.meaning, "At most X of it.");
        assert!(told.source.contains("crates/a.rs"), "{told:?}");
        let comment = "What it is. Source: a reason.".into();
        let told = entry("verdicts", "crates/a.rs", &JUDGE, Constant { name: "B", value: "1", comment });
        assert_eq!((told.meaning.as_str(), told.source.as_str()), ("What it is.", "ours, because a reason"));
    }

    #[test]
    fn values_are_those_of_the_code() {
        let all = [verdicts(), sessions(), windows(), searches(), claims(), probes(), memory()];
        let check = |name: &str, expect: &str| {
            let found = all.iter().flat_map(|section| &section.entries).find(|entry| entry.name == name);
            assert_eq!(found.and_then(|entry| entry.value.as_deref()), Some(expect), "{name}");
        };
        check("qos.window", &hist::WINDOW.to_string());
        check("qos.min-beyond", "10");
        check("verdicts.faults", "5 %");
        check("verdicts.moved-share", "10 %");
        check("verdicts.lately", "1/3");
        check("verdicts.judged", "99, 95, 90, 50");
        let values =
            all.iter().flat_map(|section| &section.entries).filter_map(|entry| entry.value.as_deref());
        for value in values {
            assert!(!value.contains("::") && !value.contains('['), "{value} is as its source writes it");
        }
        check("qos.session-percentile", "p95");

        check("probes.p99-limit", "5 %");
        let lag = openloop::lag_limit(units::Nanos::ZERO).to_string();
        check("verdicts.lag-allowed", &lag);
    }
}
