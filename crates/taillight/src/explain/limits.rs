//! Limits that judgements, searches and probes rest on: each with the value that is compiled, and why it is that one.

use spec::{Entry, Section};
use units::{SESSION_PERCENTILE, SessionFigure};

/// When a trial is invalid or overloaded.
pub(super) fn verdicts() -> Section {
    Section::of_limits("Limits of verdicts", "verdicts", openloop::limits())
}

/// What sessions can be held to.
pub(super) fn sessions() -> Section {
    let figure = |figure: SessionFigure| {
        let meaning = format!(
            "{}, of which {}: {}, such as {}.",
            figure.words,
            if figure.is_cost { "less is better" } else { "more is better" },
            if figure.is_time { "a percentile of times" } else { "a ratio that the workload counts" },
            match figure {
                SessionFigure { is_time: true, name, .. } => format!("{name}<2s, {name}.p99<5s"),
                SessionFigure { is_cost: true, name, .. } => format!("{name}<1%"),
                SessionFigure { name, .. } => format!("{name}>95%"),
            }
        );
        Entry::named(
            &format!("qos.{}", figure.name),
            meaning,
            "ours, because it is what a user of the service feels (docs/glossary.md)",
        )
    };
    let percentile = Entry::of_value(
        "qos.session-percentile",
        format!("p{SESSION_PERCENTILE}"),
        "The percentile of a time of sessions that is judged where none is given.",
        "ours, because one session in twenty is what 200 of them can tell",
    );
    Section::new("What sessions are held to", SessionFigure::ALL.map(figure).into_iter().chain([percentile]))
}

/// The windows of the windowed p99, and how many samples a percentile takes.
pub(super) fn windows() -> Section {
    let mut section = Section::of_limits("Windows and percentiles", "qos", hist::limits());
    section.entries.push(Entry::of_value(
        "qos.min-beyond",
        hist::MIN_BEYOND,
        "The samples that must lie beyond a percentile before it is reported.",
        "ours, because their count is Poisson: with 10 its relative standard error is 32 %",
    ));
    section
}

pub(super) fn searches() -> Section {
    Section::of_limits("Limits of searches", "search", lab::limits())
}

/// How claims of studies, and differences of two results, are judged.
pub(super) fn claims() -> Section {
    let level = Entry::of_value(
        "claims.level",
        format!("{} %", 100.0 * stats::LEVEL),
        "The default two-sided error of intervals and tests.",
        "ours, because it is the usual level, after Holm's correction",
    );
    let blocks = Entry::of_value(
        "claims.min-to-judge",
        stats::MIN_TO_JUDGE,
        "The blocks from which on a difference is tested.",
        "ours, because six that agree have p = 0.031 by the signed-rank test, and five cannot reach 5 %",
    );
    Section::new("How claims are judged", [level, blocks])
}

/// Slots and samples of probes, and from when on their overhead is flagged.
pub(super) fn probes() -> Section {
    let mut section = Section::of_limits("Limits of probes", "probes", probes::limits());
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
    section.entries.extend(flagged.map(|(name, value, meaning, source)| {
        Entry::of_value(name, format!("{} %", 100.0 * value), meaning, source)
    }));
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_code() {
        let all = [verdicts(), sessions(), windows(), searches(), claims(), probes()];
        let check = |name: &str, expect: &str| {
            let found = all.iter().flat_map(|section| &section.entries).find(|entry| entry.name == name);
            assert_eq!(found.and_then(|entry| entry.value.as_deref()), Some(expect), "{name}");
        };
        check("qos.window", &hist::WINDOW.to_string());
        check("qos.min-beyond", "10");
        check("verdicts.faults", "5 %");
        check("verdicts.moved-share", "10 %");
        check("verdicts.lately", "33.3333 %");
        for entry in all.iter().flat_map(|section| &section.entries) {
            let meaning = &entry.meaning;
            assert!(!meaning.is_empty() && !meaning.contains(['`', '[']), "{entry:?}");
            assert!(spec::is_source(&entry.source), "{entry:?}");
        }
        check("qos.session-percentile", "p95");

        check("probes.p99-limit", "5 %");
        let lag = openloop::lag_limit(units::Nanos::ZERO).to_string();
        check("verdicts.lag-allowed", &lag);
    }
}
