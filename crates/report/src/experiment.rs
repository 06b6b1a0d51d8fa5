//! The page of one experiment.

use maud::{Markup, html};
use results::{Experiment, Kind};

use crate::disturbance::remains;
use crate::figure;
use crate::headline::{headline, in_one};
use crate::load::LoadUnit;
use crate::measure::Target;
use crate::notes::{notes, partial};
use crate::number;
use crate::observed::observed;
use crate::one_load::OneLoad;
use crate::page;
use crate::subject::Subject;
use crate::tips::Tips;
use crate::traces::traces;

/// The report of `experiment` as one HTML file that opens offline.
///
/// Cost: a few milliseconds and about 10 kB a trial.
pub fn experiment_html(experiment: &Experiment) -> String {
    let subjects = Subject::of_experiment(experiment);
    let target = Target::new(&experiment.qos, experiment.qos_basis);
    let mut tips = Tips::new(&subjects, &target);
    let body = html! {
        (header(experiment, &subjects, &target))
        @if experiment.trials.is_empty() {
            (page::section("trials", "Trials", html! { p.muted { "There is nothing to draw yet." } }))
        } @else {
            @let time = page::section("time", "Within a trial", figure::timelines(&subjects, &target, &mut tips));
            @if !page::several_loads(&subjects) { (time) }
            (felt(&subjects, &target, &mut tips))
            @if page::several_loads(&subjects) { (loads(&subjects, &target)) }
            (shapes(&subjects, &target, &mut tips))
            @if page::several_loads(&subjects) { (time) }
            (traces(&subjects, &mut tips))
            (observed(&subjects))
            (page::parts(&subjects))
            (page::services(experiment))
            (trials(experiment, &subjects))
            (page::generator(&subjects))
        }
        (setting(experiment))
    };
    let title = format!("{} – {}", experiment.name, in_one(&headline(experiment)));
    page::shell(&title, &body, &tips)
}

fn header(experiment: &Experiment, subjects: &[Subject], target: &Target) -> Markup {
    let facts = [
        format!("QoS: {}", target.words()),
        format!("took {}", number::micros(Some(1e6 * experiment.elapsed_s))),
        format!("seed {}", experiment.seed),
    ];
    let verdicts = || experiment.trials.iter().map(|trial| &trial.verdict);
    html! {
        header #summary {
            p.kicker {
                b { "Taillight" } " " (kind_words(experiment.kind)) " · " (experiment.name) " · "
                time { (experiment.created) }
            }
            @if let Some(one) = OneLoad::of(experiment, subjects, target) {
                (page::one_load(&one))
                @if let Some(note) = partial(experiment) { p.hatched-note { (note) } }
                details { summary { "Trials and notes" } (page::strip(verdicts(), &facts, &notes(experiment))) }
            } @else {
                (page::answer(&headline(experiment), &remains(experiment)))
                (page::strip(verdicts(), &facts, &notes(experiment)))
            }
        }
    }
}

/// The kind of an experiment, in words.
pub(crate) fn kind_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Demo => "demo",
        Kind::Load => "load",
        Kind::Sweep => "sweep",
        Kind::Peak => "peak search",
        Kind::CompareLive => "live comparison",
    }
}

/// The user experience of sessions; empty if arrivals are not sessions.
pub(crate) fn felt(subjects: &[Subject], target: &Target, tips: &mut Tips) -> Markup {
    let of_sessions = LoadUnit::of_subjects(subjects) == LoadUnit::Sessions;
    html! {
        @if of_sessions {
            (page::section("sessions", "What sessions felt", html! {
                div.figures { (figure::sessions(subjects, target, tips)) }
            }))
        }
    }
}

fn loads(subjects: &[Subject], target: &Target) -> Markup {
    let body = html! {
        div.figures {
            (figure::latency(subjects, target))
            @if subjects.len() > 1 { (figure::latency_panels(subjects, target)) }
        }
    };
    page::section("latency", "Latency under load", body)
}

fn shapes(subjects: &[Subject], target: &Target, tips: &mut Tips) -> Markup {
    let body = html! {
        div.figures {
            @if page::several_loads(subjects) { (figure::throughput(subjects)) }
            (figure::distribution(subjects, target, tips))
        }
    };
    let several = page::several_loads(subjects);
    let heading = if several { "Throughput and the shape of the tail" } else { "The shape of the tail" };
    page::section("throughput", heading, body)
}

fn trials(experiment: &Experiment, subjects: &[Subject]) -> Markup {
    let body = html! {
        (page::load_points(subjects))
        (page::closed_loops(subjects))
        (page::gates(experiment))
        (page::every_trial(experiment.trials.iter()))
    };
    page::section("trials", "Trials", body)
}

fn setting(experiment: &Experiment) -> Markup {
    html! {
        (page::section("repeat", "How it was run", page::provenance(experiment)))
        (page::folded("configuration", "Resolved configuration", page::configuration(experiment)))
        (page::folded("host", "Host", page::host(&experiment.host)))
        (page::folded("reading", "How to read this page", page::reading(&[experiment])))
    }
}
