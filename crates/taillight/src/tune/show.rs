//! What `taillight tune` prints.

use std::fmt::Write;

use knobs::{Planned, Status, Undone};
use serde_json::{Value, json};

/// The actions as one would type them, under the knobs that they serve.
pub(super) fn plan(planned: &Planned) -> String {
    let mut text = String::new();
    let mut knob = "";
    for action in &planned.actions {
        if action.knob != knob {
            knob = &action.knob;
            let _ = writeln!(text, "# {knob}");
        }
        let _ = writeln!(text, "{}", action.typed());
    }
    for skipped in &planned.skipped {
        let _ = writeln!(text, "# skipped: {}", skipped.reason);
    }
    if planned.actions.is_empty() {
        text.push_str("# nothing to do\n");
    }
    text
}

pub(super) fn plan_json(planned: &Planned) -> Value {
    let action = |action: &knobs::Action| {
        json!({
            "knob": action.knob,
            "typed": action.typed(),
            "read_back": action.read_back(),
            "undone": action.undone(),
            "step": action.step,
        })
    };
    let actions: Vec<_> = planned.actions.iter().map(action).collect();
    json!({ "actions": actions, "skipped": planned.skipped })
}

pub(super) fn status(status: &Status) -> String {
    let mut text = String::new();
    for story in &status.journals {
        let state = match (story.kept, status.running) {
            (true, _) => "until `taillight tune undo`",
            (false, true) => "while it runs",
            (false, false) => "left by a run that was killed; `taillight tune undo` reverts it",
        };
        let _ = writeln!(text, "process {} ({}), {state}:", story.begin.pid, story.begin.command.join(" "));
        for entry in story.entries.iter().filter(|entry| !entry.put_back) {
            let before =
                entry.before.as_deref().map_or("nothing".to_owned(), |text| format!("'{}'", text.trim()));
            let _ = writeln!(text, "  {}: {}, before: {before}", entry.action.knob, entry.action.typed());
        }
    }
    if status.journals.is_empty() {
        text.push_str("no knobs in force\n");
    }
    text
}

/// What `tune undo` would revert, the last change first.
pub(super) fn to_be_undone(status: &Status) -> String {
    let mut text = String::new();
    let entries = status.journals.iter().rev().flat_map(|story| story.entries.iter().rev());
    for entry in entries.filter(|entry| !entry.put_back && !entry.action.scratch) {
        let before = entry.before.as_deref().map_or(String::new(), |text| format!(" ('{}')", text.trim()));
        let _ = writeln!(text, "{}: {}{before}", entry.action.knob, entry.action.undone());
    }
    if text.is_empty() {
        text.push_str("nothing to undo\n");
    }
    text
}

pub(super) fn undone(undone: &Undone) -> String {
    let mut text = String::new();
    let mut last = "";
    for knob in &undone.put_back {
        if knob != last {
            let _ = writeln!(text, "reverted: {knob}");
            last = knob;
        }
    }
    for knob in &undone.gone {
        let _ = writeln!(text, "gone: {knob}, with what it acted on");
    }
    for drift in &undone.drifts {
        let _ = writeln!(text, "left alone: {drift}");
    }
    match undone.of_earlier_boots {
        0 => {}
        1 => text.push_str("discarded: 1 journal of an earlier boot, whose knobs went with it\n"),
        n => {
            let _ = writeln!(text, "discarded: {n} journals of earlier boots, whose knobs went with them");
        }
    }
    if text.is_empty() {
        text.push_str("nothing to undo\n");
    }
    text
}
