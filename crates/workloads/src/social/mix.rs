use dist::Rng;
use rand::RngExt;
use spec::workload::{OperationShare, SocialMix, SocialOperation};
use units::ParseError;

use crate::social::site::{By, Site};

/// The number of operations after the first three: creating a user, login and logout.
const MIDDLES: usize = SocialOperation::COUNT - 3;
/// The operations between login and logout.
const MIDDLE: [SocialOperation; MIDDLES] = *SocialOperation::ALL.last_chunk().expect("it has fewer");
/// By how much a requested share may exceed the available one. Units: per cent; source: the tolerance of a mix's
/// shares.
const ROUNDING: f64 = 1e-4;

/// The draw of users' operations.
///
/// The operations between login and logout are independent, and their number is geometric: at any moment of a session
/// its remainder has the same distribution, so that a session already under way needs no age.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// The share of each operation and those before it, over 1 for all.
    rising: [f64; MIDDLES],
    /// How many there are on average.
    middle: f64,
    /// The chance of a session to begin with a new user.
    new: f64,
    /// The chance of an operation to be done by AJAX, of those that can be done by page as well.
    ajax: f64,
    /// Whether it can be done by page, and by AJAX.
    can: [[bool; 2]; MIDDLES],
}

impl Draw {
    /// Applies `mix` to a site: operations that the site lacks are left out, and the others are proportionally more
    /// frequent.
    ///
    /// Errors: it lacks all operations between login and logout; `ajax` asks for more than its pages can do, or for
    /// less than the operations that exist only as AJAX need.
    pub fn new(mix: &SocialMix, ajax: Option<OperationShare>, site: &Site) -> Result<Draw, ParseError> {
        let shares = MIDDLE.map(|operation| if site.has(operation) { mix.percent(operation) } else { 0.0 });
        let there: f64 = shares.iter().sum();
        let all: f64 = MIDDLE.iter().map(|operation| mix.percent(*operation)).sum();
        if there <= 0.0 {
            return Err(ParseError {
                what: "operation mix",
                given: mix.to_string(),
                problem: format!("the site {} has none of these operations", site.name()),
                hint: "use another --mix, or another --site",
            });
        }
        let once = mix.percent(SocialOperation::Login);
        let can = MIDDLE.map(|operation| [By::Page, By::Ajax].map(|by| site.has_way(operation, by)));
        // Relative to all operations; those between login and logout are as many as the mix has.
        let sum = |is: fn(&[bool; 2]) -> bool| {
            let those = can.iter().zip(shares).filter(|(can, _)| is(can));
            those.map(|(_, share)| share * all / there).fold(0.0, |sum, share| sum + share)
        };
        let (most, least) = (sum(|can| can[By::Ajax as usize]), sum(|can| *can == [false, true]));
        let asked = ajax.map_or(most, OperationShare::percent);
        // No more digits than say something.
        let shown = |share: f64| (1e3 * share).round() / 1e3;
        let refused = |problem: String, hint| {
            Err(ParseError { what: "share of AJAX", given: format!("{asked}%"), problem, hint })
        };
        if asked > most + ROUNDING {
            let problem = format!(
                "pages of the site {} can do {} % of this mix without being loaded anew",
                site.name(),
                shown(most)
            );
            return refused(problem, "use --ajax 23%, or leave it out for as many as can be");
        }
        if asked < least - ROUNDING {
            let problem = format!(
                "the site {} has no page for {} % of this mix, which can be done by AJAX only",
                site.name(),
                shown(least)
            );
            return refused(problem, "use a larger --ajax, or leave it out for as many as can be");
        }
        let mut sum = 0.0;
        let rising = shares.map(|share| {
            sum += share / there;
            sum
        });
        let has_new = site.has(SocialOperation::CreateUser);
        Ok(Draw {
            rising,
            middle: all / once,
            new: if has_new { mix.percent(SocialOperation::CreateUser) / once } else { 0.0 },
            ajax: if most > least { ((asked - least) / (most - least)).clamp(0.0, 1.0) } else { 0.0 },
            can,
        })
    }

    /// How many operations there are between login and logout, on average.
    pub fn middle(&self) -> f64 {
        self.middle
    }

    /// The share of sessions that begin with a new user.
    pub fn new_users(&self) -> f64 {
        self.new
    }

    /// Whether a session begins with one.
    pub(super) fn is_new(&self, rng: &mut Rng) -> bool {
        rng.random::<f64>() < self.new
    }

    /// How many operations come before the logout, from now on.
    pub(super) fn count(&self, rng: &mut Rng) -> u32 {
        let goes_on = self.middle / (self.middle + 1.0);
        // 1 − u is over 0, so that its logarithm is finite.
        ((1.0 - rng.random::<f64>()).ln() / goes_on.ln()) as u32
    }

    /// An operation, and how it is done.
    pub(super) fn operation(&self, rng: &mut Rng) -> (SocialOperation, By) {
        let (which, how) = (rng.random::<f64>(), rng.random::<f64>());
        // Rounding may leave the last a little below 1, and an operation that the site lacks is never the first above.
        let place = self.rising.iter().position(|rising| which < *rising);
        let last = || self.rising.iter().position(|rising| *rising >= self.rising[MIDDLES - 1]).unwrap_or(0);
        let place = place.unwrap_or_else(last);
        let by = match self.can[place] {
            [true, true] if how < self.ajax => By::Ajax,
            [false, true] => By::Ajax,
            _ => By::Page,
        };
        (MIDDLE[place], by)
    }
}

