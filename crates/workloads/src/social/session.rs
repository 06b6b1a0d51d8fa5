//! One user's session: its next request, and its outcomes.

use dist::Rng;
use openloop::{Next, Outcome, Step, StepEnd};
use proto_http::{Jar, Needle, NeedleMatch, Page};
use rand::RngExt;
use spec::workload::{Assets, SocialOperation};
use units::Nanos;

use crate::social::config::Known;
use crate::social::counts::{SocialCounts, Tiers};
use crate::social::people::{friend, page, stranger};
use crate::social::site::By;

/// A user who is present.
#[derive(Clone, Debug)]
pub(super) struct Session {
    rng: Rng,
    /// Tells it from all others of this run.
    pub(super) number: u64,
    pub(super) user: u32,
    /// Operations that are still to come before the logout.
    left: u32,
    /// The number of operations done.
    pub(super) done: u32,
    /// Whether the session is open to this user on the site, as far as is known.
    pub(super) is_logged_in: bool,
    /// Whether assets of pages were requested.
    pub(super) has_assets: bool,
    pub(super) operation: SocialOperation,
    pub(super) by: By,
    /// Whom the operation is about, and how much is written.
    pub(super) friend: u32,
    pub(super) stranger: u32,
    pub(super) words: u32,
    /// The user whom the article is about.
    pub(super) article: u32,
    /// The text that the next page must have because of its request.
    pub(super) shows: Option<Box<Shown>>,
    /// The user to load into the cache, for a session that primes it before a load.
    pub(super) each: Option<u32>,
    /// When it was due, after the start of the session.
    pub(super) offset: Nanos,
    pub(super) at: At,
    /// Number of redirects so far, and the target of the last one.
    pub(super) hops: u8,
    pub(super) location: Vec<u8>,
    pub(super) jar: Jar,
    /// Values taken from pages, by the places of the site's values.
    pub(super) taken: Vec<Vec<u8>>,
    /// The same of the page that is arriving.
    pub(super) fresh: Vec<Vec<u8>>,
    pub(super) tiers: Tiers,
}

/// A text of one request that its page must have.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) needle: Needle,
    pub(super) seen: NeedleMatch,
    pub(super) found: bool,
}

/// Which request of its operation a session is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// One of the site's.
    Request(u16),
    /// The target of that redirect.
    Redirect(u16),
    /// An asset of a page, by its place; then this request.
    Asset(u8, u16),
}

impl Session {
    /// A user who comes.
    pub(super) fn new(user: u32, number: u64, rng: Rng, known: &Known) -> Session {
        let taken = vec![Vec::new(); known.config.site.taken.len()];
        let mut session = Session {
            rng,
            number,
            user,
            left: 0,
            done: 0,
            is_logged_in: false,
            has_assets: known.config.options.assets == Assets::Never || known.config.site.assets.is_empty(),
            operation: SocialOperation::Login,
            by: By::Page,
            friend: user,
            stranger: user,
            words: 0,
            article: user,
            shows: None,
            each: None,
            offset: Nanos::ZERO,
            at: At::Request(0),
            hops: 0,
            location: Vec::new(),
            jar: Jar::default(),
            fresh: taken.clone(),
            taken,
            tiers: Tiers::default(),
        };
        session.left = known.draw.count(&mut session.rng);
        if known.draw.is_new(&mut session.rng) {
            session.operation = SocialOperation::CreateUser;
        }
        session.begin(session.operation, By::Page, Nanos::ZERO, known);
        session
    }

    /// Makes the same user log in first, before the drawn operation.
    pub(super) fn before_login(mut self, known: &Known) -> Session {
        self.begin(SocialOperation::Login, By::Page, Nanos::ZERO, known);
        self
    }

    /// One who has logged in: the next operation of the session, which is due after a thought from now.
    pub(super) fn goes_on(mut self, known: &Known) -> (Session, Step) {
        self.is_logged_in = true;
        // Whether the session had begun with a new user is past.
        self.operation = SocialOperation::Login;
        let step = self.next(Nanos::ZERO, known);
        (self, step)
    }

    /// One who is about to log in, after a thought from now.
    pub(super) fn enters(mut self, known: &Known) -> (Session, Step) {
        let offset = known.think(&mut self.rng);
        self.begin(SocialOperation::Login, By::Page, offset, known);
        (self, Step { offset, operation: SocialOperation::Login.place() })
    }

    /// The requested page, for cookies.
    pub(super) fn page<'a>(&self, path: &'a [u8], known: &'a Known) -> Page<'a> {
        // Cookies live by the clock of the session's own operations.
        let now = self.offset.0 / 1_000_000_000;
        Page { host: &known.url.host, path, https: known.url.https, now }
    }

    /// An operation begins.
    fn begin(&mut self, operation: SocialOperation, by: By, offset: Nanos, known: &Known) {
        (self.operation, self.by, self.offset) = (operation, by, offset);
        self.at = At::Request(known.config.site.way(operation, by).start);
        self.hops = 0;
        self.tiers = Tiers::default();
        // A session for which no user was left has none.
        let user = self.user.min(known.people.users() - 1);
        match operation {
            SocialOperation::SendChat => self.friend = friend(&known.people, user, &mut self.rng),
            SocialOperation::FriendRequest => self.stranger = stranger(&known.people, user, &mut self.rng),
            SocialOperation::Read | SocialOperation::Edit | SocialOperation::Search => {
                self.article = page(&known.people, &mut self.rng);
            }
            _ => {}
        }
        if matches!(operation, SocialOperation::SendChat | SocialOperation::WallPost | SocialOperation::Edit)
        {
            self.words = self.rng.random();
        }
    }

    /// An operation has ended: returns the next step.
    pub(super) fn ended(&mut self, end: &StepEnd, known: &Known, counts: &mut SocialCounts) -> Next {
        let operation = self.operation;
        let is_well = end.outcome == Outcome::Completed;
        if end.in_window.is_some() {
            let within = is_well && end.ended - end.offset <= known.config.options.limits.of(operation);
            counts.ended(operation, self.by == By::Ajax, within, &self.tiers);
        }
        self.done += 1;
        match operation {
            SocialOperation::Login => self.is_logged_in = is_well,
            SocialOperation::Logout => return Next::End,
            _ => {}
        }
        let from = if known.config.population.is_some() { end.ended } else { end.offset };
        let step = self.next(from, known);
        // Who could not log in has no session to end.
        if self.operation == SocialOperation::Logout && !self.is_logged_in {
            return Next::Lose(step);
        }
        Next::Send(step)
    }

    /// The next operation, one think time after `from`: the drawn one or, for a user who is not logged in, a login.
    fn next(&mut self, from: Nanos, known: &Known) -> Step {
        let offset = from + known.think(&mut self.rng);
        let (operation, by) = if self.operation == SocialOperation::CreateUser {
            (SocialOperation::Login, By::Page)
        } else if self.left == 0 {
            (SocialOperation::Logout, By::Page)
        } else {
            self.left -= 1;
            let drawn = known.draw.operation(&mut self.rng);
            if self.is_logged_in {
                drawn
            } else {
                // The site may still know the user from a partly failed operation, and shows no login then.
                self.jar.clear();
                (SocialOperation::Login, By::Page)
            }
        };
        self.begin(operation, by, offset, known);
        Step { offset, operation: operation.place() }
    }
}
