//! The search for the maximum throughput.

use std::time::Duration;

use results::MaxThroughput;

use super::ballots::Tally;
use super::patience::Patience;
use super::{Bisection, Bracket, Outcome, Search, Tolerance, Vote};

units::limits! {
    /// First offer to a server of unknown speed, to observe its throughput under overload. Units: rps.
    const FIRST_OFFER: f64 = 500_000.0, Rate,
        "ours, because it is three times what a core serves without pipelining, and four times as much follows where it is sustained";

    /// Ratio of offered to achieved that is certainly an overload: more than a stall explains.
    const CLEAR_OVERLOAD: f64 = 1.2, Factor,
        "ours, because a stall of the host explains less";

    /// The first rate to try, relative to the throughput under overload: full queues and batches flatter a server a little.
    const FIRST_GUESS: f64 = 0.96, Factor,
        "ours, because full queues and batches flatter a server a little";

    /// If an offer exceeds the achieved throughput by this factor, it overwhelmed server and generator, and the
    /// throughput is not a useful starting point.
    const DROWNED: f64 = 100.0, Factor,
        "ours, because in an emulated guest an offer of 500 krps reduced a server of some hundred rps to 6 rps; a server that is merely overloaded achieves a hundredth of this offer if it can serve 5 krps";

    /// The next offer after one that drowned them, as a factor.
    const LESS: f64 = 0.1, Factor,
        "ours, because four such steps go from 500 krps to 50 rps";

    /// Lowest offer to a server of unknown speed. Units: rps.
    const LOWEST_OFFER: f64 = 50.0, Rate,
        "ours, because a window of a second then has 50 requests";

    /// If a later block leads further than this factor from the interval before, the search starts over: such long strides
    /// cost more trials than an overload.
    const FAMILIAR: f64 = 1.2, Factor,
        "ours, because strides that long take more trials than an overload does";

    /// Lowest rate tried, relative to the throughput under overload.
    const FLOOR: f64 = 0.01, Share,
        "ours, because a server that sustains less of what it gives under overload is broken";

    /// Arrivals in a trial of sessions that make it sure that there are as many as a target takes.
    pub const ENOUGH_SESSIONS: f64 = 32.0, Count,
        "ours, because a p95 that is judged takes 20, and of a Poisson number with the mean of 32 one in a hundred is less";
}

/// First offers of a search without prior knowledge of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Offers {
    /// Far too many requests, to observe the throughput under overload.
    #[default]
    Requests,
    /// A few sessions, doubled until overload: an overload by a factor of hundreds would need as many connections.
    Sessions {
        /// How many a second. Units: sessions per second.
        first: f64,
    },
}

impl Offers {
    /// Session offers for trials with this window: the first rate lets enough sessions arrive in it.
    pub fn sessions_in(window: Duration) -> Offers {
        Offers::Sessions { first: ENOUGH_SESSIONS / window.as_secs_f64().max(1e-3) }
    }

    fn first(self) -> f64 {
        match self {
            Offers::Requests => FIRST_OFFER,
            Offers::Sessions { first } => first,
        }
    }

    /// The first rate where an earlier block's interval led to `rate`, above it or below: of sessions a few trials from there.
    fn anew(self, rate: f64, is_above: bool) -> f64 {
        match self {
            Offers::Requests => FIRST_OFFER,
            Offers::Sessions { .. } if is_above => rate,
            Offers::Sessions { .. } => rate / 4.0,
        }
    }

    /// The next rate after a sustained one, as a factor.
    fn factor(self) -> f64 {
        match self {
            Offers::Requests => 4.0,
            Offers::Sessions { .. } => 2.0,
        }
    }
}

/// A search for the highest sustained rate.
///
/// The first search of a run offers far too much and starts from the achieved throughput; later ones start from the
/// interval before, which takes two trials if the machine has not changed.
#[derive(Clone, Debug)]
pub struct MaxSearch {
    tolerance: f64,
    state: State,
    offers: Offers,
    /// The highest offer that was sustained before a search for the place between began.
    passed: Option<f64>,
    /// Whether the present offer of sessions was not sustained once, which may be bad luck.
    failed: bool,
    /// The range in which a search that started from an earlier one must stay.
    familiar: Option<(f64, f64)>,
    /// Trials that led to no vote of `state`.
    spent: Tally,
    patience: Patience,
}

