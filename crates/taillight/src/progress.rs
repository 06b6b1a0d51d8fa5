//! How far a run is: one line that lives on a terminal, plain lines in a pipe.

use std::io::{self, IsTerminal, Stderr};
use std::net::SocketAddr;

use anyhow::Result;
use clap::Args;
use lab::{Event, Progress, Step, Where};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::widgets::Widget;
use results::{Purpose, Trial};
use serde::Deserialize;
use spec::Workload;
use units::{Nanos, Rate, SESSION_PERCENTILE, clock};

use crate::live_metrics::{self, LiveMetrics};
use crate::terminal::{USUAL_WIDTH, size, takes_color, tell};
use report::view::{
    HIGHEST, LOWEST, NARROWEST, Picture, Screen, State, TimeSeries, WIDEST, one_line, restore_on_panic,
};

/// Rows of earlier output that the view leaves visible if the terminal has enough rows.
const LEFT_ALONE: u16 = 8;

/// The display of progress.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProgressArgs {
    /// Show the progress in one line. Without it, each trial is shown while it runs, if standard error is a terminal of
    /// at least 60 columns and 17 rows.
    #[arg(long)]
    no_live: bool,
    /// Serve the figures of the run to Prometheus on this address while it lasts, such as 127.0.0.1:9464: as
    /// http://ADDRESS/metrics.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    push: live_metrics::PushArgs,
}

impl ProgressArgs {
    pub(crate) fn teller(&self) -> Result<Teller> {
        let metrics = self.push.start(live_metrics::start(self.listen)?)?;
        Ok(Teller::new(!self.no_live, metrics))
    }
}

/// Tells on standard error how far a run is, so that standard output holds the answer alone.
pub(crate) struct Teller {
    /// `None` where standard error is not a terminal.
    screen: Option<Screen<Stderr>>,
    /// Whether the screen shows the picture of a trial, if it fits, instead of a line.
    view: bool,
    color: bool,
    phase: String,
    step: String,
    /// The latest outcome.
    last: String,
    /// The progress of the phase before a load.
    before: String,
    state: State,
    metrics: Option<LiveMetrics>,
}

/// A line of a generator about that phase.
#[derive(Deserialize)]
struct Before {
    before: String,
}

impl Teller {
    /// A `Teller` for this process's standard error. With `view`, a terminal may show a picture instead of a line.
    fn new(view: bool, metrics: Option<LiveMetrics>) -> Teller {
        let terminal =
            io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let screen = terminal.then(|| Screen::new(io::stderr()));
        if let Some(screen) = &screen {
            restore_on_panic(screen, io::stderr);
        }
        Teller {
            view: view && screen.is_some(),
            screen,
            color: takes_color(&io::stderr()),
            phase: String::new(),
            step: String::new(),
            last: String::new(),
            before: String::new(),
            state: State::default(),
            metrics,
        }
    }

    /// Reads a line of the generator: the progress before the load, or a point of the load, which ends that phase.
    fn read(&mut self, line: &str) {
        match serde_json::from_str(line) {
            Ok(Before { before }) => self.before = before,
            Err(_) => {
                self.before.clear();
                let point = self.state.series.read(line);
                if let Some((metrics, point)) = self.metrics.as_ref().zip(point) {
                    metrics.add(&point);
                }
            }
        }
    }

