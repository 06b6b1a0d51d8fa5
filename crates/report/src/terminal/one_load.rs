use results::Experiment;

use super::experiment::loads;
use super::ink::{Ink, harmless, wrapped};
use super::traces::coverage;
use crate::measure::Target;
use crate::notes::partial;
use crate::one_load::{Confidence, OneLoad};
use crate::page::typical;

/// A single load at a glance: its figures, their basis and the next step. The report has the rest.
pub(super) fn one_load(
    one: &OneLoad,
    experiment: &Experiment,
    target: &Target,
    width: usize,
    ink: Ink,
) -> String {
    let line = |text: String| wrapped(&harmless(&text), width, 2);
    let tint = |text: &str| match one.confidence() {
        Confidence::High => text.to_owned(),
        Confidence::Bounds => ink.warn(text),
        Confidence::None => ink.bad(text),
    };
    let mut parts = vec![
        ink.bold(&line(format!("{}: {}", one.title(), one.judgement()))),
        loads(std::slice::from_ref(one.subject), target).render(width, ink),
        line(one.answers()),
        tint(&line(format!("confidence {}: {}", one.confidence().words(), one.basis()))),
        line(format!("next: {}", one.advice())),
    ];
    let traced = typical(one.point).and_then(|trial| trial.traces.as_ref());
    parts.extend(traced.map(|traces| line(coverage(traces))));
    for (passed, words) in one.gates() {
        let line = line(words);
        parts.push(if passed { line } else { ink.bad(&line) });
    }
    if one.subject.is_closed() {
        let loops =
            "closed loop: p50 to p99.9 are uncorrected; corr. columns add what waiting clients never sent";
        parts.push(ink.warn(&line(loops.into())));
    }
    parts.extend(partial(experiment).map(|note| ink.warn(&line(note))));
    parts.join("\n") + "\n"
}
