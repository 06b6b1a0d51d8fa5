use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, ParseError, Qos};

use super::facts::{Facts, OwnFile};
use super::{OperationShare, SocialLimits, SocialMix, SocialOperation};
use crate::defaults::default_options;
use crate::text::{as_text, count, exact, number, words};
use crate::{Generator, Load, QosTarget, Time};

/// The social workload: users of a social network, each of whom logs in, performs operations of the mix and logs out,
/// over their own connection.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[command(next_help_heading = "Social workload")]
#[serde(default, rename_all = "kebab-case")]
pub struct Social {
    /// The users that the site holds: 1k, 10k, 100k; as taillight data-set social makes them.
    #[arg(long, default_value_t = Users::default(), value_name = "N")]
    #[schemars(extend("x-source" = "ours, because 1000 users are there within seconds; ISPASS'16 §IV-B4 has as many as are logged in, without their number"))]
    pub users: Users,
    /// The seed of those users.
    #[arg(long, default_value_t = 1, value_name = "N")]
    #[serde(deserialize_with = "number::deserialize")]
    #[schemars(extend("x-source" = "ours, because any number does, and the same one makes the same users"))]
    pub users_seed: u64,
    /// The shares of the operations: table-2, wiki (the default of --site mediawiki), or
    /// login:5,logout:5,home:10,live-feed:80 in per cent; there are create-user, login, logout, home, wall-post,
    /// friend-request, send-chat, receive-chat and live-feed, and of a wiki read, edit, search, watch-list and
    /// recent-changes.
    #[arg(long, default_value_t = SocialMix::default(), value_name = "MIX")]
    #[schemars(extend("x-source" = "ISPASS'16 §IV-B3, Table II"))]
    pub mix: SocialMix,
    /// Time limit of each operation: table-2, or home:500ms,live-feed:2s; an operation that is not named has its limit
    /// of the table.
    #[arg(long, default_value_t = SocialLimits::default(), value_name = "LIMITS")]
    #[schemars(extend("x-source" = "ISPASS'16 §IV-B3, Table II"))]
    pub limits: SocialLimits,
    /// The share of all operations that pages perform by AJAX, without a reload [default: all that can be, 89.5% with
    /// table-2].
    #[arg(long, value_name = "SHARE")]
    #[schemars(extend("x-source" = "ISPASS'16 §VI-A2: 89 %, all that can be by Table II; 23 % is that of Olio"))]
    pub ajax: Option<OperationShare>,
    /// Mean time from one operation of a user to the next, drawn from an exponential distribution when the user
    /// arrives; in a closed loop it begins at the answer.
    #[arg(long, default_value = "2s", value_name = "TIME")]
    #[serde(with = "exact")]
    #[schemars(with = "String")]
    #[schemars(extend("x-source" = "CloudSuite 3's client: 2 s after each answer; ISPASS'16 says nothing of it"))]
    pub think_time: Nanos,
    /// Mean number of operations per session, including login and logout [default: from the mix, 40 with table-2].
    #[arg(long, value_name = "N", value_parser = |text: &str| units::count::<u32>(text, 3..=1_000_000))]
    #[serde(deserialize_with = "count::or_none")]
    #[schemars(extend("x-source" = "ISPASS'16 §IV-B3, Table II: one login in 40 operations"))]
    pub operations: Option<u32>,
    /// The site: own (apps/social), mediawiki (apps/mediawiki; the default for that target), elgg (untested), or a file
    /// that describes one; see taillight explain social.
    #[arg(long, default_value_t = Site::default(), value_name = "own|mediawiki|elgg|FILE")]
    #[schemars(extend("x-source" = "ours, because the site that Taillight ships needs nothing but packages; ISPASS'16 §IV-B1 has Elgg"))]
    pub site: Site,
    /// When a page's style sheet and script are requested: first-view (once per session, as a browser keeps them) or
    /// never.
    #[arg(long, default_value_t = Assets::default(), value_name = "WHEN")]
    #[schemars(extend("x-source" = "ours, because a browser whose cache is empty asks once; CloudSuite 3's client asks for them once, too"))]
    pub assets: Assets,
    /// Content of the site's cache before a load: flushed (empty after a reset; the cache of a site that already runs
    /// is left unchanged) or primed (with the site's entries for each user, requested once per user).
    #[arg(long, default_value_t = SiteCache::default(), value_name = "flushed|primed")]
    #[schemars(extend("x-source" = "ours, because a reset restarts the cache; ISPASS'16 §IV-B3 clears what a run has left in the database, and says nothing of the cache"))]
    pub cache: SiteCache,
    /// Maximum number of users logged in at once, divided among the threads; further users are refused, and their
    /// operations are errors [default: all users].
    #[arg(long, value_name = "N", value_parser = |text: &str| units::count::<u32>(text, 1..=1_000_000))]
    #[serde(deserialize_with = "count::or_none")]
    #[schemars(extend("x-source" = "ours, because a limit of this machine must show as such and end no run"))]
    pub max_sessions: Option<u32>,
    /// Agree to change the data of a site that runs already: create-user, wall-post, friend-request,
    /// send-chat and edit store something. A site that Taillight starts for the load needs no agreement.
    #[arg(long)]
    #[schemars(extend("x-source" = "ours, because the site may be in use by others"))]
    pub yes: bool,
}