    fn show(&mut self, about: &Where) {
        let Some(screen) = &mut self.screen else { return };
        let trial = format!("trial {} of about {}", about.number.min(about.about), about.about);
        let left = format!("{} left", clock(about.left));
        // Queried each time, so that the picture follows a resized terminal.
        let (columns, rows) = size(io::stderr()).unwrap_or((USUAL_WIDTH, 0));
        // A character in the last column makes some terminals begin a line of their own.
        let width = (columns - 1).max(1);
        if self.view && width >= NARROWEST && rows > LOWEST {
            self.state.place = joined(&[&trial, &left]);
            self.state.context = joined(&[&self.before, &self.phase, &self.last]);
            let height = rows.saturating_sub(LEFT_ALONE).clamp(LOWEST, HIGHEST);
            let mut buffer = Buffer::empty(Rect::new(0, 0, width.min(WIDEST), height));
            Picture { state: &self.state, color: self.color }.render(buffer.area, &mut buffer);
            screen.show(buffer);
        } else {
            // The most important figure comes first, for terminals that cut the rest off.
            let text = joined(&[&left, &self.phase, &trial, &self.step, &self.last]);
            screen.show(one_line(&text, width));
        }
    }
}

impl Progress for Teller {
    fn shows_ticks(&self) -> bool {
        self.view || self.metrics.is_some()
    }

    fn event(&mut self, event: &Event<'_>, about: &Where) {
        if let Some(metrics) = &self.metrics {
            metrics.event(event, about);
        }
        match event {
            Event::Phase(words) => {
                self.phase = (*words).to_owned();
                if self.screen.is_none() {
                    tell(&format!("{words} (about {} left)", clock(about.left)));
                }
            }
            Event::Note(words) => {
                if let Some(screen) = &mut self.screen {
                    screen.clear();
                }
                return tell(words);
            }
            Event::Started(step) => {
                self.step = step_words(step);
                self.state.subject = subject(step);
                self.state.closed = step.closed;
                self.before.clear();
                self.state.series = TimeSeries::default();
            }
            Event::Tick(lines) => {
                lines.iter().for_each(|line| self.read(line));
                if let Some((metrics, last)) = self.metrics.as_ref().zip(self.state.series.last()) {
                    metrics.outstanding(last.in_flight, last.backlog);
                }
            }
            Event::Ended(trial) => {
                self.last = format!("last {}", outcome_words(trial));
                if self.screen.is_none() {
                    let (number, of, left) = (about.number - 1, about.about, clock(about.left));
                    let outcome = outcome_words(trial);
                    tell(&format!("  trial {number} of about {of}: {}: {outcome} ({left} left)", self.step));
                }
            }
        }
        self.show(about);
    }
}

