//! Settings of the agent's machine that a coordinator has applied: by the same engine and journal as `taillight tune`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ::agent::Tune;
use host::Host;
use knobs::{Action, Applied, Engine, Setting, Subject};

/// What is in force, for each session. Dropping it puts the machine back.
///
/// An agent that is killed leaves its journal, for `taillight tune undo` on its machine.
#[derive(Default)]
pub(super) struct Settings {
    applied: Mutex<BTreeMap<u64, Applied>>,
}

impl Settings {
    /// Does what `tune` asks, for a server with these processes; returns the actions, one in a line.
    pub(super) fn tune(&self, session: u64, tune: &Tune, pids: Vec<u32>) -> Result<String, String> {
        match tune.action.as_str() {
            "plan" => Ok(typed(&plan(session, tune, pids)?)),
            "apply" => {
                let mut applied = self.lock();
                if applied.contains_key(&session) {
                    return Err("its settings are in force already; undo them first".into());
                }
                let plan = plan(session, tune, pids)?;
                let engine = Engine::here().map_err(|error| error.to_string())?;
                applied.insert(session, engine.apply(&plan).map_err(|error| error.to_string())?);
                Ok(typed(&plan))
            }
            "status" => {
                Ok(self.lock().get(&session).map_or(String::new(), |applied| typed(applied.actions())))
            }
            "undo" => match self.lock().remove(&session) {
                None => Ok(String::new()),
                Some(applied) => {
                    let drifts = applied.revert().map_err(|error| error.to_string())?;
                    let drifts: Vec<String> = drifts.iter().map(ToString::to_string).collect();
                    Ok(drifts.join("\n"))
                }
            },
            other => Err(format!("'{other}' is none of plan, apply, status and undo")),
        }
    }

    /// Puts back what the session has set.
    pub(super) fn leave(&self, session: u64) {
        // What cannot be put back stays in the journal.
        drop(self.lock().remove(&session));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Applied>> {
        self.applied.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn plan(session: u64, tune: &Tune, pids: Vec<u32>) -> Result<Vec<Action>, String> {
    let settings: Result<Vec<Setting>, _> = tune.settings.iter().map(|text| text.parse()).collect();
    let settings = settings.map_err(|error| format!("{error}"))?;
    let name = format!("taillight-agent-{}-{session}", std::process::id());
    let subject = Subject { name, pids, ..Subject::default() }.with_descendants();
    knobs::plan(&settings, &Host::here(), &subject).map_err(|error| error.to_string())
}

fn typed<'a>(actions: impl IntoIterator<Item = &'a Action>) -> String {
    actions.into_iter().map(Action::typed).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_it_does_not_know() {
        let check = |action: &str, setting: &str, says: &str| {
            let tune = Tune { action: action.into(), settings: vec![setting.into()] };
            let error = Settings::default().tune(1, &tune, Vec::new()).unwrap_err();
            assert!(error.contains(says), "{error}");
        };
        check("wipe", "cpu.set=0", "plan, apply, status and undo");
        check("plan", "no-such-knob=1", "no-such-knob");
        let nothing = Tune { action: "undo".into(), settings: Vec::new() };
        assert_eq!(Settings::default().tune(1, &nothing, Vec::new()), Ok(String::new()));
    }
}