#[derive(Clone, Debug)]
enum State {
    Probing {
        offer: f64,
        retried: bool,
    },
    Bisecting(Bisection),
    /// Not even an overload got anything out of the server.
    Nothing,
}

impl MaxSearch {
    /// A search that knows nothing, for an interval no wider than `tolerance` of its upper end.
    pub fn first(tolerance: f64) -> MaxSearch {
        MaxSearch::of(State::Probing { offer: FIRST_OFFER, retried: false }, tolerance)
    }

    /// The same search with these offers for an unknown server.
    #[must_use]
    pub fn offering(mut self, offers: Offers) -> MaxSearch {
        self.offers = offers;
        if let State::Probing { offer, .. } = &mut self.state {
            *offer = offers.first();
        }
        self
    }

    /// A search that starts from the interval of an earlier block.
    pub fn again(earlier: &MaxThroughput, tolerance: f64) -> MaxSearch {
        let (low, high) = (earlier.low_rps, earlier.high_rps);
        if !(low > 0.0 && high > low) {
            return MaxSearch::first(tolerance);
        }
        // One trial each that agrees with the earlier interval confirms it.
        let bisection = bisection(high, tolerance).starting_at(&[], high - low);
        let bisection = bisection.expecting(low, Vote::Pass).expecting(high, Vote::Fail);
        let familiar = Some((low / FAMILIAR, high * FAMILIAR));
        MaxSearch { familiar, ..MaxSearch::of(State::Bisecting(bisection), tolerance) }
    }

    fn of(state: State, tolerance: f64) -> MaxSearch {
        MaxSearch {
            tolerance,
            state,
            offers: Offers::Requests,
            passed: None,
            failed: false,
            familiar: None,
            spent: Tally::default(),
            patience: Patience::default(),
        }
    }

    /// The current answer, labelled with `block`; `None` if no rate was sustained, or if too many inconclusive trials in
    /// a row left an earlier block's interval unconfirmed.
    pub fn interval(&self, block: u32) -> Option<MaxThroughput> {
        if self.patience.is_futile() && self.familiar.is_some() {
            return None;
        }
        let State::Bisecting(bisection) = &self.state else { return None };
        let Bracket { low: Some(low_rps), high } = bisection.bracket() else { return None };
        Some(MaxThroughput { block, low_rps, high_rps: high.unwrap_or(low_rps) })
    }

    /// Whether it ended without an answer because one trial after the other said nothing.
    pub(crate) fn is_futile(&self) -> bool {
        self.patience.is_futile()
    }

    /// Note on the answer for the reader.
    pub fn note(&self) -> Option<String> {
        let Tally { all, unknown } = self.tally();
        let said_nothing = (unknown > 0).then(|| format!("{unknown} of {all} trials said nothing of it"));
        let notes: Vec<String> = said_nothing.into_iter().chain(self.early_end()).collect();
        (!notes.is_empty()).then(|| notes.join("; "))
    }

    /// Why it ended without a narrow interval; `None` if it did not.
    pub fn early_end(&self) -> Option<String> {
        let gave_up = matches!(&self.state, State::Bisecting(bisection) if bisection.gave_up());
        let all = self.tally().all;
        let gave_up =
            gave_up.then(|| format!("the search ended without a narrow interval after {all} trials"));
        let ends: Vec<String> = self.patience.futile_words().into_iter().chain(gave_up).collect();
        (!ends.is_empty()).then(|| ends.join("; "))
    }

    fn tally(&self) -> Tally {
        match &self.state {
            State::Bisecting(bisection) => self.spent.plus(bisection.tally()),
            State::Probing { .. } | State::Nothing => self.spent,
        }
    }