default_options! { Social; }

impl Social {
    /// Simultaneous users that a server must accept: all of them, or `max_sessions` if fewer.
    pub fn most_sessions(&self) -> u32 {
        self.max_sessions.unwrap_or(u32::MAX).min(self.users.0)
    }

    /// Sets the options that were not typed: the site from the target, an application with the site `of_target`, and
    /// the mix from the site.
    ///
    /// Errors: as for a site's name.
    pub fn fit(&mut self, of_target: Option<&str>, typed: impl Fn(&str) -> bool) -> Result<(), ParseError> {
        if let Some(site) = of_target.filter(|_| !typed("site")) {
            self.site = site.parse()?;
        }
        if self.site == Site::MediaWiki && !typed("mix") {
            self.mix = SocialMix::wiki();
        }
        Ok(())
    }
}

/// How many users there are. Bounds: [`Users::LEAST`] to [`Users::MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Users(pub u32);

impl Users {
    /// The minimum, so that each has friends and strangers.
    pub const LEAST: u32 = 10;
    /// The most, as a user's number has seven digits.
    pub const MOST: u32 = 1_000_000;
}

impl Default for Users {
    fn default() -> Users {
        Users(1_000)
    }
}

impl fmt::Display for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            n if n > 0 && n.is_multiple_of(1_000_000) => format!("{}M", n / 1_000_000),
            n if n > 0 && n.is_multiple_of(1_000) => format!("{}k", n / 1_000),
            n => n.to_string(),
        };
        f.pad(&text)
    }
}

impl FromStr for Users {
    type Err = ParseError;

    /// Reads `500`, `10k` and `1M`.
    fn from_str(text: &str) -> Result<Users, ParseError> {
        let users = units::count(text, Users::LEAST..=Users::MOST);
        users.map(Users).map_err(|error| ParseError { what: "number of users", ..error })
    }
}

/// The description of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Site {
    /// The site of `apps/social`.
    #[default]
    Own,
    /// MediaWiki, as that of `apps/mediawiki`.
    MediaWiki,
    /// Elgg.
    Elgg,
    /// A description in a file.
    File(PathBuf),
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Site::Own => f.pad("own"),
            Site::MediaWiki => f.pad("mediawiki"),
            Site::Elgg => f.pad("elgg"),
            Site::File(file) => f.pad(&file.to_string_lossy()),
        }
    }
}

impl FromStr for Site {
    type Err = ParseError;

    /// Reads `own`, `mediawiki`, `elgg`, and anything else as a file's name, which must look like one: `./site.toml`.
    fn from_str(text: &str) -> Result<Site, ParseError> {
        match text.trim() {
            "own" => Ok(Site::Own),
            "mediawiki" => Ok(Site::MediaWiki),
            "elgg" => Ok(Site::Elgg),
            other if other.contains(['/', '.']) => Ok(Site::File(other.into())),
            _ => Err(ParseError {
                what: "site",
                given: text.into(),
                problem: "there is none of this name".into(),
                hint: "write own, mediawiki, elgg, or the path of a description, such as ./site.toml",
            }),
        }
    }
}

