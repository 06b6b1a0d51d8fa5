use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, ParseError};

use super::{OperationShare, SocialLimits, SocialMix};
use crate::text::{Exact, as_text, count, exact, number, words};

/// What the social workload asks for: users of a network, each of whom logs in, does what the mix says, and logs out, over a
/// connection of their own.
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
    /// The shares of the operations: table-2, or login:5,logout:5,home:10,live-feed:80 in per cent; there are create-user,
    /// login, logout, home, wall-post, friend-request, send-chat, receive-chat and live-feed.
    #[arg(long, default_value_t = SocialMix::default(), value_name = "MIX")]
    #[schemars(extend("x-source" = "ISPASS'16 §IV-B3, Table II"))]
    pub mix: SocialMix,
    /// How soon each operation must be over: table-2, or home:500ms,live-feed:2s; what is not named has that of the table.
    #[arg(long, default_value_t = SocialLimits::default(), value_name = "LIMITS")]
    #[schemars(extend("x-source" = "ISPASS'16 §IV-B3, Table II"))]
    pub limits: SocialLimits,
    /// The share of all operations that pages do without being loaded anew, by AJAX [default: as many as can be, 89.5% of
    /// table-2].
    #[arg(long, value_name = "SHARE")]
    #[schemars(extend("x-source" = "ISPASS'16 §VI-A2: 89 %, all that can be by Table II; 23 % is that of Olio"))]
    pub ajax: Option<OperationShare>,
    /// From one operation of a user to the next, on average, drawn from an exponential distribution when the user comes; in
    /// a closed loop, from the answer on.
    #[arg(long, default_value = "2s", value_name = "TIME")]
    #[serde(with = "exact")]
    #[schemars(with = "String")]
    #[schemars(extend("x-source" = "CloudSuite 3's client: 2 s after each answer; ISPASS'16 says nothing of it"))]
    pub think_time: Nanos,
    /// Operations of a session on average, login and logout among them [default: what the mix says, 40 of table-2].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..=1_000_000))]
    #[serde(deserialize_with = "count::or_none")]
    #[schemars(extend("x-source" = "ISPASS'16 §IV-B3, Table II: one login in 40 operations"))]
    pub operations: Option<u32>,
    /// The site: own (that of apps/social), elgg, or a file that describes one; see taillight explain social.
    #[arg(long, default_value_t = Site::default(), value_name = "own|elgg|FILE")]
    #[schemars(extend("x-source" = "ours, because the site that Taillight ships needs nothing but packages; ISPASS'16 §IV-B1 has Elgg"))]
    pub site: Site,
    /// What comes with a page: first-view (style sheet and script once in a session, as a browser keeps them) or never.
    #[arg(long, default_value_t = Assets::default(), value_name = "WHEN")]
    #[schemars(extend("x-source" = "ours, because a browser whose cache is empty asks once; CloudSuite 3's client asks for them once, too"))]
    pub assets: Assets,
    /// What the site's cache holds before a load: flushed (nothing, as a reset leaves it; that of a site that runs already
    /// stays as it is) or primed (what it keeps of each user, for each of whom the site is asked once).
    #[arg(long, default_value_t = SiteCache::default(), value_name = "flushed|primed")]
    #[schemars(extend("x-source" = "ours, because a reset restarts the cache; ISPASS'16 §IV-B3 clears what a run has left in the database, and says nothing of the cache"))]
    pub cache: SiteCache,
    /// The most users logged in at once, shared out among the threads; those who come beyond are refused, and their
    /// operations are errors [default: as many as there are].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    #[serde(deserialize_with = "count::or_none")]
    #[schemars(extend("x-source" = "ours, because a limit of this machine must show as such and end no run"))]
    pub max_sessions: Option<u32>,
}

impl Default for Social {
    fn default() -> Social {
        Social {
            users: Users::default(),
            users_seed: 1,
            mix: SocialMix::default(),
            limits: SocialLimits::default(),
            ajax: None,
            think_time: Nanos::from_secs(2),
            operations: None,
            site: Site::default(),
            assets: Assets::default(),
            cache: SiteCache::default(),
            max_sessions: None,
        }
    }
}