/// The parts that say something, with points between.
fn joined(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

/// `sphinx · cache · 103 krps, 70 % of the maximum`.
fn subject(step: &Step<'_>) -> String {
    let load = load_words(step);
    let load = match step.request.load_share {
        Some(share) => format!("{load}, {:.0} % of the maximum", 100.0 * share),
        None => load,
    };
    let load = if step.request.rate_rps.is_none() && step.closed { "CLOSED LOOP" } else { &load };
    joined(&[step.target, step.workload, load])
}

/// `103 krps`.
fn load_words(step: &Step<'_>) -> String {
    let of_sessions = || Workload::named(step.workload).is_some_and(|workload| workload.has_sessions());
    match step.request.rate_rps {
        Some(per_s) if of_sessions() => sessions(per_s),
        Some(rps) => rate(rps),
        None if step.closed => "a closed loop".into(),
        None => "the rate of its arrivals".into(),
    }
}

/// `sphinx at 70 %, 103 krps`.
fn step_words(step: &Step<'_>) -> String {
    let load = load_words(step);
    match step.request.load_share {
        Some(share) => format!("{} at {:.0} %, {load}", step.target, 100.0 * share),
        None => format!("{} at {load}", step.target),
    }
}

/// The most important figures of a trial: in a search for the maximum the throughput, otherwise the tail.
fn outcome_words(trial: &Trial) -> String {
    let verdict = trial.verdict.label();
    if trial.sessions.is_some() {
        return of_sessions(trial);
    }
    if trial.purpose == Purpose::MaxSearch {
        return format!("achieved {}, {verdict}", rate(trial.achieved_rps));
    }
    let figure = |name: &str, us: Option<f64>| {
        us.map(|us| format!("{name} {}, ", Nanos((us * 1e3).round() as u64))).unwrap_or_default()
    };
    let raw = figure("p99", trial.claimed().p99_us);
    format!("{raw}{}{verdict}", figure("windowed p99", trial.windowed_p99_us))
}

/// `start-up delay p95 900 ms, misses 0.4 %, valid`: what sessions felt.
fn of_sessions(trial: &Trial) -> String {
    let startup = trial.times_us("startup", SESSION_PERCENTILE);
    let startup = startup.map(|us| format!("start-up delay p95 {}", Nanos((us * 1e3).round() as u64)));
    let ratio = |name: &str| trial.ratio(name).map(|ratio| format!("{name} {:.2} %", 100.0 * ratio));
    let parts = [startup, ratio("rebuffer"), ratio("misses"), Some(trial.verdict.label().to_owned())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `2.5 sessions/s`.
fn sessions(per_s: f64) -> String {
    format!("{} sessions/s", (1e3 * per_s).round() / 1e3)
}

fn rate(rps: f64) -> String {
    Rate::new(rps).map_or_else(|_| format!("{rps:.0} rps"), |rate| rate.to_string())
}

#[cfg(test)]
mod tests {
    use lab::Request;
    use results::{Arrivals, DistributionSummary, Sessions, Verdict};

    use super::*;

    #[test]
    fn what_comes_before_a_load_is_shown_until_it_begins() {
        let mut teller = Teller::new(false, None);
        teller.read(r#"{"before":"30 of 1000 users read into the cache"}"#);
        assert_eq!(teller.before, "30 of 1000 users read into the cache");
        teller.read(r#"{"live":{"interval":0,"offered":9,"answered":0,"failed":0,"in_flight":9,"backlog":0,"times":[]}}"#);
        assert_eq!((teller.before.as_str(), teller.state.series.so_far().offered), ("", 9));
    }

    #[test]
    fn a_trial_of_sessions_says_what_they_felt() {
        let mut trial = Trial { sessions: Some(Sessions::default()), ..Trial::default() };
        trial.purpose = Purpose::MaxSearch;
        trial.arrivals = Arrivals { intended: 1_000, completed: 996, ..Arrivals::default() };
        trial.verdict = Verdict::Valid;
        assert_eq!(outcome_words(&trial), "misses 0.40 %, valid");
        trial.counters.insert("rebuffer_ratio".into(), 0.0125);
        let startup = DistributionSummary { p95_us: Some(850_000.0), ..DistributionSummary::default() };
        trial.sessions.as_mut().unwrap().distributions.insert("startup".into(), startup);
        let words = "start-up delay p95 850 ms, rebuffer 1.25 %, misses 0.40 %, valid";
        assert_eq!(outcome_words(&trial), words);
        assert_eq!([sessions(2.0), sessions(0.123_46)], ["2 sessions/s", "0.123 sessions/s"]);
    }

    #[test]
    fn a_step_says_target_share_and_load() {
        let check = |share: Option<f64>, rate: Option<f64>, closed: bool, line: &str, title: &str| {
            let request = Request {
                target: 0,
                purpose: Purpose::LoadPoint,
                block: 0,
                load_share: share,
                rate_rps: rate,
                time: spec::Time::default(),
                seed: 1,
            };
            let step = Step { target: "sphinx", workload: "cache", closed, request: &request };
            assert_eq!(step_words(&step), line);
            assert_eq!(subject(&step), title);
        };
        let max = "sphinx · cache · 103 krps, 70 % of the maximum";
        check(Some(0.7), Some(103_000.0), false, "sphinx at 70 %, 103 krps", max);
        check(None, Some(0.0), false, "sphinx at 0 rps", "sphinx · cache · 0 rps");
        check(None, None, true, "sphinx at a closed loop", "sphinx · cache · CLOSED LOOP");
        let arrivals = "sphinx · cache · the rate of its arrivals";
        check(None, None, false, "sphinx at the rate of its arrivals", arrivals);
    }
}
