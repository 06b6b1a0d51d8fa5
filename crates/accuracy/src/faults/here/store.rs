//! A wrong data set.

use std::sync::Arc;

use anyhow::Result;
use results::Reason;
use spec::workload::{Cache, Fill, Verify};
use spec::{Generator, Load, Pace, Spec, Time, Workload};
use trial::Task;
use units::{Nanos, Rate};

use super::stored::{Fate, Loss, Store};
use crate::faults::chance::Chance;
use crate::faults::fault::{Fault, Judged, Outcome};
use crate::faults::right::{DoseResult, Right};

pub(crate) const FAULTS: &[Fault] = &[
    Fault {
        name: "fill-half-done",
        planted: "the server does not keep all items of the data set",
        doses: "0.4 to 90 % of the items",
        right: "invalid (fill failed)",
        truth: "no figures: the items that were not kept are counted",
        plant: |c| lost(c, Fate::Forgotten, &[Reason::FillFailed]),
    },
    Fault {
        name: "wrong-value",
        planted: "the server returns other values than were stored",
        doses: "0.4 to 90 % of the items",
        right: "invalid (verify failed)",
        truth: "no figures: the values that were changed are counted",
        plant: |c| lost(c, Fate::Changed, &[Reason::VerifyFailed]),
    },
];

/// Keys, all of which are verified before the window.
const KEYS: u64 = 2_000;

fn lost(chance: &mut Chance, fate: Fate, reasons: &'static [Reason]) -> Result<Outcome> {
    let loss = Loss { fate, share: chance.magnitude(0.004, 0.9), seed: chance.seed() };
    let store = Store::start(loss)?;
    let verify = Some(Verify::Checksum);
    let cache = Cache { keys: KEYS, fill: Fill::Always, verify, yes: true, ..Cache::default() };
    let spec = Spec {
        workload: Workload::Cache(Box::new(cache)),
        load: Load::Rate(Rate::new(1_000.0)?),
        generator: Generator { connections: 4, pace: Some(Pace::Sleep), ..Generator::default() },
        time: Time { warmup: Nanos::from_millis(50), window: Nanos::from_millis(500), ..Time::default() },
        seed: chance.count(1, 1 << 32),
        ..Spec::default()
    };
    let task = Task::of(spec, &[&store.address.to_string()], vec![store.address.into()])?;
    let done = trial::run(&task, &Arc::default())?;
    let dose = format!("{} of {KEYS} items", store.hit());
    let given = DoseResult::Verdict(done.trial.verdict);
    let right = Right::Invalid(reasons);
    Ok(Judged { dose, right, given, truth: None, measured: None }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::right::Assessment;

    #[test]
    fn a_data_set_that_was_not_kept_is_found_out() {
        for fault in FAULTS {
            let Outcome::Judged(judged) = (fault.plant)(&mut Chance::of(1, fault.name, 0)).unwrap() else {
                panic!("{} can be planted anywhere", fault.name)
            };
            assert_eq!(judged.found(), Assessment::Right, "{}: {}", judged.dose, judged.given.words());
        }
    }
}
