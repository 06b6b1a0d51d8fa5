//! The chapter on the social network: sessions, operations and time limits.

use super::{TIERS, TIMEOUT_LIMITS};
use spec::workload::{SocialLimits, SocialMix, SocialOperation};

use spec::{Chapter, Entry, Section};

/// External sources: ISPASS'16, Palit et al., Demystifying cloud benchmarking, §IV-B and §VI-A; CloudSuite's clients.
const TEXT: &str = "\
A session is a user who logs in, does what the mix says, and logs out

  Users come at times that know nothing of the site (--rate is sessions per second). Each is drawn among those who are not
  logged in, has a connection and cookies of their own, and does 40 operations on average: a login, a geometric number of
  others by the shares of the mix, a logout. One session in five begins with a new user, whose name no run has twice.

  operation k+1  is due a thought after operation k was: exponential, 2 s on average (--think-time), drawn with the session,
                 whatever the site answered
  eligible       when it is due, and the one before it has been answered
  response       from when it was due to the last byte of its last request: redirects are followed, and what belongs to a page
                 is part of the first view in a session

  When the load begins, those are there already who came before it and have not left: a Poisson number, rate x length. What is
  still to come of a session has the same distribution at every moment, so that they need no age; they log in before the
  warm-up, a few at a time, by the same requests, and these logins are in no figure.

  --closed -c 100 has 100 users instead, of whom each thinks after an answer and stays, as in the paper. CLOSED LOOP: a slow
  site is asked less, and what was not asked meanwhile is missing from all figures.

What the cache holds before a load (--cache)

  flushed        nothing, where the site is started for the load, as each reset restarts it; logins and the warm-up bring what
                 they need. That of a site that runs already stays as it is
  primed         what the site keeps of each user: before the logins one user asks it for all, a few at a time, by the requests
                 that its description has for that ([[prime]]); primed_users, primed_requests and priming_s are in the result.
                 The database has it in memory since, too, so that --server-set cache=none stays comparable

What is within its limit

  within         the share of all operations due in the window that ended well within their own limit (Table II: 1 s, or 3 s of
                 create-user, login and logout). Errors, time-outs, what was unfinished and what was never sent are misses.
                 --qos 'within>=95%' is the usual target; 'within.home>=99%' or 'home.p95<500ms' ask of one operation
  misses         those that were not completed at all

  A run without a success has within 0 %, or none where nothing was due, and meets no target.

What counts as an answer

  Each site is described by data (--site own, mediawiki, elgg or a file): its requests, the pages that must come (status, texts, whole
  JSON) and what is taken from them, such as tokens. An error page with status 200 is a wrong page. Errors by kind: status_502,
  wrong_page, nothing_to_take, truncated_json, token_refused, session_lost, redirect_loop, foreign_redirect, wrong_redirect,
  answer_cut_off, connection_closed, no_answer_in_time, no_user (all users are logged in).

  Who is found to be logged out logs in again instead of the next operation; so does one whose login failed.

Where the time goes

  Sites that say Server-Timing: queue, php, db, cache have the time and the calls of each per operation in the result.

The target

  taillight load social --rate 2                                the site of apps/social, started for the run
  taillight load social --target mediawiki --rate 0.5           a wiki of Debian's packages, with --mix wiki
  taillight load social --target http://HOST --users 1k --rate 2 --yes
  taillight peak social --qos 'within>=95%'

  All options: taillight load social --help.
";

/// The manual of the workload, with its constants.
pub fn chapter() -> Chapter {
    Chapter { text: TEXT.into(), sections: vec![operations(), constants()] }
}

fn operations() -> Section {
    let (mix, limits) = (SocialMix::default(), SocialLimits::default());
    let entry = |operation: SocialOperation| {
        let (percent, source) = match mix.percent(operation) {
            0.0 => (
                SocialMix::wiki().percent(operation),
                "ours: of --mix wiki, with one edit a session; see docs/reference/social.md",
            ),
            percent => (percent, "ISPASS'16 §IV-B3, Table II"),
        };
        Entry::of_value(
            format!("social.{}", operation.name()),
            format!("{percent} % within {}", limits.of(operation)),
            meaning(operation),
            source,
        )
    };
    Section::new("Operations of social", SocialOperation::ALL.map(entry))
}

fn meaning(operation: SocialOperation) -> &'static str {
    match operation {
        SocialOperation::CreateUser => "Registers a user of a new name.",
        SocialOperation::Login => "Logs a user in, up to their home page.",
        SocialOperation::Logout => "Ends the session.",
        SocialOperation::Home => "The home page: posts of friends.",
        SocialOperation::WallPost => "Writes a post.",
        SocialOperation::FriendRequest => "Asks one who is no friend.",
        SocialOperation::SendChat => "Sends a message to a friend.",
        SocialOperation::ReceiveChat => "Asks for messages since the last that are known.",
        SocialOperation::LiveFeed => "Asks for posts since the last that are known.",
        SocialOperation::Read => "Reads an article of a wiki.",
        SocialOperation::Edit => {
            "Opens the last section of an article, saves another text, and sees it on the page."
        }
        SocialOperation::Search => "Searches a word, which one article at least has.",
        SocialOperation::WatchList => "Looks at changes of the articles that the user watches.",
        SocialOperation::RecentChanges => "Looks at changes of all articles.",
    }
}

fn constants() -> Section {
    let entry = |name: &str, value: String, meaning: &str, source: &str| {
        Entry::of_value(format!("social.{name}"), value, meaning, source)
    };
    let all = [
        entry(
            "time-out",
            format!("{TIMEOUT_LIMITS} limits"),
            "An operation is given up so long after one of its requests was sent.",
            "ours, because users leave long before, and a site that hangs is not left with requests without end",
        ),
        entry(
            "tiers",
            TIERS.join(", "),
            "The metrics of Server-Timing that are kept.",
            "ours, because they are the tiers of ISPASS'16 §IV-B1, PHP, MySQL and memcached, and the wait for one of PHP's processes",
        ),
    ];
    Section::new("Constants of social", all)
}
