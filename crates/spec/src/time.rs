use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::Workload;
use crate::text::exact;

/// How long the parts of a trial take.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Time {
    /// Load before the window, not recorded; of video 10s at real speed, of social 6s, of movies 2s and --watch, unless given.
    #[arg(long, default_value = "500ms", value_name = "TIME")]
    #[serde(with = "exact")]
    #[schemars(with = "String")]
    #[schemars(extend("x-source" = "ours, because connections and data set are there before it, and caches and clocks settle sooner; a window that has not settled is judged 'not steady'. IISWC'17 §III-C leaves a warm-up out without its length"))]
    pub warmup: Nanos,
    /// Time in which arrivals are recorded; of video 60s at real speed, of social and movies 30s, unless given.
    #[arg(short = 'd', long, visible_alias = "duration", default_value = "5s", value_name = "TIME")]
    #[serde(with = "exact")]
    #[schemars(with = "String")]
    #[schemars(extend("x-source" = "ours, because at 10 krps it has 500 requests beyond the p99; IISWC'17 §III-C has 2 minutes, ANCS'19 §IV-B 50 s"))]
    pub window: Nanos,
    /// The window of a trial that searches for a maximum.
    #[arg(skip = Nanos::from_secs(1))]
    #[serde(with = "exact")]
    #[schemars(with = "String")]
    #[schemars(extend("x-source" = "ours, because a search takes tens of trials, and each only tells whether a load was sustained"))]
    pub search: Nanos,
}

/// The load of sessions before the window, at real speed. Source: the time-out of a chunk, the longest that an earlier
/// chunk may be under way; from then on as many end as fall due.
const WARMUP_OF_SESSIONS: Nanos = Nanos::from_secs(10);
/// The window of sessions, at real speed. Source: six chunks of each viewer, so that one who stalls is seen to.
const WINDOW_OF_SESSIONS: Nanos = Nanos::from_secs(60);
/// The window of a trial of sessions that searches, at real speed. Source: half of the other.
const SEARCH_OF_SESSIONS: Nanos = Nanos::from_secs(30);

impl Time {
    /// The default durations of a trial of `workload`.
    pub fn of(workload: &Workload) -> Time {
        let video = match workload {
            Workload::Video(video) => video,
            Workload::Social(social) => return Time::of_social(social.think_time),
            Workload::Movies(movies) => return Time::of_movies(movies.watch),
            Workload::Cache(_) | Workload::Web(_) | Workload::Null(_) => return Time::default(),
        };
        let at_speed = |time: Nanos| Nanos(time.0 / u64::from(video.speed.max(1)));
        Time {
            warmup: at_speed(WARMUP_OF_SESSIONS),
            window: at_speed(WINDOW_OF_SESSIONS),
            search: at_speed(SEARCH_OF_SESSIONS),
        }
    }
}

/// The load of users before the window, in think times: 6 s of the usual 2 s. Source: the initial users have logged in
/// beforehand and are in steady state, so that only queues must settle. The largest limit of Table II is 3 s: earlier
/// steps have ended or missed it by then, twice over.
const WARMUP_OF_USERS: u64 = 3;
/// The window of users, in think times: 30 s of the usual 2 s. Source: 15 operations of each user; at 10 operations a
/// second 300 of them, whose share of 95 % is known to 2.5 points.
const WINDOW_OF_USERS: u64 = 15;
/// The least of both. Source: a load whose users do not think still has a window of the usual length.
const LEAST_OF_USERS: Time =
    Time { warmup: Nanos::from_secs(1), window: Nanos::from_secs(5), search: Nanos::from_secs(5) };

impl Time {
    fn of_social(think: Nanos) -> Time {
        let times = |times: u64, least: Nanos| Nanos(think.0.saturating_mul(times)).max(least);
        Time {
            warmup: times(WARMUP_OF_USERS, LEAST_OF_USERS.warmup),
            window: times(WINDOW_OF_USERS, LEAST_OF_USERS.window),
            search: times(WINDOW_OF_USERS, LEAST_OF_USERS.search),
        }
    }
}

/// The load of visitors before the window, in addition to the time that films are watched. Source: by then viewers end at the
/// rate at which they begin; the 2 s are twenty times a limit of 100 ms, so earlier steps have ended or missed it.
const WARMUP_OF_VISITORS: Nanos = Nanos::from_secs(2);
/// The window of visitors. Source: at 50 queries a second 60 reviews, too few for a good p99, and 1200 pages, enough
/// for one; longer windows make a search too expensive.
const WINDOW_OF_VISITORS: Nanos = Nanos::from_secs(30);
/// The window of a trial that searches. Source: a third.
const SEARCH_OF_VISITORS: Nanos = Nanos::from_secs(10);

impl Time {
    fn of_movies(watch: Nanos) -> Time {
        Time { warmup: watch + WARMUP_OF_VISITORS, window: WINDOW_OF_VISITORS, search: SEARCH_OF_VISITORS }
    }
}

impl Default for Time {
    fn default() -> Time {
        Time { warmup: Nanos::from_millis(500), window: Nanos::from_secs(5), search: Nanos::from_secs(1) }
    }
}
