//! Conflicts between two plans that share an engine on one machine: the revert of one would undo or restore the other's
//! change.

use crate::action::Step;
use crate::journal::Entry;
use crate::{Action, Applied, Reading};

impl Applied {
    /// An object of `plan` that these knobs have changed, or that they found as wanted and `plan` would change. `None`
    /// if both can be in force and be reverted in any order.
    pub fn overlap(&self, plan: &[Action]) -> Option<String> {
        self.made.iter().find_map(|made| plan.iter().find_map(|action| of_both(made, action)))
    }
}

fn of_both(made: &Entry, action: &Action) -> Option<String> {
    let (step, before) = (&made.action.step, &made.before);
    let wanted = step.wanted();
    let after = made.after.as_ref().unwrap_or(&wanted);
    let is_changed = !step.same(before, after);
    if is_changed && needs(&action.step, step) {
        return objects(step).pop();
    }
    let theirs = objects(&action.step);
    let shared = objects(step).into_iter().find(|object| theirs.contains(object))?;
    (is_changed || !action.step.same(&action.step.wanted(), after)).then_some(shared)
}

/// Whether a step writes to a controller's file that exists only while `enable` hands that controller to the groups
/// below.
fn needs(step: &Step, enable: &Step) -> bool {
    let (Step::Write { file, .. }, Step::Enable { file: control, word }) = (step, enable) else {
        return false;
    };
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_below = file.parent().and_then(|group| group.parent()) == control.parent();
    is_below && name.strip_prefix(word).is_some_and(|rest| rest.starts_with('.'))
}

/// Names of the objects that a step changes, equal for equal objects.
fn objects(step: &Step) -> Vec<String> {
    let within = |namespace: &Option<crate::Namespace>| {
        namespace.as_ref().map_or_else(String::new, |namespace| format!(" in namespace {}", namespace.inode))
    };
    match step {
        Step::Write { file, namespace, .. } => vec![format!("{}{}", file.display(), within(namespace))],
        Step::Directory { path } => vec![path.display().to_string()],
        Step::Enable { file, word } => vec![format!("{word} in {}", file.display())],
        Step::Move { pids, controller, .. } => pids
            .iter()
            .map(|pid| format!("the group of process {pid} {controller}").trim().to_owned())
            .collect(),
        Step::Tasks { pids, .. } => pids.iter().map(|pid| format!("the cache of process {pid}")).collect(),
        Step::Tool { show, reading, namespace, .. } => {
            let show = show.join(" ");
            let place = within(namespace);
            // One command shows many features, which are independent; disciplines and classes of a device are not.
            vec![match reading {
                Reading::Feature { name } => format!("{name} of `{show}`{place}"),
                _ => format!("what `{show}` shows{place}"),
            }]
        }
        Step::Register { cpu, register, .. } => vec![format!("register {register:#x} of processor {cpu}")],
        Step::Pace { group } => vec![format!("pacing below {}", group.display())],
        Step::Daemon { name, .. } => vec![format!("the daemon {name}")],
    }
}
