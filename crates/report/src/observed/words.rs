use super::Looked;
use crate::figure::{STAGES, StageTimes};
use crate::number;

/// The method of the probes.
pub(super) const HOW: &str = "Probes look in some slots of the window and not in the others; the figures are those of the slots \
                              in which they looked, and their overhead is the difference.";

/// For each server, the stage that grew most from its lowest to its highest load.
pub(crate) fn grown(staged: &[StageTimes]) -> Vec<String> {
    let mut subjects: Vec<&str> = staged.iter().map(|load| load.subject.as_str()).collect();
    subjects.dedup();
    let of = |subject: &str| {
        let mut loads = staged.iter().filter(|load| load.subject == subject);
        let low = loads.next()?;
        let high = loads.next_back()?;
        let (from, to) = low.total.zip(high.total)?;
        let growth = |name: &'static str| (name, high.mean_us(name) - low.mean_us(name));
        let mut growths: Vec<(&str, f64)> = STAGES.iter().map(|stage| growth(stage.name)).collect();
        growths.sort_by(|a, b| b.1.total_cmp(&a.1));
        let spans = (number::micros(Some(from)), number::micros(Some(to)));
        let begin = format!(
            "{subject}: from {} to {} a request’s time in the server went from {} to {}",
            low.label, high.label, spans.0, spans.1
        );
        if to - from <= 0.1 * from {
            return Some(format!("{begin}: no stage grew to speak of."));
        }
        let share = |growth: f64| number::percent((growth / (to - from)).clamp(0.0, 1.0));
        let label =
            |name: &str| STAGES.iter().find(|stage| stage.name == name).map_or("", |stage| stage.label);
        let (first, second) = (growths[0], growths[1]);
        let queueing: f64 = growths
            .iter()
            .filter(|(name, _)| matches!(*name, "epoll" | "event_library"))
            .map(|(_, us)| us)
            .sum();
        Some(format!(
            "{begin}. {} of that growth is in {}, {} in {}. Waiting for the thread, before the read (epoll and event \
             library together), makes up {}.",
            share(first.1),
            label(first.0),
            share(second.1),
            label(second.0),
            share(queueing)
        ))
    };
    subjects.into_iter().filter_map(of).collect()
}

/// Warnings: a probe that cost too much, requests that were not followed.
pub(super) fn warnings(looked: &[Looked]) -> Vec<String> {
    let mut warnings = Vec::new();
    for load in looked {
        let Some(probes) = &load.trial.probes else { continue };
        for overhead in &probes.overhead {
            let flags = overhead.flags();
            if !flags.is_empty() {
                warnings.push(format!(
                    "At {} of {}, the overhead of {} exceeds its limit: {}.",
                    load.label,
                    load.subject,
                    overhead.probe,
                    flags.join(", ")
                ));
            }
        }
        if let Some(share) =
            load.stages().and_then(|stages| stages.correlated_share).filter(|share| *share < 0.99)
        {
            warnings.push(format!(
                "At {} of {}, only {} of the requests were followed through every stage; what is left may not be like the whole.",
                load.label,
                load.subject,
                number::percent_of_all(share)
            ));
        }
    }
    warnings
}
