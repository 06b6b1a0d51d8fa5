//! Operations with limits of their own: the share within each limit under load, and the time by tier.

use maud::{Markup, html};
use results::Operation;

use super::distribution::load_label;
use super::sessions::{Vertical, against_load, named, of_each};
use super::stacked::{self, Bar, PartStyle, look};
use crate::measure::Target;
use crate::subject::Subject;

/// The tiers of a site, and the unexplained rest.
const TIERS: [PartStyle<'static>; 5] = [
    look("queue", "waits for a program", "l4"),
    look("php", "programs", "s2"),
    look("cache", "cache", "l2"),
    look("db", "database", "s1"),
    look(REST, "the rest", "l0"),
];
/// The part of an operation that no tier explains.
const REST: &str = "rest";

/// The figures, of one subject; empty if no operation has a limit.
pub(crate) fn limits(subjects: &[Subject], target: &Target) -> Markup {
    let [subject] = subjects else { return html! {} };
    html! {
        (within(subjects, subject))
        (tiers(subject, target))
    }
}

/// The share of each operation that was within its limit, against the load.
fn within(subjects: &[Subject], subject: &Subject) -> Markup {
    let names = named(subject, |operation| operation.within.is_some());
    let measures = of_each(names, |operation| operation.within?.share());
    let words = (
        "Operations within their limits against offered load",
        "share within the limit",
        "Of each operation what ended well within its own limit, of all that was due: errors, time-outs and what was never sent \
         did not.",
    );
    against_load(subjects, &measures, None, Vertical::Share, words)
}

/// The time of each operation by tier, at the highest load that met the target.
fn tiers(subject: &Subject, target: &Target) -> Markup {
    let Some((point, trial)) = subject.highest_met(target) else { return html! {} };
    let bars: Vec<Bar> = trial.operations.iter().filter_map(bar).collect();
    if bars.is_empty() {
        return html! {};
    }
    let title = format!("Where the time of an operation goes at {}", load_label(point));
    let caption = html! {
        "The parts of an operation's mean response time, which is written behind each bar: the wait for one of the site's programs, \
         those, its cache and its database, as the answers say (Server-Timing), and what they do not explain: the web server, its \
         own queue, the network. Trial " (trial.id) "."
    };
    super::wide(&title, subject.is_closed(), caption, |size| stacked::draw(&TIERS, &bars, size))
}

/// The parts of an operation's mean response time; `None` if its tiers are unknown.
fn bar(operation: &Operation) -> Option<Bar> {
    let total = operation.response_time.mean_us.filter(|_| !operation.tiers.is_empty())?;
    let of = |name: &str| operation.tiers.iter().find(|tier| tier.name == name).map(|tier| tier.mean_us);
    let known: f64 = operation.tiers.iter().map(|tier| tier.mean_us).sum();
    let part =
        |look: &PartStyle<'_>| if look.name == REST { Some((total - known).max(0.0)) } else { of(look.name) };
    Some(Bar { name: operation.name.clone(), us: TIERS.iter().map(part).collect(), total: Some(total) })
}

#[cfg(test)]
mod tests {
    use results::{LatencySummary, TierWork};

    use super::*;

    #[test]
    fn tiers_and_the_rest_are_the_whole() {
        let tier = |name: &str, mean_us| TierWork { name: name.into(), mean_us, calls: 1.0 };
        let of = |mean_us, tiers: &[(&str, f64)]| Operation {
            name: "home".into(),
            response_time: LatencySummary { mean_us, ..LatencySummary::default() },
            tiers: tiers.iter().map(|(name, us)| tier(name, *us)).collect(),
            ..Operation::default()
        };
        let check = |operation: Operation, expect: Option<[Option<f64>; 5]>| {
            assert_eq!(bar(&operation).map(|bar| bar.us), expect.map(|us| us.to_vec()));
        };
        let known = [("php", 3_000.0), ("db", 1_000.0)];
        check(of(Some(5_000.0), &known), Some([None, Some(3_000.0), None, Some(1_000.0), Some(1_000.0)]));
        // Some answers were not of this window: the rest is at least 0.
        check(of(Some(3_500.0), &known), Some([None, Some(3_000.0), None, Some(1_000.0), Some(0.0)]));
        check(of(Some(5_000.0), &[]), None);
        check(of(None, &known), None);
    }
}
