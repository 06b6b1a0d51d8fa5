//! Operations of the users of a social network or a wiki, their shares and their limits.

use std::fmt;
use std::str::FromStr;

use units::{Nanos, ParseError};

use crate::syntax::{ROUNDING, check_sum};
use crate::text::{Exact, as_text};

units::named! {
    /// An operation of a user: of a social network in the order of ISPASS'16, Table II, then of a wiki.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[allow(missing_docs, reason = "each is its name")]
    pub enum SocialOperation {
        CreateUser = "create-user",
        Login = "login",
        Logout = "logout",
        Home = "home",
        WallPost = "wall-post",
        FriendRequest = "friend-request",
        SendChat = "send-chat",
        ReceiveChat = "receive-chat",
        LiveFeed = "live-feed",
        Read = "read",
        Edit = "edit",
        Search = "search",
        WatchList = "watch-list",
        RecentChanges = "recent-changes",
    }
}

impl SocialOperation {
    /// How many there are.
    pub const COUNT: usize = SocialOperation::ALL.len();

    /// Whether it changes the site's data.
    pub fn writes(self) -> bool {
        use SocialOperation::{CreateUser, Edit, FriendRequest, SendChat, WallPost};
        matches!(self, CreateUser | WallPost | FriendRequest | SendChat | Edit)
    }

    /// Its place in [`SocialOperation::ALL`].
    pub fn place(self) -> usize {
        self as usize
    }

    /// Whether a page can do it without being reloaded.
    pub fn has_ajax(self) -> bool {
        (SocialOperation::WallPost..=SocialOperation::LiveFeed).contains(&self)
    }
}

/// The shares of the operations.
///
/// Units: per cent, which add up to 100. Bounds: each session logs in and out once, so that those two are equal and over 0;
/// and creates a user at most once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SocialMix {
    percent: [f64; SocialOperation::COUNT],
}

/// How soon each operation must be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocialLimits {
    limits: [Nanos; SocialOperation::COUNT],
}

/// A share of operations. Units: per cent. Bounds: 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperationShare(f64);

/// The word for the published values.
const TABLE: &str = "table-2";
/// Source: ISPASS'16, Table II.
const PERCENT: [f64; SocialOperation::COUNT] =
    [0.5, 2.5, 2.5, 5.0, 20.0, 10.0, 17.0, 17.0, 25.5, 0.0, 0.0, 0.0, 0.0, 0.0];
/// The word for the mix of a wiki.
const WIKI: &str = "wiki";
/// Source: ours. Sessions are those of Table II, 40 operations with one login. In each there is an edit, as reading needs no login, and
/// a look at the watch list and at recent changes; a search for each eleven or twelve articles; the rest is reading. All of
/// Wikimedia's page requests, most of them without a login, had 0.09 % edits in August 2010 (Wikimedia Report Card: 12.3 of 13 400
/// million), too few to be seen by a load of some thousand operations.
const WIKI_PERCENT: [f64; SocialOperation::COUNT] =
    [0.5, 2.5, 2.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 80.0, 2.5, 7.0, 2.5, 2.5];
/// Source: the same table; for a wiki ours, from the table's limits of a page, and of an operation with a form and two
/// pages. Units: seconds.
const LIMITS: [u64; SocialOperation::COUNT] = [3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1];

impl SocialMix {
    /// The mix of users of a wiki.
    pub fn wiki() -> SocialMix {
        SocialMix { percent: WIKI_PERCENT }
    }

    /// The share of an operation.
    pub fn percent(&self, operation: SocialOperation) -> f64 {
        self.percent[operation.place()]
    }

    /// How many operations a session has on average, login and logout among them.
    pub fn operations(&self) -> f64 {
        100.0 / self.percent(SocialOperation::Login)
    }

    /// The same mix with sessions of `operations` operations: one login and one logout in each, and the others in their
    /// proportions, except new users: each session creates as many as before.
    ///
    /// Errors: fewer than three operations.
    pub fn of_sessions(&self, operations: f64) -> Result<SocialMix, ParseError> {
        let once = 100.0 / operations;
        let new = once * self.percent(SocialOperation::CreateUser) / self.percent(SocialOperation::Login);
        let middle: f64 = self.percent[SocialOperation::Home.place()..].iter().sum();
        let left = 100.0 - 2.0 * once - new;
        if !(operations >= 3.0 && left > 0.0 && middle > 0.0) {
            return Err(ParseError {
                what: "operations of a session",
                given: operations.to_string(),
                problem: "a login and a logout are two of them, and something is done between".into(),
                hint: "use --operations 40, or leave it out",
            });
        }
        let mut percent = self.percent.map(|share| share * left / middle);
        percent[SocialOperation::CreateUser.place()] = new;
        percent[SocialOperation::Login.place()] = once;
        percent[SocialOperation::Logout.place()] = once;
        Ok(SocialMix { percent })
    }