    fn probe(&mut self, offer: f64, retried: bool, outcome: Outcome) -> State {
        let Outcome { vote, achieved_rps: achieved } = outcome;
        let unknown = u32::from(vote.says_nothing());
        if let Offers::Sessions { .. } = self.offers {
            return self.probe_sessions(offer, retried, outcome);
        }
        if vote == Vote::Pass && offer < units::Rate::MAX.rps() {
            self.spent.all += u32::from(self.passed.replace(offer).is_some());
            let next = (self.offers.factor() * offer).min(units::Rate::MAX.rps());
            return State::Probing { offer: next, retried: false };
        }
        let is_silent = achieved <= 0.0 || !achieved.is_finite();
        if is_silent || offer > DROWNED * achieved {
            self.spent = self.spent.plus(Tally { all: 1, unknown });
            let lower = (LESS * offer).max(LOWEST_OFFER);
            return match (is_silent && !retried, self.passed) {
                (true, _) => State::Probing { offer, retried: true },
                (false, Some(passed)) => {
                    let search = bisection(passed, self.tolerance).starting_at(&[], passed);
                    State::Bisecting(search.with_vote(passed, Vote::Pass))
                }
                // No answers from a server that was free to answer.
                (false, None) if !vote.says_nothing() && (is_silent || offer <= LOWEST_OFFER) => {
                    State::Nothing
                }
                (false, None) => State::Probing { offer: lower, retried: false },
            };
        }
        // The search below does not count the last offer that passed.
        self.spent.all += u32::from(self.passed.is_some());
        let stride = (1.0 - FIRST_GUESS) * achieved;
        let search =
            bisection(achieved, self.tolerance).starting_at(&[FIRST_GUESS * achieved, achieved], stride);
        // The achieved throughput is a starting point, and no vote on the offer.
        if vote.says_nothing() {
            self.spent = self.spent.plus(Tally { all: 1, unknown });
            return State::Bisecting(search);
        }
        if offer > CLEAR_OVERLOAD * achieved {
            return State::Bisecting(search.with_vote(offer, Vote::Fail).expecting(offer, Vote::Fail));
        }
        State::Bisecting(search.with_vote(offer, vote))
    }

    /// Offers more sessions while they are sustained, and then searches between the last offer that was and the first that
    /// was not: twice, unless far less came out.
    fn probe_sessions(&mut self, offer: f64, retried: bool, outcome: Outcome) -> State {
        let Outcome { vote, achieved_rps: achieved } = outcome;
        if vote.says_nothing() && !retried {
            self.spent = self.spent.plus(Tally { all: 1, unknown: 1 });
            return State::Probing { offer, retried: true };
        }
        let has_failed = std::mem::take(&mut self.failed);
        if vote == Vote::Pass && offer < units::Rate::MAX.rps() {
            self.spent.all += u32::from(self.passed.replace(offer).is_some()) + u32::from(has_failed);
            let next = (self.offers.factor() * offer).min(units::Rate::MAX.rps());
            return State::Probing { offer: next, retried: false };
        }
        // The second inconclusive trial in a row leads to a lower rate.
        self.spent.unknown += u32::from(vote.says_nothing());
        let is_clear = vote == Vote::Fail && offer > CLEAR_OVERLOAD * achieved;
        if vote != Vote::Pass && !is_clear && !has_failed {
            self.failed = true;
            return State::Probing { offer, retried };
        }
        let voted = if vote == Vote::Pass { Vote::Pass } else { Vote::Fail };
        let search = bisection(offer, self.tolerance).with_vote(offer, voted);
        let search =
            if has_failed { search.with_vote(offer, Vote::Fail) } else { search.expecting(offer, voted) };
        State::Bisecting(match self.passed {
            Some(passed) => search.with_vote(passed, Vote::Pass).expecting(passed, Vote::Pass),
            None => search,
        })
    }
}

fn bisection(about: f64, tolerance: f64) -> Bisection {
    Bisection::new(FLOOR * about, units::Rate::MAX.rps(), Tolerance::Relative(tolerance))
}

