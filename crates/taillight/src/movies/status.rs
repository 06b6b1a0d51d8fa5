//! `taillight movies status`: the services that run, by the state that `up` wrote last, and whether each answers.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use app::{App, Phase, Row, State, StateFile};
use clap::Args;
use units::clock;

use super::{Source, table};
use crate::terminal::say_as;

/// How long a service may take to answer: one under load answers within a second.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Print the services that run, with process, memory, readiness and restarts, and those that do not answer.
#[derive(Args, Debug)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    source: Source,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &StatusArgs) -> Result<ExitCode> {
    let app = args.source.app()?;
    let kept = StateFile::of(&app);
    let mut state = kept.read()?.unwrap_or(State { phase: Phase::Stopped, ..State::default() });
    // One that was killed did not say so.
    if !kept.runs() && matches!(state.phase, Phase::Starting | Phase::Ready) {
        state.phase = Phase::Stopped;
        state.said = vec![format!("process {} ended without a word", state.pid)];
    }
    if state.phase == Phase::Ready {
        state.said = silent(&app, &state);
    }
    say_as(args.json, &state, |state| text(&app.name, &args.source, state, SystemTime::now()))?;
    let is_well = state.phase == Phase::Ready && state.said.is_empty();
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The instances that do not run or do not answer, each with the reason. It queries all at the same time.
fn silent(app: &App, state: &State) -> Vec<String> {
    thread::scope(|scope| {
        let ask = |row: &'_ Row| match (&row.ended, app.service(&row.name)) {
            (Some(how), _) => Some(format!("{} ended ({how}), and is started again", row.label())),
            (None, Some(service)) => {
                let why = app::asked(service, row, ANSWERS_WITHIN).err()?;
                Some(format!("{} does not answer: {why}", row.label()))
            }
            (None, None) => None,
        };
        let asked: Vec<_> = state.services.iter().map(|row| scope.spawn(move || ask(row))).collect();
        asked.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
    })
}

fn text(name: &str, source: &Source, state: &State, now: SystemTime) -> String {
    let begun = SystemTime::UNIX_EPOCH + Duration::from_secs(state.begun_s);
    let age = clock(now.duration_since(begun).unwrap_or_default());
    let mut text = match state.phase {
        Phase::Starting => format!("{name} is starting, for {age}, by process {}\n", state.pid),
        Phase::Ready => format!(
            "{name} {} at {}, for {age}, by process {}; {}\n",
            if state.said.is_empty() { "is ready" } else { "runs in part" },
            state.address,
            state.pid,
            table::memory(state)
        ),
        Phase::Failed => format!("{name} failed\n"),
        Phase::Stopped => format!("{name} does not run; start it by `{}`\n", source.command("up")),
    };
    state.said.iter().for_each(|line| text += &format!("  {line}\n"));
    if matches!(state.phase, Phase::Starting | Phase::Ready) {
        table::lines(state).iter().for_each(|line| text += &format!("{line}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_is_told() {
        let check = |phase: Phase, expect: &str| {
            let said = vec!["plot: no luck".to_owned()];
            let address = "http://127.0.0.1:1/".to_owned();
            let state = State { phase, pid: 7, begun_s: 100, address, said, ..State::default() };
            let now = SystemTime::UNIX_EPOCH + Duration::from_secs(165);
            let text = text("movies", &Source::default(), &state, now);
            assert!(text.starts_with(expect) && text.contains("\n  plot: no luck\n"), "{text}");
        };
        check(Phase::Starting, "movies is starting, for 1:05, by process 7\n");
        check(
            Phase::Ready,
            "movies runs in part at http://127.0.0.1:1/, for 1:05, by process 7; 0 processes, 0 MB\n",
        );
        check(Phase::Failed, "movies failed\n");
        check(Phase::Stopped, "movies does not run; start it by `taillight movies up`\n");
    }
}
