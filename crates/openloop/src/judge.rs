//! Whether a recording describes the server, and whether the server kept up.

mod footing;
mod limits;
mod overload;
mod sessions;
mod steady;

use hist::WindowSelection;
use results::{Basis, Invalid, Reason, Verdict};
use stats::Trend;
use units::Nanos;

pub use footing::Footing;

use crate::{LATE, Load, Recording};

units::limits! {
    /// The generator may be late by this share of the measured time...
    const LAG_SHARE: f64 = 0.1, Share,
        "ours, because it is the most by which the generator may falsify the p99 that is claimed";

    /// ...or by this much, if that is more.
    const LAG_ALLOWED: Nanos = Nanos::from_micros(100), Span,
        "ours, because a generator that sleeps wakes up 10 to 60 µs late, and a tenth of a short response time is less than that";

    /// Generator or host may move the p99 by this share of its undisturbed value...
    const MOVED_SHARE: f64 = 0.1, Share,
        "ours, because it is as much as the generator's lag may be of the p99 that is claimed";

    /// ...or by this much, if that is more: what wires and event loops add to known times (`docs/reference/accuracy.md`).
    const MOVED_ALLOWED: Nanos = Nanos::from_micros(50), Span,
        "ours, because wires and event loops add as much to known times (docs/reference/accuracy.md)";

    /// From this share on, processor time that others took from server and generator is named along with a late
    /// generator.
    const TAKEN_NAMED: f64 = 0.01, Share,
        "ours, because a p99 is decided by 1 % of the requests, which as much of the time can hold up";

    /// A generator that works for more than this share of its time has none left.
    const SATURATED: f64 = 0.95, Share,
        "ours, because the rest is what chance needs: a thread that works more has no time to catch up";

    /// The least share of the offered load that must be achieved.
    const ACHIEVED: f64 = 0.99, Share,
        "ours, because the last answers of a window come after it: 10 ms of 5 s are 0.2 %, and chance adds to that";

    /// The backlog may grow over the window by at most this share of the arrivals in it.
    const GROWTH: f64 = 0.005, Share,
        "ours, because it is half of the share that may be missing from what is achieved";

    /// A trend is one when chance shows as clear a one in fewer than one of a hundred trials.
    const SIGNIFICANT: f64 = 0.01, Share,
        "ours, because chance alone may then fault one trial of a hundred";

    /// The largest share of requests that may fail.
    const ERRORS: f64 = 0.001, Share,
        "ours, because it is a tenth of the requests beyond the p99: errors, which have no response time, cannot hide that";

    /// The generator may leave an idle server waiting for this share of the window.
    const STARVED: f64 = 0.01, Share,
        "ours, because it is as much as may be missing from what is achieved: a server that had nothing to do for longer is not why";
}

/// Judges whether a recording describes the server, and whether the server kept up.
///
/// `others` are reasons that the engine cannot know, such as a missing data set; the most severe reason comes first.
///
/// Units: all shares are of requests, or of steps if arrivals are sessions; then only faults are counted by session.
/// If operations have limits of their own, their faults are misses, and the effect of host and generator is on the
/// share in time.
pub fn judge(recording: &Recording, load: &Load, others: Vec<Invalid>) -> Verdict {
    verdict(recording, load, others, None)
}

/// The same, except that a trial that host or generator [slowed](slowed) is invalid for it: for tests of the ruler,
/// which check that a wrong figure is detected.
pub fn judge_strictly(recording: &Recording, load: &Load, others: Vec<Invalid>) -> Verdict {
    verdict(recording, load, others, slowed(recording, &Footing::of(recording)))
}

