use results::{Invalid, Reason, Verdict};
use stats::{Steadiness, Trend};
use units::Nanos;

use crate::{Load, Recording};

/// The generator may be late by this share of what it measures...
const LAG_SHARE: f64 = 0.1;
/// ...or by this much, if that is more.
const LAG_ALLOWED: Nanos = Nanos::from_micros(100);
/// A generator that works for more than this share of its time has none left.
const SATURATED: f64 = 0.95;
/// The least share of the offered load that must be achieved.
const ACHIEVED: f64 = 0.99;
/// The backlog may grow over the window by at most this share of the arrivals in it.
const GROWTH: f64 = 0.005;
/// A trend is one when chance shows as clear a one in fewer than one of a hundred trials.
const SIGNIFICANT: f64 = 0.01;
/// The largest share of requests that may fail.
const ERRORS: f64 = 0.001;
/// The generator may leave an idle server waiting for this share of the window.
const STARVED: f64 = 0.01;
/// The medians of the two halves of a window may differ by this share, if there is a trend.
const STEADY: f64 = 0.5;

/// Judges whether a recording describes the server, and whether the server kept up.
///
/// `others` are reasons that the engine cannot know, such as a data set that was not there; the most severe
/// reason comes first.
pub fn judge(recording: &Recording, load: &Load, others: Vec<Invalid>) -> Verdict {
    let mut reasons = others;
    let mut find = |reason: Reason, detail: String| reasons.push(Invalid { reason, detail });
    let tally = &recording.tally;
    let all = recording.all();

    if tally.intended == 0 {
        let at = match load {
            Load::Open { rate, .. } => format!(" at {rate}"),
            Load::Closed { .. } => String::new(),
        };
        let detail = format!("no arrival fell into the window of {}{at}", recording.window);
        find(Reason::RateMissed, detail);
        return Verdict::Invalid { reasons };
    }
    let failed = tally.errors + tally.timeouts;
    let failed_share = failed as f64 / tally.intended as f64;
    if failed_share > ERRORS {
        let first = recording.errors.first().unwrap_or("");
        let detail = format!(
            "{failed} of {} requests failed, {:.2} %, over the limit of {} %: {first}",
            tally.intended,
            100.0 * failed_share,
            100.0 * ERRORS
        );
        find(Reason::ErrorRate, detail);
    }

    if recording.unsolicited > 0 {
        let detail = format!("the server sent bytes without a request, {} times", recording.unsolicited);
        find(Reason::ErrorRate, detail);
    }

    let lag = all.generator_lag.value_at(99.0).unwrap_or(Nanos::ZERO);
    let response = all.response_time.value_at(99.0).unwrap_or(Nanos::ZERO);
    let allowed = lag_limit(response);
    if lag > allowed {
        find(
            Reason::GeneratorLag,
            format!("p99 lag {lag}, allowed {allowed} at a p99 response time of {response}"),
        );
    }

    let achieved_share = recording.answered_in_window as f64 / tally.intended as f64;
    let growth = growth_rps(recording);
    let grows = growth * recording.window.as_secs_f64() > GROWTH * tally.intended as f64;
    let behind = achieved_share < ACHIEVED || grows;
    let busy = recording.busy_share();
    if behind && busy > SATURATED {
        let detail = format!(
            "it worked {:.0} % of its time and achieved {:.1} % of the load; give it more threads and cores",
            100.0 * busy,
            100.0 * achieved_share
        );
        find(Reason::GeneratorSaturated, detail);
    }
    if let Load::Closed { .. } = load
        && busy > SATURATED
    {
        let detail = format!(
            "it worked {:.0} % of its time: a closed loop measured the generator, not the server; give it more threads and cores",
            100.0 * busy
        );
        find(Reason::GeneratorSaturated, detail);
    }
    let starved =
        recording.starved.as_secs_f64() / (recording.window.as_secs_f64() * f64::from(recording.threads));
    if achieved_share < ACHIEVED && starved > STARVED {
        let detail = format!(
            "achieved {:.1} % while requests were due and the server had none outstanding for {:.1} % of the time",
            100.0 * achieved_share,
            100.0 * starved
        );
        find(Reason::RateMissed, detail);
    }

    let steady = matches!(load, Load::Open { steady: true, .. } | Load::Closed { .. });
    if reasons.is_empty()
        && !behind
        && steady
        && let Some(detail) = unsteady(recording)
    {
        reasons.push(Invalid { reason: Reason::NotSteady, detail });
    }
    if !reasons.is_empty() {
        Verdict::Invalid { reasons }
    } else if behind {
        Verdict::Overloaded { achieved_share, backlog_growth_rps: growth.max(0.0) }
    } else {
        Verdict::Valid
    }
}

/// The most that the p99 of the generator's lag may be at this p99 of the response time.
pub fn lag_limit(response: Nanos) -> Nanos {
    LAG_ALLOWED.max(Nanos((LAG_SHARE * response.0 as f64) as u64))
}

/// How fast the requests outstanding grow, 0 where there is no clear trend. Units: requests per second.
fn growth_rps(recording: &Recording) -> f64 {
    let outstanding: Vec<f64> =
        recording.backlog.iter().map(|point| (point.backlog + point.in_flight) as f64).collect();
    match Trend::of(&outstanding) {
        Some(trend) if trend.p_value < SIGNIFICANT => trend.rise() / recording.window.as_secs_f64(),
        _ => 0.0,
    }
}

/// Why the window was not in one state, if it was not.
fn unsteady(recording: &Recording) -> Option<String> {
    let series: Vec<f64> = recording
        .windows
        .series()
        .iter()
        .filter(|w| !w.marked)
        .filter_map(|w| w.p50)
        .map(|p50| p50.0 as f64)
        .collect();
    let steadiness = Steadiness::of(&series, STEADY).filter(|s| !s.is_steady())?;
    Some(format!("median response time: {steadiness}; a longer --warmup may help"))
}
