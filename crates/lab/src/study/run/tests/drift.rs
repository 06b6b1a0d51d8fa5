//! Settings that another process changes while a bench is measured.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use host::Host;
use results::{Purpose, ResultFolder};

use super::*;
use crate::{RemoteHost, Server, ServerOptions, TargetName, Tuner, allowed_cpus};

const STUDY: &str = "\
title = 'T'
question = 'Q?'
source = 'S'
method = 'M'
[experiment]
knobs = ['congestion-control=reno']
[experiment.time]
warmup = '100ms'
window = '2s'
search = '1s'
[x]
label = 'load'
[[x.point]]
name = 'half'
set.load.share = '50%'
[[x.point]]
name = 'maximum'
set.load.find = 'maximum'
[[x.point]]
name = 'peak'
set.load.find = 'peak'
[[series]]
name = 'A'
[effort.quick]
blocks = 2
";

/// A machine on which another process changes a knob while it is applied for the `at`th time, counted from 0.
struct Disturbed {
    at: usize,
    held: AtomicUsize,
}

impl Tuner for Disturbed {
    fn plan(&self, _: &[String], _: Option<&str>) -> Result<String, Error> {
        Ok(String::new())
    }

    fn apply(&self, _: &[String], _: Option<&str>) -> Result<(), Error> {
        Ok(())
    }

    fn undo(&self) -> Result<Vec<String>, Error> {
        let now = self.held.fetch_add(1, Ordering::Relaxed);
        Ok((now == self.at).then(|| "it became cubic".into()).into_iter().collect())
    }
}

struct There {
    at: usize,
    host: Host,
}

impl RemoteHost for There {
    fn start(&self, target: &TargetName, options: &ServerOptions) -> Result<(Server, Arc<dyn Tuner>), Error> {
        let tuner = Disturbed { at: self.at, held: AtomicUsize::new(0) };
        // Which processors it has is its own affair.
        let options = ServerOptions { cpus: allowed_cpus(), ..options.clone() };
        Ok((Server::start(target, &options)?, Arc::new(tuner)))
    }

    fn note(&self) -> String {
        "On a machine that is disturbed.".into()
    }

    fn host(&self) -> &Host {
        &self.host
    }
}

/// The places whose cells are invalid, and why the trials are that are so on disk, where the `at`th hold is disturbed.
fn disturbed(at: usize) -> (BTreeSet<String>, Vec<Purpose>) {
    let mut bench = bench_of(STUDY, "");
    bench.setup.remote_host = Some(Box::new(There { at, host: Host::default() }));
    let folder = StudyFolder::create(bench.root.path(), "s").unwrap();
    let (study, outcome, _) = bench.run(&folder, bench.fresh.clone(), None);
    outcome.unwrap();
    assert_eq!(study.cells.len(), 6);
    let invalid: Vec<&Cell> = study.cells.iter().filter(|cell| !cell.verdict.is_usable()).collect();
    assert!(
        invalid.iter().all(|cell| cell.block == 0 && cell.verdict.label() == "knob drift"),
        "{invalid:#?}"
    );
    let path = study.cells[0].trial.as_ref().unwrap().split_once('#').unwrap().0.to_owned();
    let result = ResultFolder::open(&folder.path().join(path)).unwrap().load().unwrap();
    let drifted = result.trials.iter().filter(|trial| trial.verdict.label() == "knob drift");
    let mut purposes: Vec<Purpose> =
        drifted.inspect(|trial| assert_eq!(trial.block, 0)).map(|trial| trial.purpose).collect();
    purposes.dedup();
    (invalid.iter().map(|cell| cell.x.to_string()).collect(), purposes)
}

#[test]
fn what_was_measured_while_a_setting_was_changed_does_not_count() {
    let of = |places: &[&str]| places.iter().map(|place| (*place).to_owned()).collect::<BTreeSet<_>>();
    // The search for the maximum comes first: what refers to it is as wrong as it.
    assert_eq!(disturbed(0), (of(&["half", "maximum", "peak"]), vec![Purpose::MaxSearch]));
    // Then the other two, in an order that is drawn.
    let mut others = [disturbed(1), disturbed(2)];
    others.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        others,
        [(of(&["half"]), vec![Purpose::LoadPoint]), (of(&["peak"]), vec![Purpose::PeakSearch])]
    );
    let undisturbed = (BTreeSet::new(), Vec::new());
    assert_eq!(disturbed(6), undisturbed);
}

#[test]
fn the_machine_of_a_study_is_that_of_its_servers() {
    let mut bench = bench_of(STUDY, "");
    let host = Host { name: Some("there".into()), ..Host::default() };
    bench.setup.host = serde_json::json!({ "name": "here" });
    let name = |setup: &Setup| {
        let record = new_record(&bench.definition, &bench.plan, &Facts::default(), setup).unwrap();
        record.host["name"].as_str().map(str::to_owned)
    };
    assert_eq!(name(&bench.setup).as_deref(), Some("here"));
    bench.setup.remote_host = Some(Box::new(There { at: 0, host }));
    assert_eq!(name(&bench.setup).as_deref(), Some("there"));
}