/// Whether host or generator may have lengthened the response times by more than allowed, so that these are upper
/// bounds. For operations with limits of their own, whether the share in time may be too low.
pub fn slowed(recording: &Recording, footing: &Footing) -> Option<Invalid> {
    if let Some(in_time) = limits::InTime::of(recording, footing) {
        let by_host = in_time.disturbed(footing).map(|detail| (Reason::HostDisturbed, detail));
        let found = by_host.or_else(|| Some((Reason::GeneratorLag, in_time.late()?)));
        return found.map(|(reason, detail)| Invalid { reason, detail });
    }
    let all = recording.all();
    let lag = all.generator_lag.value_at(99.0).unwrap_or(Nanos::ZERO);
    let response = all.response_time.value_at(99.0).unwrap_or(Nanos::ZERO);
    let allowed = lag_limit(response);
    let late = late(recording, footing);
    // If the figures rest on undisturbed windows, its lag in the others does not matter.
    let lags = lag > allowed && footing.basis != Basis::UndisturbedWindows;
    let by_host = match lags || late.is_some() {
        // A late generator is reason enough, unless it is known who had its processor.
        true => disturbed(footing).filter(|_| taken(recording) > TAKEN_NAMED),
        false => disturbed(footing),
    };
    // Answers with a kernel stamp were not read late.
    let stamped = recording.receives.unstamped == 0 && recording.receives.stamped > 0;
    let (reason, detail) = match (by_host, lags, late) {
        (Some(detail), ..) => (Reason::HostDisturbed, detail),
        (None, true, _) => (
            Reason::GeneratorLag,
            format!("p99 lag {lag}, allowed {allowed} at a p99 response time of {response}"),
        ),
        (None, false, Some(detail)) if stamped => (Reason::GeneratorLag, detail),
        (None, false, Some(detail)) => (Reason::ReceiveLag, detail),
        (None, false, None) => return None,
    };
    Some(Invalid { reason, detail })
}

/// The share of operations that would have been within their limits at most without host and generator, 0 to 1; `None`
/// if they have no limits.
pub fn within_at_most(recording: &Recording, footing: &Footing) -> Option<f64> {
    limits::InTime::of(recording, footing).map(|in_time| in_time.by_both)
}

fn verdict(recording: &Recording, load: &Load, others: Vec<Invalid>, slowed: Option<Invalid>) -> Verdict {
    let mut reasons = others;
    if recording.tally.intended == 0 && !reasons.is_empty() {
        // The reason why no arrival was due is known.
        return Verdict::Invalid { reasons };
    }
    let mut find = |reason: Reason, detail: String| reasons.push(Invalid { reason, detail });
    let tally = &recording.tally;

    if tally.intended == 0 {
        let at = match load {
            Load::Open { rate, .. } => format!(" at {rate}"),
            Load::Closed { .. } => String::new(),
        };
        let detail = format!("no arrival fell into the window of {}{at}", recording.window);
        find(Reason::RateMissed, detail);
        return Verdict::Invalid { reasons };
    }
    let of_sessions = sessions::are_in(recording);
    let failed = tally.errors + tally.timeouts;
    let failed_share = failed as f64 / tally.intended as f64;
    if of_sessions {
        if let Some(detail) = sessions::faults(recording, limits::are_in(recording)) {
            find(Reason::ErrorRate, detail);
        }
        if let Some(detail) = sessions::refused(recording) {
            find(Reason::RateMissed, detail);
        }
    } else if failed_share > ERRORS {
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
        let detail = format!("the server sent an answer without a request, {} times", recording.unsolicited);
        find(Reason::ErrorRate, detail);
    }
    if recording.unowned > 0 {
        let detail =
            format!("{} events belonged to no connection, so that answers may be missing", recording.unowned);
        find(Reason::EventsLost, detail);
    }

    let answered_share = recording.answered_in_window as f64 / tally.intended as f64;
    let achieved_share = if of_sessions { sessions::ended_share(recording) } else { answered_share };
    let per_s = tally.intended as f64 / recording.window.as_secs_f64();
    let growth = if of_sessions { (1.0 - achieved_share) * per_s } else { growth_rps(recording) };
    let grown_share = growth / per_s;
    let behind = if of_sessions {
        sessions::are_behind(recording)
    } else {
        achieved_share < ACHIEVED || grown_share > GROWTH
    };

    let footing = Footing::of(recording);
    if behind {
        let shortfall = (1.0 - achieved_share).max(grown_share);
        if let Some(detail) = overload::by_host(recording, &footing, shortfall) {
            find(Reason::HostDisturbed, detail);
        }
    }
    if let Some(Invalid { reason, detail }) = slowed
        && !(behind && reason == Reason::HostDisturbed)
    {
        find(reason, detail);
    }

    let busy = recording.busy_share();
    if (behind || answered_share < ACHIEVED) && busy > SATURATED {
        let detail = format!(
            "it worked {:.0} % of its time and achieved {:.1} % of the load; give it more threads and cores",
            100.0 * busy,
            100.0 * answered_share
        );
        find(Reason::GeneratorSaturated, detail);
    }
    // Clients of a closed loop wait for a generator that the server keeps from its processor, and offer less.
    let busy = recording.used_share();
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
    if achieved_share < ACHIEVED && (behind || !of_sessions) && starved > STARVED {
        let detail = format!(
            "achieved {:.1} % while requests were due and the server had none outstanding for {:.1} % of the time",
            100.0 * achieved_share,
            100.0 * starved
        );
        find(Reason::RateMissed, detail);
    }

    let steady = matches!(load, Load::Open { steady: true, .. } | Load::Closed { .. });
    if reasons.is_empty()
        && steady
        && let Some(detail) = steady::unsteady(recording, &footing.rests_on(), behind, of_sessions)
    {
        reasons.push(Invalid { reason: Reason::NotSteady, detail });
    }
    if !reasons.is_empty() {
        Verdict::Invalid { reasons }
    } else if behind {
        let timed_out_share = if of_sessions { sessions::given_up_share(recording) } else { 0.0 };
        // Timed-out requests are no longer outstanding.
        let growth = growth - timed_out_share * per_s;
        Verdict::Overloaded { achieved_share, backlog_growth_rps: growth.max(0.0), timed_out_share }
    } else {
        Verdict::Valid
    }
}