#[cfg(test)]
mod tests {
    use dist::{Purpose, Streams};

    use super::*;

    fn own() -> Site {
        Site::of(&spec::workload::Site::Own).unwrap()
    }

    #[test]
    fn the_mix_is_kept_within_a_point() {
        let check = |mix: SocialMix, ajax: Option<&str>| {
            let draw = Draw::new(&mix, ajax.map(|share| share.parse().unwrap()), &own()).unwrap();
            let mut rng = Streams::new(3).stream(Purpose::Operations, 0);
            let (mut counts, mut by_ajax, mut all) = ([0u32; SocialOperation::COUNT], 0, 0);
            while all < 10_000 {
                let mut count = |operation: SocialOperation| {
                    counts[operation.place()] += 1;
                    all += 1;
                };
                if draw.is_new(&mut rng) {
                    count(SocialOperation::CreateUser);
                }
                count(SocialOperation::Login);
                count(SocialOperation::Logout);
                for _ in 0..draw.count(&mut rng) {
                    let (operation, by) = draw.operation(&mut rng);
                    count(operation);
                    by_ajax += u32::from(by == By::Ajax);
                }
            }
            let percent = |count: u32| 100.0 * f64::from(count) / f64::from(all);
            for operation in SocialOperation::ALL {
                let (found, asked) = (percent(counts[operation.place()]), mix.percent(operation));
                assert!((found - asked).abs() < 1.0, "{}: {found} and not {asked}", operation.name());
            }
            let asked = ajax.map_or(mix.most_ajax(), |share| share.trim_end_matches('%').parse().unwrap());
            assert!((percent(by_ajax) - asked).abs() < 1.5, "{} and not {asked}", percent(by_ajax));
        };
        check(SocialMix::default(), None);
        check(SocialMix::default(), Some("23%"));
        check(SocialMix::default().of_sessions(12.0).unwrap(), None);
        check("login:20,logout:20,create-user:20,live-feed:40".parse().unwrap(), None);
    }

    #[test]
    fn what_a_site_lacks_is_left_out() {
        let elgg = Site::of(&spec::workload::Site::Elgg).unwrap();
        let draw = Draw::new(&SocialMix::default(), None, &elgg).unwrap();
        assert!((draw.middle() - 37.8).abs() < 1e-9);
        let mut rng = Streams::new(4).stream(Purpose::Operations, 0);
        let mut homes = 0;
        for _ in 0..7_000 {
            let (operation, by) = draw.operation(&mut rng);
            assert!(elgg.has_way(operation, by), "{operation:?}");
            homes += u32::from(operation == SocialOperation::Home);
        }
        // 5 of 35.
        assert!((900..1_100).contains(&homes), "{homes}");
        let feeds = "login:5,logout:5,live-feed:90".parse().unwrap();
        let error = Draw::new(&feeds, None, &elgg).unwrap_err().to_string();
        assert!(error.contains("elgg has none of these"), "{error}");
        let share = |text: &str| Some(text.parse().unwrap());
        let error = Draw::new(&SocialMix::default(), share("1%"), &elgg).unwrap_err().to_string();
        assert!(error.contains("can do 0 %"), "{error}");
        let error = Draw::new(&SocialMix::default(), share("90%"), &own()).unwrap_err().to_string();
        assert!(error.contains("can do 89.5 %"), "{error}");
        assert!(Draw::new(&SocialMix::default(), share("89.5%"), &own()).is_ok());
    }

    #[test]
    fn what_a_site_has_by_ajax_only_is_done_so() {
        let own = include_str!("sites/own.toml");
        let page = "[[request]]\noperation = \"live-feed\"\npath = \"/feed\"\npage = \"feed\"\n";
        assert!(own.contains(page));
        let site = Site::read("x.toml", &own.replacen(page, "", 1)).unwrap();
        let mix = SocialMix::default();
        let feeds = mix.percent(SocialOperation::LiveFeed);
        let of = |share: String| Draw::new(&mix, Some(share.parse().unwrap()), &site);
        for percent in [feeds, feeds + 5.0] {
            let draw = of(format!("{percent}%")).unwrap();
            let mut rng = Streams::new(5).stream(Purpose::Operations, 0);
            let mut by_ajax = 0;
            for _ in 0..10_000 {
                let (operation, by) = draw.operation(&mut rng);
                assert!(site.has_way(operation, by), "{operation:?} by {by:?}");
                by_ajax += u32::from(by == By::Ajax);
            }
            let all: f64 = MIDDLE.iter().map(|operation| mix.percent(*operation)).sum();
            let found = f64::from(by_ajax) / 10_000.0 * all;
            assert!((found - percent).abs() < 1.5, "{found} and not {percent}");
        }
        let error = of("1%".into()).unwrap_err().to_string();
        assert!(error.contains(&format!("no page for {feeds} % of this mix")), "{error}");
        assert!(error.contains("use a larger --ajax"), "{error}");
    }
}
