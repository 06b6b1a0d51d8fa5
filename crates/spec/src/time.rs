use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

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

impl Default for Time {
    fn default() -> Time {
        Time { warmup: Nanos::from_millis(500), window: Nanos::from_secs(5), search: Nanos::from_secs(1) }
    }
}
