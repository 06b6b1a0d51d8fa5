//! Results of probes: the time by stage, the users of the processors, and the probes' overhead.

mod client;
mod published;
mod server;
mod tables;
mod words;

pub(crate) use words::grown;

use maud::{Markup, html};
use results::probes::{Missing, Scheduling, Stages};
use results::{Probes, Trial};

use crate::distinct;
use crate::figure::{self, STAGES, StageTimes};
use crate::page;
use crate::subject::Subject;

/// A load with probes: its label, and the trial in the middle of its repeats.
pub(crate) struct Looked<'a> {
    pub subject: &'a str,
    pub label: String,
    pub trial: &'a Trial,
}

impl<'a> Looked<'a> {
    fn name(&self) -> String {
        format!("{} · {}", self.subject, self.label)
    }

    fn probes(&self) -> Option<&'a Probes> {
        self.trial.probes.as_ref()
    }

    fn stages(&self) -> Option<&'a Stages> {
        self.probes()?.stages.as_ref()
    }

    fn scheduling(&self) -> Option<&'a Scheduling> {
        self.probes()?.scheduling.as_ref()
    }

    fn times(&self) -> Option<StageTimes> {
        let stages = self.stages()?;
        Some(StageTimes {
            subject: self.subject.to_owned(),
            label: self.label.clone(),
            us: STAGES.each_ref().map(|stage| stages.mean_us(stage.name)),
            total: stages.total.mean_us,
        })
    }
}

/// The section; empty if no probe was used.
pub(crate) fn observed(subjects: &[Subject]) -> Markup {
    let looked: Vec<Looked> = subjects.iter().flat_map(of_subject).collect();
    if looked.is_empty() {
        return html! {};
    }
    let staged: Vec<&Looked> = looked.iter().filter(|load| load.stages().is_some()).collect();
    let times: Vec<StageTimes> = staged.iter().filter_map(|load| load.times()).collect();
    let body = html! {
        p.lead { "Of each load the trial in the middle of its repeats, by its median p99. " (words::HOW) }
        @for sentence in grown(&times) { p { (page::unbroken(&sentence)) } }
        @for warning in words::warnings(&looked) { p.hatched-note { (page::unbroken(&warning)) } }
        @if !times.is_empty() { div.figures { (figure::stages(&times)) } }
        (tables::stages(&staged))
        (tables::independent(&staged))
        (tables::without_privilege(&looked))
        (client::client(&looked))
        (server::server(&looked))
        (tables::sockets(&looked))
        (tables::threads(&looked))
        (tables::waits(&looked))
        (tables::cores(&looked))
        (tables::code(&looked))
        (tables::services(&looked))
        @if let Some(processor) = busiest(&looked) {
            div.figures { (figure::flame(&processor.label, processor.trial)) }
        }
        (tables::counters(&looked))
        (tables::io(&looked))
        (tables::overhead(&looked))
        @let missing = missing(&looked);
        @if !missing.is_empty() {
            h3 { "What could not be observed" }
            ul.notes { @for one in missing {
                li { b { (one.probe) } " lacks " (one.what) ". Not known for want of it: " (one.disables) "." }
            } }
        }
        @for note in notes(&looked) { p.muted { (note) } }
    };
    page::section("observed", "Where the time goes", body)
}

fn of_subject<'a>(subject: &Subject<'a>) -> Vec<Looked<'a>> {
    let look = |point: &results::LoadPoint<'a>| {
        let trial = page::typical(point).filter(|trial| trial.probes.is_some())?;
        Some(Looked { subject: subject.name, label: figure::load_label(point), trial })
    };
    subject.points.iter().filter_map(look).collect()
}

/// The load with the most samples: its flame graph shows most.
fn busiest<'l, 'a>(looked: &'l [Looked<'a>]) -> Option<&'l Looked<'a>> {
    let samples = |load: &&Looked| load.probes().and_then(|p| p.processor.as_ref()).map_or(0, |p| p.samples);
    looked.iter().max_by_key(samples).filter(|load| samples(load) > 0)
}

/// Each missing part once, for any number of trials.
fn missing<'a>(looked: &[Looked<'a>]) -> Vec<&'a Missing> {
    distinct(looked.iter().filter_map(Looked::probes).flat_map(|probes| &probes.missing))
}

fn notes<'a>(looked: &[Looked<'a>]) -> Vec<&'a String> {
    let probes = looked.iter().filter_map(Looked::probes);
    let of_stages =
        probes.clone().filter_map(|probes| probes.stages.as_ref()).flat_map(|stages| &stages.notes);
    let of_code =
        probes.filter_map(|probes| probes.processor.as_ref()).flat_map(|processor| &processor.notes);
    distinct(of_stages.chain(of_code))
}

#[cfg(test)]
mod tests;