impl Social {
    /// Simultaneous users that a server must accept: all of them, or `max_sessions` if fewer.
    pub fn most_sessions(&self) -> u32 {
        self.max_sessions.unwrap_or(u32::MAX).min(self.users.0)
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
        let error = |problem: String| ParseError {
            what: "number of users",
            given: text.into(),
            problem,
            hint: "write a whole number, such as 1k, 10k or 100k",
        };
        let trimmed = text.trim();
        let (digits, factor) = match trimmed.as_bytes().last() {
            Some(b'k') => (&trimmed[..trimmed.len() - 1], 1_000),
            Some(b'M') => (&trimmed[..trimmed.len() - 1], 1_000_000),
            _ => (trimmed, 1),
        };
        let number: Option<u32> = digits.parse().ok().and_then(|number: u32| number.checked_mul(factor));
        match number {
            Some(number) if (Users::LEAST..=Users::MOST).contains(&number) => Ok(Users(number)),
            Some(_) => Err(error(format!("it is not between {} and {}", Users::LEAST, Users::MOST))),
            None => Err(error("it is not a whole number".into())),
        }
    }
}

/// The description of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Site {
    /// That of `apps/social`.
    #[default]
    Own,
    /// Elgg.
    Elgg,
    /// A description in a file.
    File(PathBuf),
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Site::Own => f.pad("own"),
            Site::Elgg => f.pad("elgg"),
            Site::File(file) => f.pad(&file.to_string_lossy()),
        }
    }
}

impl FromStr for Site {
    type Err = ParseError;

    /// Reads `own`, `elgg`, and anything else as a file's name, which must look like one: `./site.toml`.
    fn from_str(text: &str) -> Result<Site, ParseError> {
        match text.trim() {
            "own" => Ok(Site::Own),
            "elgg" => Ok(Site::Elgg),
            other if other.contains(['/', '.']) => Ok(Site::File(other.into())),
            _ => Err(ParseError {
                what: "site",
                given: text.into(),
                problem: "there is none of this name".into(),
                hint: "write own, elgg, or the path of a description, such as ./site.toml",
            }),
        }
    }
}

/// When a page's assets are requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assets {
    /// Once in a session, with its first page.
    #[default]
    FirstView,
    /// Not at all.
    Never,
}

/// The content of a site's cache before a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SiteCache {
    /// Only entries from logins and the warm-up.
    #[default]
    Flushed,
    /// The site's entries for each user.
    Primed,
}

words!(SiteCache, "state of the cache", "write flushed or primed", "flushed" => SiteCache::Flushed, "primed" => SiteCache::Primed);
words!(Assets, "time for assets", "write first-view or never", "first-view" => Assets::FirstView, "never" => Assets::Never);
as_text! { Users; Site; Assets; SiteCache; }

impl Exact for Users {
    const EXAMPLE: Option<&'static str> = None;

    fn exact(&self) -> String {
        self.to_string()
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
        for site in [Site::Own, Site::Elgg, Site::File("./a.toml".into())] {
            assert_eq!(site.to_string().parse(), Ok(site));
        }
        assert_eq!("never".parse(), Ok(Assets::Never));
        assert_eq!("primed".parse(), Ok(SiteCache::Primed));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let check = |line: &str, says: &str| {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(says), "{line}: {error}");
        };
        check("--users 9", "between 10 and 1000000");
        check("--users 2M", "between 10 and 1000000");
        check("--users 9999999k", "not a whole number");
        check("--users k", "not a whole number");
        check("--users é", "not a whole number");
        check("--site facebook", "write own, elgg, or the path");
        check("--operations 2", "3..=1000000");
        check("--mix home:100", "equal and over 0");
        check("--ajax 23", "with its sign");
        check("--think-time 2", "unit");
        check("--limits home:0s", "not a time over 0");
        check("--assets always", "write first-view or never");
        check("--cache warm", "write flushed or primed");
    }
}