words! {
    /// When a page's assets are requested.
    #[derive(Default)]
    pub enum Assets: "time for assets", "write first-view or never" {
        /// Once in a session, with its first page.
        #[default]
        FirstView = "first-view",
        /// Not at all.
        Never = "never",
    }

    /// The content of a site's cache before a load.
    #[derive(Default)]
    pub enum SiteCache: "state of the cache", "write flushed or primed" {
        /// Only entries from logins and the warm-up.
        #[default]
        Flushed = "flushed",
        /// The site's entries for each user.
        Primed = "primed",
    }
}

as_text! { Users; Site; }

/// The load of users before the window, in think times: 6 s of the usual 2 s. Source: the initial users have logged in
/// beforehand and are in steady state, so that only queues must settle. The largest limit of Table II is 3 s: earlier
/// steps have ended or missed it by then, twice over.
const WARMUP: u64 = 3;
/// The window, in think times: 30 s of the usual 2 s. Source: 15 operations of each user; at 10 operations a second 300
/// of them, whose share of 95 % is known to 2.5 points.
const WINDOW: u64 = 15;
/// The least of both. Source: a load whose users do not think still has a window of the usual length.
const LEAST: Time =
    Time { warmup: Nanos::from_secs(1), window: Nanos::from_secs(5), search: Nanos::from_secs(5) };

impl Facts for Social {
    fn has_sessions(&self) -> bool {
        true
    }

    fn is_http(&self) -> bool {
        true
    }

    fn usual_target(&self, _has: &dyn Fn(&str) -> bool) -> Option<String> {
        Some(if self.site == Site::MediaWiki { "mediawiki" } else { "social" }.into())
    }

    fn usual_qos(&self) -> QosTarget {
        Qos::of_operations().into()
    }

    fn usual_time(&self) -> Time {
        let times = |times: u64, least: Nanos| Nanos(self.think_time.0.saturating_mul(times)).max(least);
        Time {
            warmup: times(WARMUP, LEAST.warmup),
            window: times(WINDOW, LEAST.window),
            search: times(WINDOW, LEAST.search),
        }
    }

    fn refuses(&self, load: &Load, generator: &Generator) -> Option<String> {
        if generator.think > Nanos::ZERO {
            return Some(format!("--think {}: users think for --think-time; leave it out", generator.think));
        }
        if let Site::File(file) = &self.site
            && !generator.agents.agents.is_empty()
        {
            let file = file.display();
            return Some(format!(
                "--site {file}: agents cannot read files of this machine; use own, mediawiki or elgg"
            ));
        }
        let (users, threads) = (generator.connections, generator.threads());
        (*load == Load::Closed && users < threads).then(|| {
            format!(
                "--closed with {users} users for {threads} threads: each thread needs at least one; use --connections {threads} \
                 or more, or fewer --threads"
            )
        })
    }

    fn logins(&self, sessions_per_s: Option<f64>, generator: &Generator) -> f64 {
        let operations = self.operations.map_or_else(|| self.mix.operations(), f64::from);
        let users = match sessions_per_s {
            Some(rate) => rate * (operations - 1.0) * self.think_time.as_secs_f64(),
            None => f64::from(generator.connections),
        };
        users.clamp(0.0, f64::from(self.users.0))
    }

    fn primed(&self) -> u32 {
        if self.cache == SiteCache::Primed { self.users.0 } else { 0 }
    }

    fn longest_step(&self) -> Nanos {
        self.limits.longest()
    }

    fn connections(&self, load: &Load) -> Option<u32> {
        // In a closed loop each user has one of the generator's.
        (*load != Load::Closed).then(|| self.most_sessions())
    }

    fn agree(&mut self) {
        self.yes = true;
    }

    fn divide(&mut self, part: &dyn Fn(u32) -> u32) {
        self.max_sessions = self.max_sessions.map(|all| part(all).max(1));
        // The coordinator has asked.
        self.yes = true;
        // The coordinator has already primed it.
        self.cache = SiteCache::Flushed;
    }

