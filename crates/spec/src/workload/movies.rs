use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, ParseError, Qos};

use super::facts::{Facts, OwnFile};
use super::{Sampling, Users};
use crate::defaults::default_options;
use crate::syntax::{check_sum, share_of_mix};
use crate::text::{as_text, count, exact, number};
use crate::{Generator, Load, Popularity, QosTarget, Time};

/// The movies workload: visitors of a site of films, each of whom sends one query over their own connection; a visitor
/// who rents a film then watches it.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[command(next_help_heading = "Movies workload")]
#[serde(default, rename_all = "kebab-case")]
pub struct Movies {
    /// The users that the site holds: 1k, 10k, 100k.
    #[arg(long, default_value = "10k", value_name = "N")]
    #[schemars(extend("x-source" = "ours, because CAL'18 says nothing of its users, and 10 000 are more than can be logged in at once here"))]
    pub users: Users,
    /// The films that the site holds, the best rated first.
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = |text: &str| units::count::<u32>(text, 2..=1_000_000))]
    #[serde(deserialize_with = "count::deserialize")]
    #[schemars(extend("x-source" = "CAL'18: the 1000 top-rated titles of IMDB"))]
    pub films: u32,
    /// The seed of the data set that the site is filled with.
    #[arg(long, default_value_t = 1, value_name = "N")]
    #[serde(deserialize_with = "number::deserialize")]
    #[schemars(extend("x-source" = "ours, because any number does, and the same one makes the same data"))]
    pub data_seed: u64,
    /// The shares of the queries, such as browse:80,review:8,search:6,rent:4,login:2 in per cent.
    #[arg(long, default_value_t = MovieMix::default(), value_name = "MIX")]
    #[schemars(extend("x-source" = "ours, because CAL'18 names the queries and no shares: visitors look at far more films than they rent"))]
    pub mix: MovieMix,
    /// How often each film is requested: zipf:0.8, uniform.
    #[arg(long, default_value_t = Popularity::Zipf { alpha: 0.8 }, value_name = "POPULARITY")]
    #[schemars(extend("x-source" = "ours, because CAL'18 says nothing of it; ISPASS'16 §IV-A2b has this one for videos"))]
    pub popularity: Popularity,
    /// Users who are logged in when the load begins; reviews and rentals are theirs.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = |text: &str| units::count::<u32>(text, 1..=100_000))]
    #[serde(deserialize_with = "count::deserialize")]
    #[schemars(extend("x-source" = "ours, because each pays for some 250 000 rentals with what the data set gives, and logging so many in takes seconds"))]
    pub logged_in: u32,
    /// Reviews of a film's page.
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    #[serde(deserialize_with = "count::deserialize")]
    #[schemars(extend("x-source" = "ours, because a page shows about so many"))]
    pub reviews: u32,
    /// How much of a rented film is watched.
    #[arg(long, default_value = "18s", value_name = "TIME")]
    #[serde(with = "exact")]
    #[schemars(with = "String")]
    #[schemars(extend("x-source" = "ours, because three segments of 6 s are asked for at once and tell the start-up delay; longer films only lengthen the warm-up"))]
    pub watch: Nanos,
    /// The file with the films' titles, files/catalogue.tsv of a data set: pages are checked against the titles, and
    /// tickets against that data set [default: the titles that the site reports before the load].
    #[arg(long, value_name = "FILE")]
    #[schemars(extend("x-source" = "ours, because a site that was filled with something else must show as such"))]
    pub catalogue: Option<PathBuf>,
    /// The share of queries, drawn at random, that are traced through all services of a site started for the load:
    /// 1/100 is one in 100, 1/1 all; off: none.
    #[arg(long, default_value_t = Sampling::OFF, value_name = "1/N")]
    #[schemars(extend("x-source" = "ours, because what a user sees is measured without it first; CAL'18 traces and bounds its cost on the latency by 0.1 %, for which 1/100 leaves 99 in 100 to compare with"))]
    pub trace: Sampling,
    /// Maximum number of visitors at once, divided among the threads; further visitors are refused, and their queries
    /// are errors [default: as many as descriptors allow].
    #[arg(long, value_name = "N", value_parser = |text: &str| units::count::<u32>(text, 1..=1_000_000))]
    #[serde(deserialize_with = "count::or_none")]
    #[schemars(extend("x-source" = "ours, because a limit of this machine must show as such and end no run"))]
    pub max_sessions: Option<u32>,
    /// Agree to change the data of a site that runs already: reviews and rentals are stored. A site that
    /// Taillight starts for the load needs no agreement.
    #[arg(long)]
    #[schemars(extend("x-source" = "ours, because the site may be in use by others"))]
    pub yes: bool,
}

