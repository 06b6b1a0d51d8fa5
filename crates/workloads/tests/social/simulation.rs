use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use dist::Process;
use openloop::{Binding, Endpoint, Load, Pace, Plan, Recording, Tally, WhenAbsent};
use reactor::Address;
use spec::workload;
use units::{Nanos, Rate, Time};
use workloads::social::{Known, Share, Site, Social, SocialConfig, log_in};

use crate::simulated::{Direct, FakeSite, counter};
use crate::social::site::{Fault, Logic};

/// A simulated experiment; a test changes the fields that it is about.
pub(crate) struct Setup {
    pub(crate) config: SocialConfig,
    pub(crate) plan: Plan,
    pub(crate) takes: Nanos,
    pub(crate) fault: Option<(u64, Fault)>,
    pub(crate) stall: Option<(Time, Nanos)>,
}

/// The result: the recording, and the site's state.
pub(crate) struct Ran {
    pub(crate) recording: Recording,
    pub(crate) logic: Rc<RefCell<Logic>>,
}

impl Setup {
    /// `users_per_s` users a second for 30 s after a second of warm-up, each of whom does 20 operations a quarter of a
    /// second apart; the site takes 1 ms for each request.
    pub(crate) fn new(users_per_s: f64, seed: u64) -> Setup {
        println!("seed {seed}");
        Setup {
            config: SocialConfig {
                url: Some("http://10.0.0.1:80".parse().unwrap()),
                options: workload::Social {
                    users: workload::Users(1_000),
                    mix: workload::SocialMix::default().of_sessions(20.0).unwrap(),
                    think_time: Nanos::from_millis(250),
                    ..workload::Social::default()
                },
                site: Arc::new(Site::of(&workload::Site::Own).unwrap()),
                users_per_s,
                population: None,
                seed,
            },
            plan: Plan {
                endpoints: vec![Endpoint {
                    address: Address::Tcp("10.0.0.1:80".parse().unwrap()),
                    connections: 0,
                }],
                load: Load::steady(Process::Poisson, Rate::new(users_per_s).unwrap()),
                clients: None,
                seed,
                share: 0,
                shares: 1,
                sessions: Some(1_000),
                depth: 1,
                per_connection: None,
                binding: Binding::Random,
                pace: Pace::Sleep,
                when_absent: WhenAbsent::Send,
                warmup: Nanos::from_secs(1),
                window: Nanos::from_secs(30),
                drain: Nanos::from_secs(3),
                timeout: Nanos::from_secs(5),
            },
            takes: Nanos::from_millis(1),
            fault: None,
            stall: None,
        }
    }

    /// The same as a closed loop of `users` users.
    pub(crate) fn closed(mut self, users: u32) -> Setup {
        self.config.population = Some(users);
        self.plan.load = Load::Closed { think: self.config.options.think_time };
        self.plan.clients = Some(users as usize);
        self
    }

    /// Runs it to the end.
    pub(crate) fn run(&self) -> Ran {
        let logic = Rc::new(RefCell::new(Logic::default()));
        let known = Arc::new(Known::new(&self.config, "run").unwrap());
        let population = self.config.population.unwrap_or(0);
        let share = Share { thread: self.plan.share, threads: self.plan.shares, population };
        let log_in = |user: &u32| log_in(&known, *user, &mut || Ok(Direct::new(&logic))).unwrap();
        let ready = known.logged_in_before(share).iter().map(log_in).collect();
        logic.borrow_mut().fault = self.fault;
        logic.borrow_mut().log.clear();
        let mut site = FakeSite::new(Rc::clone(&logic), self.takes);
        site.stall = self.stall;
        let social = Social::new(&known, share, ready);
        let recording = crate::simulated::run(&self.plan, social, &mut site, Nanos::ZERO);
        drop(site);
        Ran { recording, logic }
    }
}

/// Asserts that every operation that was due ended as one of the four and was judged, and every session as one of its own.
#[track_caller]
pub(crate) fn assert_accounted(recording: &Recording) {
    let Tally { intended, completed, errors, timeouts, unfinished } = recording.tally;
    assert_eq!(completed + errors + timeouts + unfinished, intended, "{:?}", recording.tally);
    let of_operations: u64 = recording.operations.iter().map(|one| one.tally.intended).sum();
    assert_eq!(of_operations, intended, "each step has its operation");
    let (within, due) = counter(recording, "within");
    assert_eq!(due, intended, "each operation that was due is judged");
    assert!(within <= completed, "{within} of {completed}");
    // The site has no others, which are not counted.
    for operation in recording.operations.iter().filter(|one| one.tally.intended > 0) {
        let (within, due) = counter(recording, &format!("within.{}", operation.name));
        assert_eq!(due, operation.tally.intended, "{}", operation.name);
        assert!(within <= operation.tally.completed, "{}", operation.name);
    }
    let sessions = recording.sessions;
    assert_eq!(sessions.begun + sessions.underway, sessions.ended + sessions.cut, "{sessions:?}");
}
