use std::collections::BTreeMap;

use results::{Among, Difference, Part, TracedOperation};

use super::{Traced, ends};
use crate::number;

/// Where the time of an operation goes and how the load changes that, one sentence for each of the most frequent.
pub(super) fn moved(loads: &[Traced<'_>]) -> Vec<String> {
    let ends = ends(loads);
    let (Some(low), Some(high)) = (ends.first(), ends.last()) else { return Vec::new() };
    let of = |operation: &TracedOperation| {
        let name = &operation.name;
        let before = low.operations().find(|one| one.name == *name).filter(|_| ends.len() > 1);
        match before {
            Some(before) => grown(name, (&low.label, before), (&high.label, operation)),
            None => stands(name, &high.label, operation),
        }
    };
    high.operations().take(super::DRAWN).filter_map(of).collect()
}

/// `browse at 270 rps: 12.0 ms, of which 34 % in php, 20 % in plot and 9 % in front; 41 % is transit and queue, 30 % application.`
fn stands(name: &str, label: &str, operation: &TracedOperation) -> Option<String> {
    let mean = operation.mean_us(Among::All, |_, _| true)?;
    let leading: Vec<String> = by_service(operation)
        .into_iter()
        .take(3)
        .map(|(service, us)| format!("{} in {service}", number::percent(us / mean)))
        .collect();
    let share = |is_meant: &dyn Fn(Part) -> bool| {
        operation.share(Among::All, |_, part| is_meant(part)).unwrap_or(0.0)
    };
    Some(format!(
        "{name} at {label}: {} on average, of which {}. Between services {} of it pass in transit and queues, within them {} in their own \
         code and {} in stores.",
        number::micros(Some(mean)),
        listed(&leading),
        number::percent(share(&Part::is_network)),
        number::percent(share(&|part| part == Part::Application)),
        number::percent(share(&|part| part == Part::Store)),
    ))
}

/// The service and the part that grew most from a load to a higher one.
fn grown(
    name: &str,
    (from, before): (&str, &TracedOperation),
    (to, after): (&str, &TracedOperation),
) -> Option<String> {
    let whole = |operation: &TracedOperation| operation.mean_us(Among::All, |_, _| true);
    let (low, high) = (whole(before)?, whole(after)?);
    let begin = format!(
        "{name}: from {from} to {to} a request’s mean time went from {} to {}",
        number::micros(Some(low)),
        number::micros(Some(high))
    );
    if high - low <= 0.1 * low {
        return Some(format!("{begin}: nothing grew to speak of."));
    }
    let share = |us: f64| number::percent((us / (high - low)).clamp(0.0, 1.0));
    let known: BTreeMap<String, f64> = by_service(before).into_iter().collect();
    let mut services: Vec<(String, f64)> = by_service(after)
        .into_iter()
        .map(|(service, us)| {
            let growth = us - known.get(&service).copied().unwrap_or(0.0);
            (service, growth)
        })
        .collect();
    services.sort_by(|a, b| b.1.total_cmp(&a.1));
    let leading: Vec<String> = services
        .iter()
        .take(3)
        .filter(|(_, us)| *us > 0.01 * (high - low))
        .map(|(service, us)| format!("{} in {service}", share(*us)))
        .collect();
    let part = |operation: &TracedOperation, is_meant: &dyn Fn(Part) -> bool| {
        operation.mean_us(Among::All, |_, part| is_meant(part)).unwrap_or(0.0)
    };
    let growth = |is_meant: &dyn Fn(Part) -> bool| part(after, is_meant) - part(before, is_meant);
    Some(format!(
        "{begin}. Of that growth lie {}; transit and queues make up {} of it, the services’ own code {}.",
        listed(&leading),
        share(growth(&Part::is_network)),
        share(growth(&|part| part == Part::Application)),
    ))
}

/// The mean time of each service, the most first. Units: µs.
fn by_service(operation: &TracedOperation) -> Vec<(String, f64)> {
    let of = |name: &str| operation.mean_us(Among::All, |service, _| service == name).unwrap_or(0.0);
    let mut services: Vec<(String, f64)> =
        operation.services.iter().map(|service| (service.name.clone(), of(&service.name))).collect();
    services.sort_by(|a, b| b.1.total_cmp(&a.1));
    services
}

/// `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => "none in one service".into(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Warnings: spans that were lost, requests that could not be joined.
pub(super) fn warnings(loads: &[&Traced<'_>]) -> Vec<String> {
    let mut warnings = Vec::new();
    for load in loads {
        let coverage = &load.traces.coverage;
        if !coverage.lost.is_empty() {
            let lost: Vec<String> = coverage
                .lost
                .iter()
                .map(|one| {
                    format!(
                        "{} of {} of {}",
                        number::count(one.found),
                        number::count(one.expected),
                        one.service
                    )
                })
                .collect();
            warnings.push(format!("At {} spans are missing: found are {}.", load.label, listed(&lost)));
        }
        if coverage.joined < coverage.sampled {
            warnings.push(format!(
                "At {} {} of {} traced requests have no span at the entrance, and are in no sum.",
                load.label,
                number::count(coverage.sampled - coverage.joined),
                number::count(coverage.sampled)
            ));
        }
        // A note is a sentence.
        warnings.extend(load.traces.notes.iter().map(|note| format!("At {}: {note}", load.label)));
    }
    warnings
}

/// `+12.0 µs (−40.0 µs to +64.0 µs)`.
pub(super) fn difference_words(Difference { us, low_us, high_us }: Difference) -> String {
    let signed = |us: f64| number::offset(Some(us), None);
    format!("{} ({} to {})", signed(us), signed(low_us), signed(high_us))
}

#[cfg(test)]
mod tests {
    use results::{Coverage, Group, LostSpans, PartTime, ServiceTime, Traces, Trial};

    use super::*;

    fn operation(times: &[(&str, Part, u64)]) -> TracedOperation {
        let service = |(name, part, us): &(&str, Part, u64)| ServiceTime {
            name: (*name).into(),
            parts: vec![PartTime { part: *part, all_ns: us * 1_000, ..PartTime::default() }],
            ..ServiceTime::default()
        };
        TracedOperation {
            name: "browse".into(),
            all: Group {
                requests: 1,
                root_ns: times.iter().map(|(_, _, us)| us * 1_000).sum(),
                tracer_ns: 0,
            },
            services: times.iter().map(service).collect(),
            ..TracedOperation::default()
        }
    }

    fn trial(operation: TracedOperation) -> Trial {
        let traces = Traces { one_in: 10, operations: vec![operation], ..Traces::default() };
        Trial { traces: Some(traces), ..Trial::default() }
    }

    fn load<'a>(label: &str, trial: &'a Trial) -> Traced<'a> {
        Traced { label: label.into(), trial, traces: trial.traces.as_ref().unwrap() }
    }

    #[test]
    fn sentences_say_where_the_time_goes_and_what_grew() {
        let low = trial(operation(&[
            ("php", Part::Application, 6_000),
            ("plot", Part::Queue, 2_500),
            ("movies-db", Part::Store, 1_500),
        ]));
        let high = trial(operation(&[
            ("php", Part::Application, 7_000),
            ("plot", Part::Queue, 10_500),
            ("movies-db", Part::Store, 2_500),
        ]));
        let said = moved(&[load("10 %", &low)]);
        let expect = "browse at 10 %: 10.0 ms on average, of which 60 % in php, 25 % in plot and 15 % in movies-db. Between services 25 % of \
                      it pass in transit and queues, within them 60 % in their own code and 15 % in stores.";
        assert_eq!(said, [expect]);
        let said = moved(&[load("10 %", &low), load("90 %", &high)]);
        let expect = "browse: from 10 % to 90 % a request’s mean time went from 10.0 ms to 20.0 ms. Of that growth lie 80 % in plot";
        assert!(said[0].starts_with(expect), "{}", said[0]);
        assert!(
            said[0].ends_with("transit and queues make up 80 % of it, the services’ own code 10 %."),
            "{}",
            said[0]
        );
        let still = moved(&[load("10 %", &low), load("90 %", &low)]);
        assert!(still[0].ends_with("nothing grew to speak of."), "{}", still[0]);
        assert!(moved(&[]).is_empty());
    }

    #[test]
    fn what_is_lost_is_said() {
        let mut one = trial(operation(&[("php", Part::Application, 6_000)]));
        let traces = one.traces.as_mut().unwrap();
        traces.coverage = Coverage {
            sampled: 20,
            joined: 18,
            whole: 17,
            spans_expected: 200,
            spans_found: 190,
            lost: vec![LostSpans { service: "plot".into(), expected: 50, found: 40 }],
            ..Coverage::default()
        };
        // As `lab` writes them for services without counters.
        let note = "Counters are published by none of these, of whose calls only the traced ones are known: ads, php.";
        traces.notes.push(note.into());
        let said = warnings(&[&load("90 %", &one)]);
        assert_eq!(
            said,
            [
                "At 90 % spans are missing: found are 40 of 50 of plot.",
                "At 90 % 2 of 20 traced requests have no span at the entrance, and are in no sum.",
                "At 90 %: Counters are published by none of these, of whose calls only the traced ones are known: ads, php.",
            ]
        );
    }

    #[test]
    fn a_difference_has_its_sign_and_its_interval() {
        let difference = Difference { us: 12.0, low_us: -40.0, high_us: 64.0 };
        assert_eq!(difference_words(difference), "+12.0 µs (−40.0 µs to +64.0 µs)");
    }
}
