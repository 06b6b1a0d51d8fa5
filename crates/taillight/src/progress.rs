//! How far a run is: one line that lives on a terminal, plain lines in a pipe.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lab::{Event, Progress, Step, Where};
use results::{Purpose, Trial};
use units::{Nanos, Rate};

use crate::terminal::tell;

/// Tells on standard error how far a run is, so that standard output holds the answer alone.
pub(crate) struct Teller {
    /// `None` where standard error is no terminal.
    line: Option<ProgressBar>,
    phase: String,
    /// What runs now.
    step: String,
    /// What came out last.
    last: String,
    /// What the line says.
    shown: String,
}

impl Teller {
    /// One for this process's standard error.
    pub(crate) fn new() -> Teller {
        let live =
            std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let line = live.then(|| {
            // No ticker of its own: a redraw is a wake-up, which on two cores hits the measurement.
            let style = ProgressStyle::with_template("{wide_msg}").expect("the template is a constant");
            ProgressBar::new_spinner().with_style(style)
        });
        Teller { line, phase: String::new(), step: String::new(), last: String::new(), shown: String::new() }
    }

    fn show(&mut self, about: &Where) {
        let Some(line) = &self.line else { return };
        // What one looks for first stands first, for terminals that cut the rest off.
        let parts = [
            &format!("{} left", clock(about.left)),
            self.phase.as_str(),
            &format!("trial {} of about {}", about.number.min(about.about), about.about),
            &self.step,
            &self.last,
        ];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let text = parts.join(" · ");
        if text != self.shown {
            line.set_message(text.clone());
            self.shown = text;
        }
    }
}

impl Progress for Teller {
    fn event(&mut self, event: &Event<'_>, about: &Where) {
        match event {
            Event::Phase(words) => {
                self.phase = (*words).to_owned();
                if self.line.is_none() {
                    tell(&format!("{words} (about {} left)", clock(about.left)));
                }
            }
            Event::Started(step) => self.step = step_words(step),
            Event::Tick(_) => {}
            Event::Ended(trial) => {
                self.last = format!("last {}", outcome_words(trial));
                if self.line.is_none() {
                    let (number, of, left) = (about.number - 1, about.about, clock(about.left));
                    let outcome = outcome_words(trial);
                    tell(&format!("  trial {number} of about {of}: {}: {outcome} ({left} left)", self.step));
                }
            }
        }
        self.show(about);
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}

/// `sphinx at 70 %, 103 krps`.
fn step_words(step: &Step<'_>) -> String {
    let rate = step.rate_rps.map_or_else(|| "a closed loop".into(), rate);
    match step.load_share {
        Some(share) => format!("{} at {:.0} %, {rate}", step.target, 100.0 * share),
        None => format!("{} at {rate}", step.target),
    }
}

/// What matters of a trial while one waits: of a search for the maximum the throughput, otherwise the tail.
fn outcome_words(trial: &Trial) -> String {
    let verdict = trial.verdict.label();
    if trial.purpose == Purpose::MaxSearch {
        return format!("achieved {}, {verdict}", rate(trial.achieved_rps));
    }
    let figure = |name: &str, us: Option<f64>| {
        us.map(|us| format!("{name} {}, ", Nanos((us * 1e3).round() as u64))).unwrap_or_default()
    };
    let raw = figure("p99", trial.all.response_time.p99_us);
    format!("{raw}{}{verdict}", figure("windowed p99", trial.windowed_p99_us))
}

fn rate(rps: f64) -> String {
    Rate::new(rps).map_or_else(|_| format!("{rps:.0} rps"), |rate| rate.to_string())
}

/// `1:05`, `0:07`, `1:02:03`.
fn clock(left: Duration) -> String {
    let seconds = left.as_secs_f64().round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_reads_like_a_clock() {
        let check = |seconds: f64, expect: &str| assert_eq!(clock(Duration::from_secs_f64(seconds)), expect);
        check(0.0, "0:00");
        check(7.4, "0:07");
        check(59.6, "1:00");
        check(65.0, "1:05");
        check(3723.0, "1:02:03");
    }

    #[test]
    fn a_step_says_target_share_and_rate() {
        let check = |load_share: Option<f64>, rate_rps: Option<f64>, expect: &str| {
            let step = Step { target: "sphinx", purpose: Purpose::LoadPoint, load_share, rate_rps };
            assert_eq!(step_words(&step), expect);
        };
        check(Some(0.7), Some(103_000.0), "sphinx at 70 %, 103 krps");
        check(None, Some(0.0), "sphinx at 0 rps");
        check(None, None, "sphinx at a closed loop");
    }
}