impl Search for MaxSearch {
    fn next(&mut self) -> Option<f64> {
        if self.patience.is_futile() {
            return None;
        }
        match &mut self.state {
            State::Probing { offer, .. } => Some(*offer),
            State::Nothing => None,
            State::Bisecting(bisection) => {
                let rate = bisection.next();
                if let (Some(rate), Some((low, high))) = (rate, self.familiar)
                    && !(low..=high).contains(&rate)
                {
                    self.spent = self.tally();
                    self.familiar = None;
                    let offer = self.offers.anew(rate, rate > high);
                    self.state = State::Probing { offer, retried: false };
                    return Some(offer);
                }
                rate
            }
        }
    }

    fn enter(&mut self, outcome: Outcome) {
        self.patience.enter(outcome.vote);
        match self.state {
            State::Probing { offer, retried } => self.state = self.probe(offer, retried, outcome),
            State::Bisecting(ref mut bisection) => bisection.enter(outcome),
            State::Nothing => {}
        }
    }

    fn trials_left(&self) -> usize {
        match &self.state {
            // Of sessions three more that are sustained, and two at each of five halvings.
            State::Probing { .. } if matches!(self.offers, Offers::Sessions { .. }) => 13,
            State::Probing { .. } => 7,
            State::Bisecting(bisection) => bisection.trials_left(),
            State::Nothing => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::testing::{Drive, Luck, Server};

    fn find(server: &Server, search: MaxSearch, seed: u64) -> (MaxSearch, Vec<f64>) {
        let mut search = search;
        let mut machine = server.run(seed);
        let mut rates = Vec::new();
        let measure = |rate| {
            rates.push(rate);
            Ok::<_, ()>(machine.throughput(rate))
        };
        search.drive(measure).unwrap();
        (search, rates)
    }

    /// In how many of 400 seeds the answer holds the truth, within `slack`; and the mean number of trials.
    fn score(server: &Server, start: impl Fn() -> MaxSearch, slack: f64) -> (usize, f64) {
        let mut trials = 0;
        let holds = |seed: &u64| {
            let (search, rates) = find(server, start(), *seed);
            trials += rates.len();
            search.interval(0).is_some_and(|found| {
                found.low_rps <= server.capacity * (1.0 + slack)
                    && found.high_rps >= server.capacity * (1.0 - slack)
                    && found.high_rps - found.low_rps <= 0.03 * found.high_rps * (1.0 + 1e-6)
            })
        };
        let held = (0..400).filter(holds).count();
        (held, trials as f64 / 400.0)
    }

    /// Of trials of a minute.
    const SESSIONS: Offers = Offers::Sessions { first: 0.5 };

    #[test]
    fn enough_sessions_arrive_in_the_first_trial() {
        let first = |seconds: f64| Offers::sessions_in(Duration::from_secs_f64(seconds)).first();
        for seconds in [0.5, 6.0, 30.0, 64.0, 600.0] {
            assert!((first(seconds) * seconds - 32.0).abs() < 1e-9, "{seconds}");
        }
        assert_eq!(first(64.0), 0.5);
        assert!(first(0.0).is_finite());
    }

    #[test]
    fn a_generator_that_is_always_late_ends_the_search_before_it_sinks() {
        let mut rates = Vec::new();
        let late = |rate: f64| {
            rates.push(rate);
            Ok::<_, ()>(Outcome { vote: Vote::Unknown, achieved_rps: rate.min(10_000.0) })
        };
        let mut search = MaxSearch::first(0.03);
        search.drive(late).unwrap();
        assert!(search.is_futile() && search.interval(0).is_none());
        assert_eq!(rates.len(), 20);
        assert!(rates.iter().all(|rate| *rate > 3000.0), "{rates:?}");
        assert!(search.note().unwrap().contains("20 trials in a row said nothing"), "{:?}", search.note());
        // An earlier block's interval is not reused for this block.
        let earlier = MaxThroughput { block: 0, low_rps: 9700.0, high_rps: 10_000.0 };
        let mut search = MaxSearch::again(&earlier, 0.03);
        search.drive(|rate| Ok::<_, ()>(Outcome { vote: Vote::Unknown, achieved_rps: rate })).unwrap();
        assert!(search.is_futile() && search.interval(1).is_none());
    }

    #[test]
    fn a_search_that_ends_for_want_of_answers_keeps_what_was_sustained() {
        let mut futile = 0;
        for from in (3_000..9_000).step_by(100).map(f64::from) {
            let mut search = MaxSearch::first(0.01);
            let busy = |rate: f64| {
                let vote = if rate < from { Vote::Pass } else { Vote::Unknown };
                Ok::<_, ()>(Outcome { vote, achieved_rps: rate.min(2_000.0) })
            };
            search.drive(busy).unwrap();
            futile += u32::from(search.is_futile());
            let found = search.interval(0).expect("lower rates were sustained");
            assert!(found.low_rps > 0.5 * from && found.low_rps < from, "{from}: {found:?}");
            assert!(!search.is_futile() || search.early_end().is_some());
        }
        assert!(futile > 0);
    }

    #[test]
    fn a_host_that_lets_nothing_through_leads_to_lower_offers() {
        let mut rates = Vec::new();
        let starved = |rate: f64| {
            rates.push(rate);
            let (vote, achieved_rps) = if rate < 600.0 { (Vote::Pass, rate) } else { (Vote::Unknown, 0.0) };
            Ok::<_, ()>(Outcome { vote, achieved_rps })
        };
        let mut search = MaxSearch::first(0.03);
        search.drive(starved).unwrap();
        assert!(search.interval(0).is_some_and(|found| found.low_rps >= 500.0 * 0.99), "{rates:?}");
        assert!(rates.len() < 40, "{rates:?}");
        // Without the host's part in it, the server is silent.
        let silent = |_| Ok::<_, ()>(Outcome { vote: Vote::Fail, achieved_rps: 0.0 });
        let mut search = MaxSearch::first(0.03);
        search.drive(silent).unwrap();
        assert!(search.interval(0).is_none() && !search.is_futile());
        let mut slow = 0;
        let mut search = MaxSearch::first(0.03);
        let drowned = |_| {
            slow += 1;
            Ok::<_, ()>(Outcome { vote: Vote::Fail, achieved_rps: 0.1 })
        };
        search.drive(drowned).unwrap();
        assert!(search.interval(0).is_none() && slow < 20, "{slow}");
    }

    #[test]
    fn an_offer_that_drowns_the_server_is_followed_by_a_lower_one() {
        // Under extreme overload almost no request is answered, for instance if one machine emulates server and
        // generator.
        let mut rates = Vec::new();
        let drowned = |rate: f64| {
            rates.push(rate);
            let (vote, achieved_rps) = match rate {
                rate if rate <= 300.0 => (Vote::Pass, rate),
                rate if rate <= 10_000.0 => (Vote::Fail, 310.0),
                rate if rate <= 100_000.0 => (Vote::Fail, 40.0),
                _ => (Vote::Unknown, 6.0),
            };
            Ok::<_, ()>(Outcome { vote, achieved_rps })
        };
        let mut search = MaxSearch::first(0.03);
        search.drive(drowned).unwrap();
        let found = search.interval(0).unwrap();
        assert!(found.low_rps <= 300.0 && found.high_rps >= 300.0, "{found:?}");
        assert_eq!(rates[..3], [500_000.0, 50_000.0, 5000.0]);
    }

    #[test]
    fn sessions_are_offered_from_few_on_and_never_far_too_many() {
        for capacity in [0.1, 0.7, 6.5, 40.0] {
            let server = Server { capacity, ..Server::TYPICAL };
            let start = || MaxSearch::first(0.03).offering(SESSIONS);
            let (mut held, mut trials) = (0, 0);
            for seed in 0..200 {
                let (search, rates) = find(&server, start(), seed);
                trials += rates.len();
                assert!(rates.iter().all(|rate| *rate <= (4.0 * capacity).max(0.5)), "{rates:?}");
                assert_eq!(rates[0], 0.5);
                held += usize::from(search.interval(0).is_some_and(|found| {
                    found.low_rps <= 1.015 * capacity && found.high_rps >= 0.985 * capacity
                }));
            }
            assert!(held >= 190, "{capacity}: {held} of 200");
            assert!(trials <= 200 * 24, "{capacity}: {} trials each", trials / 200);
        }
    }

    #[test]
    fn a_search_of_sessions_goes_on_after_what_the_host_did_and_ends_where_nothing_is_sustained() {
        let mut search = MaxSearch::first(0.1).offering(SESSIONS);
        let votes = [Vote::Pass, Vote::Unknown, Vote::Pass, Vote::Unknown, Vote::Unknown, Vote::Unknown];
        let offers: Vec<f64> = votes
            .into_iter()
            .map(|vote| {
                let offer = search.next().unwrap();
                search.enter(Outcome { vote, achieved_rps: offer });
                offer
            })
            .collect();
        assert_eq!(offers, [0.5, 1.0, 1.0, 2.0, 2.0, 2.0]);
        assert_eq!(search.next(), Some(1.5), "between the last sustained and the first that was not");
        assert!(search.note().unwrap().contains("4 of 6 trials said nothing"), "{:?}", search.note());
        let mut search = MaxSearch::first(0.1).offering(SESSIONS);
        search.drive(|rate| Ok::<_, ()>(Outcome { vote: Vote::Fail, achieved_rps: 0.1 * rate })).unwrap();
        assert_eq!(search.interval(0), None);
    }

    #[test]
    fn a_later_block_of_sessions_begins_near_the_earlier_one() {
        for (drift, most) in [(1.0, 4.0), (0.5, 24.0), (3.0, 24.0), (40.0, 28.0)] {
            let server = Server { capacity: 200.0, ..Server::TYPICAL };
            let (low, high) = (198.0 / drift, 202.0 / drift);
            let earlier = MaxThroughput { block: 0, low_rps: low, high_rps: high };
            let start = || MaxSearch::again(&earlier, 0.03).offering(SESSIONS);
            let (held, trials) = score(&server, start, 0.015);
            assert!(held >= 380 && trials <= most, "{drift}: {held} of 400, {trials} trials");
        }
    }

    #[test]
    fn sessions_with_bad_luck_are_found_in_95_of_100_seeds() {
        for luck in
            [Luck { bad: 0.05, good: 0.0, unknown: 0.02 }, Luck { bad: 0.04, good: 0.02, unknown: 0.0 }]
        {
            let server = Server { capacity: 40.0, luck, ..Server::TYPICAL };
            let (held, trials) = score(&server, || MaxSearch::first(0.03).offering(SESSIONS), 0.015);
            assert!(held >= 380 && trials < 26.0, "{luck:?}: {held} of 400, {trials} trials");
        }
    }

    #[test]
    fn finds_the_capacity_of_slow_and_fast_servers_in_95_of_100_seeds() {
        for capacity in [900.0, 23_000.0, 150_000.0, 1_100_000.0, 9_000_000.0] {
            for luck in [
                Luck::NONE,
                Luck { bad: 0.05, good: 0.0, unknown: 0.02 },
                Luck { bad: 0.04, good: 0.04, unknown: 0.0 },
            ] {
                let server = Server { capacity, luck, ..Server::TYPICAL };
                // The edge itself is half a percent wide: see `testing`.
                let (held, trials) = score(&server, || MaxSearch::first(0.03), 0.015);
                assert!(held >= 380, "{capacity} {luck:?}: {held} of 400");
                assert!(trials < 14.0, "{capacity} {luck:?}: {trials} trials");
            }
        }
    }

    #[test]
    fn finds_it_where_an_overload_tells_little() {
        // A server that collapses under overload, and one whose queues flatter its throughput by half.
        for flattered in [0.3, 1.5] {
            let server = Server { flattered, ..Server::TYPICAL };
            let (held, trials) = score(&server, || MaxSearch::first(0.03), 0.015);
            assert!(held >= 380 && trials < 28.0, "{flattered}: {held} of 400, {trials} trials");
        }
    }

    #[test]
    fn a_later_block_takes_two_or_three_trials_and_follows_the_machine() {
        let earlier = |low: f64, high: f64| MaxThroughput { block: 0, low_rps: low, high_rps: high };
        let server = Server { luck: Luck { bad: 0.05, good: 0.02, unknown: 0.01 }, ..Server::TYPICAL };
        let same = earlier(0.985 * server.capacity, 1.012 * server.capacity);
        let (held, trials) = score(&server, || MaxSearch::again(&same, 0.03), 0.015);
        assert!(held >= 380 && trials < 3.0, "{held} of 400, {trials} trials");
        // A single unlucky trial that agrees with the old interval is believed: the price of using two trials.
        for (drift, least) in [(0.5, 350), (0.9, 360), (0.95, 360), (1.1, 380), (1.8, 380)] {
            let drifted = earlier(server.capacity * drift * 0.985, server.capacity * drift * 1.012);
            let (held, trials) = score(&server, || MaxSearch::again(&drifted, 0.03), 0.015);
            assert!(held >= least && trials < 18.0, "{drift}: {held} of 400, {trials} trials");
        }
    }

    #[test]
    fn a_trial_that_says_nothing_is_repeated_and_noted() {
        let mut search = MaxSearch::first(0.03);
        let mut seen = Vec::new();
        let measure = |rate: f64| {
            let first_here = seen.last() != Some(&rate);
            seen.push(rate);
            let vote = match rate {
                rate if rate > 100_500.0 => Vote::Fail,
                _ if first_here => Vote::Unknown,
                _ => Vote::Pass,
            };
            Ok::<_, ()>(Outcome { vote, achieved_rps: rate.min(100_000.0) })
        };
        search.drive(measure).unwrap();
        let found = search.interval(2).unwrap();
        assert_eq!((found.block, found.low_rps), (2, 100_000.0));
        assert!(search.note().unwrap().contains("said nothing"), "{:?}", search.note());
    }

    #[test]
    fn trials_that_the_host_disturbs_do_not_move_the_answer() {
        // Every other trial is disturbed, and a tenth comes out of it.
        let holds = |seed: &u64| {
            let mut machine = Server::TYPICAL.run(*seed);
            let mut search = MaxSearch::first(0.03);
            let mut trials = 0;
            let measure = |rate: f64| {
                trials += 1;
                Ok::<_, ()>(match trials % 2 {
                    0 => machine.throughput(rate),
                    _ => Outcome { vote: Vote::Unknown, achieved_rps: 0.1 * rate },
                })
            };
            search.drive(measure).unwrap();
            assert!(search.note().unwrap().contains("said nothing"), "{:?}", search.note());
            let (found, capacity) = (search.interval(0).unwrap(), Server::TYPICAL.capacity);
            found.low_rps <= 1.015 * capacity && found.high_rps >= 0.985 * capacity
        };
        let held = (0..100).filter(holds).count();
        assert!(held >= 95, "{held} of 100");
    }

    #[test]
    fn a_generator_that_cannot_keep_up_bounds_the_answer_and_is_noted() {
        let mut search = MaxSearch::first(0.03);
        let measure = |rate: f64| {
            let vote = if rate > 80_000.0 { Vote::Unknown } else { Vote::Pass };
            Ok::<_, ()>(Outcome { vote, achieved_rps: rate.min(80_000.0) })
        };
        search.drive(measure).unwrap();
        let found = search.interval(0).unwrap();
        assert!(
            found.low_rps <= 80_000.0 && found.high_rps > 80_000.0 && found.low_rps > 77_000.0,
            "{found:?}"
        );
        assert!(search.note().unwrap().contains("said nothing"));
    }

    #[test]
    fn a_server_that_gives_nothing_has_no_maximum() {
        let mut search = MaxSearch::first(0.03);
        let measure = |_| Ok::<_, ()>(Outcome { vote: Vote::Unknown, achieved_rps: 0.0 });
        search.drive(measure).unwrap();
        assert_eq!(search.interval(0), None);
        let never = |rate| Ok::<_, ()>(Outcome { vote: Vote::Fail, achieved_rps: 0.1 * rate });
        let mut search = MaxSearch::first(0.03);
        search.drive(never).unwrap();
        assert_eq!(search.interval(0), None);
    }

    #[test]
    fn an_error_ends_the_search_at_once() {
        let mut search = MaxSearch::first(0.03);
        let mut n = 0;
        let broken = |_| {
            n += 1;
            Err("no trial was possible")
        };
        assert_eq!(search.drive(broken), Err("no trial was possible"));
        assert_eq!(n, 1);
    }
}