    fn own_file(&self) -> Option<OwnFile<'_>> {
        let Site::File(file) = &self.site else { return None };
        Some(OwnFile { file, option: "site", is_sent: false, instead: "use own, mediawiki or elgg" })
    }

    fn people(&self) -> Option<(u32, u64)> {
        Some((self.users.0, self.users_seed))
    }

    fn notes(&self, load: &Load, lacks: &[String]) -> Vec<String> {
        let closed = (*load == Load::Closed).then(|| {
            "Closed loop: each user thinks after an answer and only then asks again, so that a slow site is asked less, and \
             what was not asked meanwhile is missing from response times and from the share within the limits."
                .to_owned()
        });
        let lacks = (!lacks.is_empty()).then(|| {
            format!(
                "The site {} has no {}: the mix is without these, and is not {}.",
                self.site,
                lacks.join(", "),
                if self.mix == SocialMix::default() { "that of Table II" } else { "what was asked for" }
            )
        });
        let primed = (self.cache == SiteCache::Primed).then(|| {
            format!(
                "The site's cache was primed: before each load it was asked once for each of the {} users, which its database \
                 has in memory since, too.",
                self.users
            )
        });
        closed.into_iter().chain(lacks).chain(primed).collect()
    }

    fn limit_of(&self, operation: &str) -> Option<Nanos> {
        SocialOperation::named(operation).map(|known| self.limits.of(known))
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    fn parsed(line: &str) -> Result<Social, String> {
        let command = Social::augment_args(Command::new("x").no_binary_name(true));
        let matches =
            command.try_get_matches_from(line.split_whitespace()).map_err(|error| error.to_string())?;
        Social::from_arg_matches(&matches).map_err(|error| error.to_string())
    }

    #[test]
    fn words_read_back() {
        let check = |text: &str, users: u32, shown: &str| {
            let found: Users = text.parse().unwrap();
            assert_eq!((found, found.to_string().as_str()), (Users(users), shown));
        };
        check("1k", 1_000, "1k");
        check("10000", 10_000, "10k");
        check(" 1M", 1_000_000, "1M");
        check("1234", 1_234, "1234");
        for site in [Site::Own, Site::MediaWiki, Site::Elgg, Site::File("./a.toml".into())] {
            assert_eq!(site.to_string().parse(), Ok(site));
        }
        assert_eq!("never".parse(), Ok(Assets::Never));
        assert_eq!("primed".parse(), Ok(SiteCache::Primed));
    }

    #[test]
    fn what_is_not_typed_follows_from_the_target_and_the_site() {
        let check = |line: &str, of_target: Option<&str>, expect: (&str, &str, &str)| {
            let mut social = parsed(line).unwrap();
            social.fit(of_target, |name| line.contains(&format!("--{name} "))).unwrap();
            let target = social.usual_target(&|_| true).unwrap();
            assert_eq!((&*social.site.to_string(), &*social.mix.to_string(), &*target), expect, "{line}");
        };
        check("", None, ("own", "table-2", "social"));
        check("", Some("mediawiki"), ("mediawiki", "wiki", "mediawiki"));
        check("--site mediawiki", None, ("mediawiki", "wiki", "mediawiki"));
        check("--site own", Some("mediawiki"), ("own", "table-2", "social"));
        let mix = "login:5,logout:5,read:90";
        check(&format!("--mix {mix}"), Some("mediawiki"), ("mediawiki", mix, "mediawiki"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let check = |line: &str, says: &str| {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        };
        check("--users 9", "between 10 and 1000000");
        check("--users 2M", "between 10 and 1000000");
        check("--users 9999999k", "between 10 and 1000000");
        check("--users k", "does not start with a number");
        check("--users é", "does not start with a number");
        check("--site facebook", "write own, mediawiki, elgg, or the path");
        check("--operations 2", "between 3 and 1000000");
        check("--mix home:100", "equal and over 0");
        check("--ajax 23", "with its sign");
        check("--think-time 2", "unit");
        check("--limits home:0s", "not a time over 0");
        check("--assets always", "write first-view or never");
        check("--cache warm", "write flushed or primed");
    }
}
