//! A probe whose buffer overflows.

use std::path::Path;

use anyhow::{Context, Result, bail};
use host::threads::running_ns;
use launch::{Process, Spec};
use probes::{Observer, ProbeSet, Subject};
use reactor::monotonic_now;
use results::{Reason, Trial, Verdict};
use units::Nanos;

use crate::faults::chance::Chance;
use crate::faults::fault::{Fault, Judged, Outcome};
use crate::faults::right::{DoseResult, Right};

pub(crate) const FAULTS: &[Fault] = &[Fault {
    name: "probe-loss",
    planted: "the processor probe is not read for long, so that the kernel has no room for samples",
    doses: "2 to 20 s",
    right: "invalid (probe loss) where samples are missing, else valid",
    truth: "no figures: samples by the processor time of the sampled process, as the kernel counts it",
    plant: loss,
}];

/// Missing share of the probe's samples from which on some are certainly lost, and up to which none may be: the verdict
/// allows 1 %, and the first and last sample of a span are random.
const LOST: f64 = 0.05;
const WHOLE: f64 = 0.01;
const LOSS: &[Reason] = &[Reason::ProbeLoss];

fn loss(chance: &mut Chance) -> Result<Outcome> {
    // A program that spends most of its time in the kernel, so that its stacks are as deep as a server's.
    let spec = Spec::new("busy program", "sh").args(["-c", "exec cat /dev/zero > /dev/null"]);
    let mut busy = Process::spawn(spec)?;
    let pids = vec![busy.pid()];
    let ran = || running_ns(Path::new("/"), &pids).context("the busy program's time cannot be read");
    let subject = Subject { pids: pids.clone(), ..Subject::default() };
    let wanted: ProbeSet = "cpu".parse()?;
    let mut trial = Trial {
        verdict: Verdict::Valid,
        window_opened_monotonic_ns: Some(monotonic_now().0),
        window_s: 3_600.0,
        ..Trial::default()
    };
    let span = chance.span(Nanos::from_secs(2), Nanos::from_secs(20));
    let observer = Observer::throughout(&wanted, subject);
    let before = ran()?;
    let running = busy.wait(span.into()).is_err();
    let after = ran()?;
    observer.finish(&mut trial);
    if !running {
        bail!("the busy program ended: {}", busy.stderr_tail().join(" / "));
    }
    let record = trial.probes.take().context("the observer left no record")?;
    let Some(seen) = &record.processor else {
        let why = record.missing.first().map_or("it saw nothing".into(), |missing| missing.what.clone());
        return Ok(Outcome::Skipped(format!("the processor probe takes {why}")));
    };
    let expected = Nanos(after.saturating_sub(before)).as_secs_f64() * seen.rate_hz as f64;
    let lacks = 1.0 - seen.samples as f64 / expected;
    let right = match lacks {
        _ if lacks > LOST => Right::Invalid(LOSS),
        _ if lacks > WHOLE => Right::TrueOrInvalid(LOSS),
        _ => Right::Valid,
    };
    let dose = format!("{span}, {} of {expected:.0} samples", seen.samples);
    Ok(Judged { dose, right, given: DoseResult::Verdict(trial.verdict), truth: None, measured: None }.into())
}