    /// The largest share of operations that pages can do without being reloaded. Units: per cent.
    pub fn most_ajax(&self) -> f64 {
        SocialOperation::ALL.into_iter().filter(|o| o.has_ajax()).map(|o| self.percent(o)).sum()
    }

    fn check(&self) -> Result<(), String> {
        let of = |operation| self.percent(operation);
        let (login, logout) = (of(SocialOperation::Login), of(SocialOperation::Logout));
        if (login - logout).abs() > ROUNDING || login == 0.0 {
            return Err(format!(
                "each session logs in and out once, so that login ({login}) and logout ({logout}) are equal and over 0"
            ));
        }
        if of(SocialOperation::CreateUser) > login {
            return Err(
                "a session creates one user at most, so that create-user is no more than login".into()
            );
        }
        if self.percent[SocialOperation::Home.place()..].iter().all(|share| *share == 0.0) {
            return Err("nothing is done between login and logout".into());
        }
        Ok(())
    }
}

impl Default for SocialMix {
    fn default() -> SocialMix {
        SocialMix { percent: PERCENT }
    }
}

impl fmt::Display for SocialMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == SocialMix::default() {
            return f.pad(TABLE);
        }
        if *self == SocialMix::wiki() {
            return f.pad(WIKI);
        }
        let named = SocialOperation::ALL.into_iter().filter(|operation| self.percent(*operation) > 0.0);
        let shares = named.map(|operation| format!("{}:{}", operation.name(), self.percent(operation)));
        f.pad(&shares.collect::<Vec<_>>().join(","))
    }
}

impl FromStr for SocialMix {
    type Err = ParseError;

    /// Reads `table-2`, `wiki`, or shares in per cent that add up to 100; other operations have none.
    fn from_str(text: &str) -> Result<SocialMix, ParseError> {
        let error = |problem: String| ParseError {
            what: "operation mix",
            given: text.into(),
            problem,
            hint: "write table-2, wiki, or shares in per cent that add up to 100, such as login:5,logout:5,home:10,live-feed:80",
        };
        match text.trim() {
            TABLE => return Ok(SocialMix::default()),
            WIKI => return Ok(SocialMix::wiki()),
            _ => {}
        }
        let mut percent = [0.0; SocialOperation::COUNT];
        let mut take = |operation: SocialOperation, share: &str| {
            let share = share.parse().ok().filter(|share: &f64| (0.0..=100.0).contains(share));
            percent[operation.place()] = share.ok_or("is not a share between 0 and 100")?;
            Ok(())
        };
        named(text, &mut take).map_err(error)?;
        check_sum(percent.into_iter()).map_err(error)?;
        let mix = SocialMix { percent };
        mix.check().map_err(error)?;
        Ok(mix)
    }
}

impl SocialLimits {
    /// How long after it was due an operation must be over.
    pub fn of(&self, operation: SocialOperation) -> Nanos {
        self.limits[operation.place()]
    }

    /// The longest of them.
    pub fn longest(&self) -> Nanos {
        self.limits.into_iter().max().unwrap_or_default()
    }
}

impl Default for SocialLimits {
    fn default() -> SocialLimits {
        SocialLimits { limits: LIMITS.map(Nanos::from_secs) }
    }
}

impl fmt::Display for SocialLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == SocialLimits::default() {
            return f.pad(TABLE);
        }
        let of = |operation: SocialOperation| format!("{}:{}", operation.name(), self.of(operation).exact());
        f.pad(&SocialOperation::ALL.map(of).join(","))
    }
}

impl FromStr for SocialLimits {
    type Err = ParseError;

    /// Reads `table-2`, or limits by operation; other operations have the table's limits.
    fn from_str(text: &str) -> Result<SocialLimits, ParseError> {
        let error = |problem: String| ParseError {
            what: "limits of operations",
            given: text.into(),
            problem,
            hint: "write table-2, or limits such as home:500ms,live-feed:2s",
        };
        let mut limits = SocialLimits::default();
        if text.trim() == TABLE {
            return Ok(limits);
        }
        let mut take = |operation: SocialOperation, limit: &str| {
            let limit = limit.parse().ok().filter(|limit| *limit > Nanos::ZERO);
            limits.limits[operation.place()] = limit.ok_or("is not a time over 0 with its unit")?;
            Ok(())
        };
        named(text, &mut take).map_err(error)?;
        Ok(limits)
    }
}

/// Reads `NAME:VALUE` with commas between, each name once.
fn named(
    text: &str,
    take: &mut dyn FnMut(SocialOperation, &str) -> Result<(), &'static str>,
) -> Result<(), String> {
    let mut seen = [false; SocialOperation::COUNT];
    for part in text.split(',') {
        let (name, value) = part.split_once(':').ok_or_else(|| format!("'{part}' is not OPERATION:VALUE"))?;
        let (name, value) = (name.trim(), value.trim());
        let operation = SocialOperation::named(name).ok_or_else(|| {
            let names = SocialOperation::ALL.map(SocialOperation::name).join(", ");
            format!("there is no operation '{name}'; there are {names}")
        })?;
        if std::mem::replace(&mut seen[operation.place()], true) {
            return Err(format!("{name} is named twice"));
        }
        take(operation, value).map_err(|problem| format!("'{value}' of {name} {problem}"))?;
    }
    Ok(())
}