impl Movies {
    /// Default limit of the connections that a server must accept for visitors. Source: ours; 300 queries a second,
    /// each of which waits for seconds.
    pub const MOST_SESSIONS: u32 = 2_000;
}

default_options! { Movies; }

units::named! {
    /// A visitor's query.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum MovieQuery {
        /// The page of a film.
        Browse = "browse",
        /// A review is written.
        Review = "review",
        /// Films of a title.
        Search = "search",
        /// A film is rented, and watched.
        Rent = "rent",
        /// A user logs in.
        Login = "login",
    }
}

impl MovieQuery {
    /// Whether it changes the site's data.
    pub fn writes(self) -> bool {
        matches!(self, MovieQuery::Review | MovieQuery::Rent)
    }

    /// Its place in [`MovieQuery::ALL`].
    pub fn place(self) -> usize {
        self as usize
    }
}

/// The shares of the queries. Units: per cent, which add up to 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MovieMix {
    percent: [f64; 5],
}

impl MovieMix {
    /// The share of a query.
    pub fn percent(&self, query: MovieQuery) -> f64 {
        self.percent[query.place()]
    }

    /// The query of a number from 0 on and below 100.
    pub fn at(&self, mut number: f64) -> MovieQuery {
        for query in MovieQuery::ALL {
            number -= self.percent(query);
            if number < 0.0 {
                return query;
            }
        }
        // The shares add up to a little less than 100.
        MovieQuery::ALL
            .into_iter()
            .rev()
            .find(|query| self.percent(*query) > 0.0)
            .unwrap_or(MovieQuery::Browse)
    }
}

impl Default for MovieMix {
    fn default() -> MovieMix {
        MovieMix { percent: [80.0, 8.0, 6.0, 4.0, 2.0] }
    }
}

