use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dist::Process;
use openloop::{Binding, Endpoint, Engine, Load, Pace, Plan, Recording, Tally};
use reactor::sim::{Costs, Program, SimReactor, World};
use reactor::{Address, Reactor};
use spec::workload::{SocialLimits, SocialMix};
use units::{Nanos, Rate, Time};
use workloads::social::{Known, Share, Site, Social, SocialConfig, log_in};

use crate::site::{Direct, FakeSite, Fault, Logic};

/// The moment at which every simulated run starts.
pub(crate) const START: Time = Time(1_000_000_000);

/// A simulated experiment; change what the test is about.
pub(crate) struct Setup {
    pub(crate) config: SocialConfig,
    pub(crate) plan: Plan,
    pub(crate) takes: Nanos,
    pub(crate) fault: Option<(u64, Fault)>,
    pub(crate) stall: Option<(Time, Nanos)>,
}

/// What came of it: what was recorded, and what the site saw.
pub(crate) struct Ran {
    pub(crate) recording: Recording,
    pub(crate) logic: Rc<RefCell<Logic>>,
}

impl Setup {
    /// So many users a second for 30 s after a second of warm-up, each of whom does 20 operations a quarter of a second apart;
    /// the site takes 1 ms for each request.
    pub(crate) fn new(users_per_s: f64, seed: u64) -> Setup {
        println!("seed {seed}");
        Setup {
            config: SocialConfig {
                url: Some("http://10.0.0.1:80".parse().unwrap()),
                users: 1_000,
                users_seed: 1,
                mix: SocialMix::default().of_sessions(20.0).unwrap(),
                limits: SocialLimits::default(),
                ajax: None,
                think: Nanos::from_millis(250),
                site: Arc::new(Site::of(&spec::workload::Site::Own).unwrap()),
                assets: true,
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

    /// The same as a closed loop of so many users.
    pub(crate) fn closed(mut self, users: u32) -> Setup {
        self.config.population = Some(users);
        self.plan.load = Load::Closed { think: self.config.think };
        self.plan.clients = Some(users as usize);
        self
    }

    /// Runs it to the end.
    pub(crate) fn run(&self) -> Ran {
        let logic = Rc::new(RefCell::new(Logic::default()));
        let mut world = World::new(Nanos::ZERO);
        let mut client = world.machine(Costs::default());
        let mut machine = world.machine(Costs::default());
        machine.listen(&self.plan.endpoints[0].address).unwrap();
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
        let mut engine = Engine::new(self.plan.clone(), social, Arc::new(AtomicBool::new(false)));
        engine.connect(&mut client).unwrap();
        let mut generator = Generator { engine, started: false };
        let limit = START + Nanos(2 * (self.plan.warmup + self.plan.window + self.plan.drain).0);
        let mut programs: [(&mut dyn Program, &mut SimReactor); 2] =
            [(&mut generator, &mut client), (&mut site, &mut machine)];
        world.run(&mut programs, limit);
        let now = client.now();
        let recording = generator.engine.finish(now);
        drop(site);
        Ran { recording, logic }
    }
}

struct Generator {
    engine: Engine<Social>,
    started: bool,
}

impl Program for Generator {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.engine.is_ready() && !std::mem::replace(&mut self.started, true) {
            self.engine.start(START);
        }
        self.engine.step(reactor).unwrap()
    }
}

/// What a counter says: how many, of how many.
pub(crate) fn counter(recording: &Recording, name: &str) -> (u64, u64) {
    let found = recording.counters.iter().find(|(known, ..)| known == name);
    found.map(|(_, count, of)| (*count, *of)).unwrap_or_else(|| panic!("there is no {name}"))
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
    for operation in &recording.operations {
        let (within, due) = counter(recording, &format!("within.{}", operation.name));
        assert_eq!(due, operation.tally.intended, "{}", operation.name);
        assert!(within <= operation.tally.completed, "{}", operation.name);
    }
    let sessions = recording.sessions;
    assert_eq!(sessions.begun + sessions.underway, sessions.ended + sessions.cut, "{sessions:?}");
}