/// The most that the p99 of the generator's lag may be at this p99 of the response time.
pub fn lag_limit(response: Nanos) -> Nanos {
    LAG_ALLOWED.max(Nanos((LAG_SHARE * response.0 as f64) as u64))
}

/// The most that generator or host may move a p99 that would be this without them.
pub fn moved_limit(truth: Nanos) -> Nanos {
    MOVED_ALLOWED.max(Nanos((MOVED_SHARE * truth.0 as f64) as u64))
}

/// The effect of late sending and reading on the judged percentile, in words, if it leaves the figures without a
/// basis.
fn late(recording: &Recording, footing: &Footing) -> Option<String> {
    let in_time =
        recording.late.without(&recording.windows, WindowSelection::All).percentile(footing.percentile);
    let (tail, least) = footing.tail.zip(in_time).filter(|_| footing.basis == Basis::Nothing)?;
    footing.moved_from(in_time).then(|| {
        format!(
            "{} requests may have been sent or read late by more than {LATE}, up to {} of the p{} of {tail}, allowed {}; {} of {} windows were late",
            recording.late.count(),
            tail - least,
            footing.percentile,
            moved_limit(least),
            footing.late_windows,
            footing.windows,
        )
    })
}

/// The effect of the host on the judged percentile, in words, if it leaves the figures without a basis.
fn disturbed(footing: &Footing) -> Option<String> {
    // If neither host nor generator alone moved it by this much, both together did.
    let least =
        if footing.moved_from(footing.tail_at_least) { footing.tail_at_least } else { footing.tail_in_time };
    let (tail, least) = footing.tail.zip(least).filter(|_| footing.basis == Basis::Nothing)?;
    Some(format!(
        "others took {:.1} % of the time of server and generator, which may have held up {:.1} % of the requests: the p{} of {tail} would be {least} or more; {}",
        100.0 * footing.lost,
        100.0 * footing.touched,
        footing.percentile,
        footing.windows_in_words(),
    ))
}

/// The share that others are known to have taken, of the server's time or of the generator's.
fn taken(recording: &Recording) -> f64 {
    let taken = recording.taken;
    taken.server.unwrap_or(0.0).max(taken.generator.unwrap_or(0.0))
}

/// Growth of the number of outstanding requests, 0 without a clear trend. Units: requests per second.
fn growth_rps(recording: &Recording) -> f64 {
    let outstanding: Vec<f64> =
        recording.backlog.iter().map(|point| (point.backlog + point.in_flight) as f64).collect();
    match Trend::of(&outstanding) {
        Some(trend) if trend.p_value < SIGNIFICANT => trend.rise() / recording.window.as_secs_f64(),
        _ => 0.0,
    }
}

/// The limits of verdicts, in the order in which they are explained.
pub(crate) fn all_limits() -> Vec<units::Limit> {
    [limits(), sessions::limits(), steady::limits(), footing::limits()].concat()
}