impl fmt::Display for MovieMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = MovieQuery::ALL.into_iter().filter(|query| self.percent(*query) > 0.0);
        let shares = named.map(|query| format!("{}:{}", query.name(), self.percent(query)));
        f.pad(&shares.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for MovieMix {
    type Err = ParseError;

    /// Reads `browse:80,review:8,search:6,rent:4,login:2`; other queries are 0.
    fn from_str(text: &str) -> Result<MovieMix, ParseError> {
        let error = |problem: String| ParseError {
            what: "mix of queries",
            given: text.into(),
            problem,
            hint: "write shares in per cent that add up to 100, such as browse:80,review:8,search:6,rent:4,login:2",
        };
        let mut mix = MovieMix { percent: [0.0; 5] };
        for part in text.split(',') {
            let (name, share) =
                part.split_once(':').ok_or_else(|| error(format!("'{part}' is not NAME:SHARE")))?;
            let query = MovieQuery::named(name.trim()).ok_or_else(|| {
                error(format!(
                    "there is no query '{}'; there are browse, review, search, rent and login",
                    name.trim()
                ))
            })?;
            mix.percent[query.place()] += share_of_mix(share).map_err(error)?;
        }
        check_sum(mix.percent.into_iter()).map_err(error)?;
        Ok(mix)
    }
}

as_text! { MovieMix; }

/// The load of visitors before the window, in addition to the time that films are watched. Source: by then viewers end at
/// the rate at which they begin; the 2 s are twenty times a limit of 100 ms, so earlier steps have ended or missed it.
const WARMUP: Nanos = Nanos::from_secs(2);
/// The window. Source: at 50 queries a second 60 reviews, too few for a good p99, and 1200 pages, enough for one; longer
/// windows make a search too expensive.
const WINDOW: Nanos = Nanos::from_secs(30);
/// The window of a trial that searches. Source: a third.
const SEARCH: Nanos = Nanos::from_secs(10);

impl Facts for Movies {
    fn has_sessions(&self) -> bool {
        true
    }

    fn is_http(&self) -> bool {
        true
    }

    fn usual_target(&self, _has: &dyn Fn(&str) -> bool) -> Option<String> {
        Some("movies".into())
    }

    fn usual_qos(&self) -> QosTarget {
        Qos::of_queries().into()
    }

    fn usual_time(&self) -> Time {
        Time { warmup: self.watch + WARMUP, window: WINDOW, search: SEARCH }
    }

    fn logins(&self, _sessions_per_s: Option<f64>, _generator: &Generator) -> f64 {
        f64::from(self.logged_in)
    }

    fn connections(&self, _load: &Load) -> Option<u32> {
        Some(self.max_sessions.unwrap_or(Movies::MOST_SESSIONS))
    }

    fn agree(&mut self) {
        self.yes = true;
    }

    fn divide(&mut self, part: &dyn Fn(u32) -> u32) {
        self.max_sessions = self.max_sessions.map(|all| part(all).max(1));
        // The coordinator has asked.
        self.yes = true;
    }

    fn own_file(&self) -> Option<OwnFile<'_>> {
        let file = self.catalogue.as_deref()?;
        Some(OwnFile { file, option: "catalogue", is_sent: false, instead: "leave it out" })
    }

    fn data_settings(&self) -> Option<(&'static str, Vec<String>)> {
        let settings = [
            format!("users={}", self.users.0),
            format!("movies={}", self.films),
            format!("seed={}", self.data_seed),
        ];
        Some(("movies", settings.into()))
    }

    fn traced_one_in(&self) -> Option<u32> {
        self.trace.one_in()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_are_read_and_printed_back() {
        let check = |text: &str, shown: &str| {
            let mix: MovieMix = text.parse().unwrap();
            assert_eq!(mix.to_string(), shown);
            assert_eq!(shown.parse(), Ok(mix));
        };
        check("browse:80,review:8,search:6,rent:4,login:2", "browse:80,review:8,search:6,rent:4,login:2");
        check("login:100, browse:0", "login:100");
        check("rent:50,browse:25,rent:25", "browse:25,rent:75");
        let refused = |text: &str, says: &str| {
            let error = text.parse::<MovieMix>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        };
        refused("browse:80", "add up to 80");
        refused("", "not NAME:SHARE");
        refused("watch:100", "no query 'watch'");
        refused("browse:NaN", "not a share");
        refused("browse:-1,rent:101", "not a share");
    }

    #[test]
    fn a_number_falls_to_each_query_by_its_share() {
        let mix = MovieMix::default();
        let check = |number: f64, query: MovieQuery| assert_eq!(mix.at(number), query, "{number}");
        check(0.0, MovieQuery::Browse);
        check(79.99, MovieQuery::Browse);
        check(80.0, MovieQuery::Review);
        check(88.0, MovieQuery::Search);
        check(94.0, MovieQuery::Rent);
        check(98.0, MovieQuery::Login);
        check(99.999_999, MovieQuery::Login);
        let thirds: MovieMix = "browse:33.33333,review:33.33333,rent:33.33333".parse().unwrap();
        assert_eq!(thirds.at(99.999_999), MovieQuery::Rent);
    }
}