impl OperationShare {
    /// Units: per cent.
    pub fn percent(self) -> f64 {
        self.0
    }
}

impl fmt::Display for OperationShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}%", self.0))
    }
}

impl FromStr for OperationShare {
    type Err = ParseError;

    /// Reads `89.5%`.
    fn from_str(text: &str) -> Result<OperationShare, ParseError> {
        let number = text.trim().strip_suffix('%').and_then(|number| number.trim_end().parse().ok());
        let number = number.filter(|percent: &f64| (0.0..=100.0).contains(percent));
        number.map(OperationShare).ok_or_else(|| ParseError {
            what: "share of operations",
            given: text.into(),
            problem: "it is not a number of per cent from 0 to 100".into(),
            hint: "write it with its sign, such as 23%",
        })
    }
}

as_text! { SocialMix; SocialLimits; OperationShare, needs_unit = "23%"; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        let check = |text: &str, shown: &str| {
            let mix: SocialMix = text.parse().unwrap();
            assert_eq!(mix.to_string(), shown, "{text}");
            assert_eq!(shown.parse(), Ok(mix));
        };
        check("table-2", "table-2");
        let table = "create-user:0.5,login:2.5,logout:2.5,home:5,wall-post:20,friend-request:10,send-chat:17,\
             receive-chat:17,live-feed:25.5";
        check(table, "table-2");
        check("wiki", "wiki");
        check("live-feed:80, home:10,login:5,logout:5", "login:5,logout:5,home:10,live-feed:80");
        let limits: SocialLimits = "home:500ms".parse().unwrap();
        let of = |operation| limits.of(operation);
        assert_eq!(of(SocialOperation::Home), Nanos::from_millis(500));
        assert_eq!(of(SocialOperation::Login), Nanos::from_secs(3));
        assert_eq!(limits.longest(), Nanos::from_secs(3));
        assert_eq!(limits.to_string().parse(), Ok(limits));
        assert_eq!("table-2".parse::<SocialLimits>().unwrap().to_string(), "table-2");
        assert_eq!("23 %".parse::<OperationShare>().unwrap().to_string(), "23%");
    }

    #[test]
    fn refuses_with_a_reason() {
        let mix = |text: &str| text.parse::<SocialMix>().unwrap_err().to_string();
        let limits = |text: &str| text.parse::<SocialLimits>().unwrap_err().to_string();
        let share = |text: &str| text.parse::<OperationShare>().unwrap_err().to_string();
        let check = |error: String, says: &str| assert!(error.contains(says), "{error}");
        check(mix(""), "'' is not OPERATION:VALUE");
        check(mix("login:5,logout:5,home:80"), "add up to 90");
        check(mix("login:5,logout:5,home:80,live-feed:11"), "add up to 101");
        check(mix("like:100"), "no operation 'like'; there are create-user, login");
        check(mix("home:-1"), "'-1' of home is not a share between 0 and 100");
        check(mix("home:NaN"), "'NaN' of home is not a share");
        check(mix("home:50,home:50"), "home is named twice");
        check(mix("home:100"), "login (0) and logout (0) are equal and over 0");
        check(mix("login:5,logout:6,home:89"), "login (5) and logout (6)");
        check(mix("create-user:6,login:5,logout:5,home:84"), "one user at most");
        check(mix("login:50,logout:50"), "nothing is done between");
        check(limits("home:1"), "'1' of home is not a time over 0");
        check(limits("home:0s"), "not a time over 0");
        check(limits("home"), "'home' is not OPERATION:VALUE");
        check(share("23"), "with its sign");
        check(share("101%"), "from 0 to 100");
        check(share("NaN%"), "from 0 to 100");
    }

    #[test]
    fn shorter_sessions_keep_the_proportions() {
        let mix = SocialMix::default();
        assert_eq!(mix.operations(), 40.0);
        assert!((mix.most_ajax() - 89.5).abs() < 1e-9);
        assert!(mix.of_sessions(2.0).unwrap_err().to_string().contains("login and a logout are two"));
        let short = mix.of_sessions(10.0).unwrap();
        let sum: f64 = SocialOperation::ALL.into_iter().map(|operation| short.percent(operation)).sum();
        assert!((sum - 100.0).abs() < 1e-9);
        assert_eq!(short.check(), Ok(()));
        assert!((short.operations() - 10.0).abs() < 1e-9);
        assert!((short.percent(SocialOperation::CreateUser) - 2.0).abs() < 1e-9);
        let ratio = short.percent(SocialOperation::LiveFeed) / short.percent(SocialOperation::Home);
        assert!((ratio - 5.1).abs() < 1e-9);
    }
}
