//! A knob of a simulated machine that another process changes during the trial.

use std::fs;

use anyhow::{Context, Result};
use host::Host;
use knobs::{Engine, Knob, LocalKernel, Subject, plan};
use results::{Invalid, Reason, Verdict};

use crate::faults::chance::Chance;
use crate::faults::fault::{Fault, Judged, Outcome};
use crate::faults::right::{DoseResult, Right};

pub(crate) const FAULTS: &[Fault] = &[Fault {
    name: "knob-drift",
    planted: "another process writes a knob that the trial has set",
    doses: "another value, the same value in other words, or nothing",
    right: "invalid (knob drift) for another value, else valid",
    truth: "no figures: the value that was written is known",
    plant: drift,
}];

/// The knob's file on the simulated machine, and its values before and during the trial.
const FILE: &str = "proc/sys/vm/swappiness";
const BEFORE: u64 = 60;
const WANTED: u64 = 10;

fn drift(chance: &mut Chance) -> Result<Outcome> {
    let machine = tempfile::tempdir().context("no temporary folder can be made; set TMPDIR to one")?;
    let file = machine.path().join(FILE);
    fs::create_dir_all(file.parent().context("it has a folder")?)?;
    fs::write(&file, format!("{BEFORE}\n"))?;
    let knob: Knob = format!("sysctl.vm.swappiness={WANTED}").parse()?;
    let subject = Subject { root: machine.path().into(), ..Subject::default() };
    let actions = plan(&[knob], &Host::default(), &subject)?;
    let engine = Engine::open(&machine.path().join("journals"), LocalKernel::new(machine.path()))?;
    let applied = engine.apply(&actions)?;
    let (dose, written) = match chance.count(0, 3) {
        0 => ("nothing is written".to_owned(), None),
        1 => ("the same value is written".to_owned(), Some(format!(" {WANTED} \n"))),
        _ => {
            let other = WANTED + chance.count(1, 90);
            (format!("{other} is written instead of {WANTED}"), Some(format!("{other}\n")))
        }
    };
    if let Some(text) = &written {
        fs::write(&file, text)?;
    }
    let drifted = written.is_some_and(|text| text.trim() != WANTED.to_string());
    let drifts: Vec<String> = applied.check()?.iter().map(ToString::to_string).collect();
    applied.revert()?;
    // In the same way as a bench adds it to the verdict of its trial.
    let verdict = match drifts.is_empty() {
        true => Verdict::Valid,
        false => Verdict::Valid.against(Invalid { reason: Reason::KnobDrift, detail: drifts.join("; ") }),
    };
    let right = if drifted { Right::Invalid(&[Reason::KnobDrift]) } else { Right::Valid };
    Ok(Judged { dose, right, given: DoseResult::Verdict(verdict), truth: None, measured: None }.into())
}
