//! A whole trial in a simulated world: the planted fault, the true figures, and the engine's recording.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Result;
use dist::Streams;
use hist::Latency;
use openloop::{Arrival, Engine, Footing, Load, Plan, Recording, Schedule, judge_strictly};
use reactor::sim::{Costs, Faults, Mishaps, Program, Running, SimReactor, StreamFaults, World};
use reactor::tls::MadeUp;
use reactor::{Address, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use crate::faults::chance::Chance;
use crate::faults::fault::{Figures, Judged};
use crate::faults::peer::{Numbers, Odd, Peer};
use crate::faults::right::{DoseResult, Right};
use crate::faults::service::{Queue, Service};
use crate::known;

/// Start of every warm-up.
pub(crate) const START: Time = Time(1_000_000_000);
/// Longer than the correlation time of queues under the loads below, some 10 ms.
const WARMUP: Nanos = Nanos::from_millis(200);
/// 20 windows of 100 ms, of which the verdict compares the first half with the second.
pub(crate) const WINDOW: Nanos = Nanos::from_secs(2);
/// Enough time to serve any backlog here.
const DRAIN: Nanos = Nanos::from_secs(3);
/// 6 000 requests in the window: 60 lie beyond p99, and a dose takes some ms.
pub(crate) const RPS: f64 = 3_000.0;
/// Utilisations of the server. From the lower one on the true p99 is at least a millisecond, so that the 100 µs that a
/// verdict always allows are at most the 10 % that are allowed here.
const UTILISATIONS: (f64, f64) = (0.45, 0.7);
/// Cost of sending and receiving on one core here (the benchmark `ceiling`, roughly).
const COSTS: Costs = Costs { send: Nanos(4_000), receive: Nanos(1_000) };
/// How often the world checks whether all generators have ended.
const LOOK: Nanos = Nanos::from_millis(10);

/// One simulated trial; a fault modifies it.
#[derive(Clone)]
pub(crate) struct Scene {
    /// The plan of all generators together.
    pub(crate) plan: Plan,
    pub(crate) service: Service,
    pub(crate) odd: Option<Odd>,
    /// The server answers and closes connections at multiples of this period only.
    pub(crate) ends_each: Option<Nanos>,
    /// Whether connections are encrypted.
    pub(crate) tls: bool,
    /// Whether requests are datagrams.
    pub(crate) datagrams: bool,
    /// Faults of the network for datagrams.
    pub(crate) faults: Option<Faults>,
    /// Faults of the network for streams.
    pub(crate) stream_faults: Option<StreamFaults>,
    /// Cost of sending and receiving for each generator.
    pub(crate) costs: Costs,
    /// Pauses of the first generator's machine, with their length; ascending.
    pub(crate) stops: Vec<(Time, Nanos)>,
    /// Clock steps of the generator's machine, with their size; ascending.
    pub(crate) steps: Vec<(Time, Nanos)>,
    /// The generators, which share the load.
    pub(crate) generators: Vec<Generator>,
}

/// One of the generators.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Generator {
    /// When it receives its start time.
    pub(crate) told: Time,
    /// When it starts.
    pub(crate) start: Time,
}

/// Result of a scene.
pub(crate) struct Played {
    load: Load,
    pub(crate) recording: Recording,
    /// Disturbed datagrams, by kind.
    pub(crate) mishaps: Mishaps,
}

impl Generator {
    /// A generator that receives its start time early enough.
    pub(crate) const IN_TIME: Generator = Generator { told: Time(0), start: START };
}

impl Scene {
    /// One generator with one server that keeps up, undisturbed.
    pub(crate) fn new(chance: &mut Chance) -> Result<Scene> {
        let utilisation = chance.between(UTILISATIONS.0, UTILISATIONS.1);
        let plan = known::plan(known::SIMULATED, RPS, chance.seed(), WINDOW)?;
        Ok(Scene {
            plan: Plan { warmup: WARMUP, drain: DRAIN, ..plan },
            service: Service::queue(Nanos((utilisation / RPS * 1e9) as u64), chance.seed()),
            odd: None,
            ends_each: None,
            tls: false,
            datagrams: false,
            faults: None,
            stream_faults: None,
            costs: COSTS,
            stops: Vec::new(),
            steps: Vec::new(),
            generators: vec![Generator::IN_TIME],
        })
    }

    /// The start of the window.
    pub(crate) fn opens(&self) -> Time {
        START + self.plan.warmup
    }

    /// Its end.
    pub(crate) fn closes(&self) -> Time {
        self.opens() + self.plan.window
    }

    /// Share of time in which the server is busy.
    pub(crate) fn utilisation(&self) -> f64 {
        RPS * (self.service.fixed + self.service.mean).as_secs_f64()
    }

    /// All arrivals from the start of the warm-up to the end of the window.
    fn arrivals(&self) -> impl Iterator<Item = Arrival> + use<> {
        let Load::Open { arrivals, .. } = &self.plan.load else { unreachable!("each scene is an open loop") };
        let mut schedule = Schedule::new(arrivals.clone(), &Streams::new(self.plan.seed), START, 0, 1);
        let closes = self.closes();
        std::iter::from_fn(move || Some(schedule.take())).take_while(move |arrival| arrival.intended < closes)
    }

    /// The true response times: from the schedule and the times of a warm server alone, by Lindley's recursion.
    pub(crate) fn truth(&self) -> Latency {
        let mut queue = Queue::new(Service { slow: None, ..self.service.clone() });
        let mut times = Latency::new();
        for Arrival { seq, intended } in self.arrivals() {
            let done = queue.enter(intended, seq);
            if intended >= self.opens() {
                times.record(done.since(intended));
            }
        }
        times
    }

    /// Number of all requests with a misdeed, and their share among those due in the window.
    pub(crate) fn odd_requests(&self) -> (usize, f64) {
        let hit = |arrival: &Arrival| self.odd.is_some_and(|odd| odd.hits(arrival.seq));
        let in_window = |arrival: &Arrival| arrival.intended >= self.opens();
        let all = self.arrivals().filter(hit).count();
        let due = self.arrivals().filter(in_window).count();
        let due_and_hit = self.arrivals().filter(|arrival| in_window(arrival) && hit(arrival)).count();
        (all, due_and_hit as f64 / due.max(1) as f64)
    }

    /// Runs the scene, judges it, and compares it with the truth.
    pub(crate) fn judged(self, dose: String, right: Right) -> Judged {
        let truth = self.truth();
        self.play().judged(dose, &truth, right)
    }

    pub(crate) fn play(self) -> Played {
        let address = match self.datagrams {
            true => Address::Udp(known::SIMULATED),
            false => Address::Tcp(known::SIMULATED),
        };
        let mut plan = self.plan.clone();
        plan.endpoints.iter_mut().for_each(|endpoint| endpoint.address = address.clone());
        let span = plan.warmup + plan.window + plan.drain;
        let mut world = World::new(Nanos::ZERO);
        let usher_machine = world.machine(Costs::default());
        let machines: Vec<SimReactor> = self.generators.iter().map(|_| world.machine(self.costs)).collect();
        let server = world.machine(Costs::default());
        if let Some(faults) = self.faults {
            world.faults(faults);
        }
        if let Some(faults) = self.stream_faults {
            world.stream_faults(faults);
        }
        self.stops.iter().for_each(|(from, length)| world.stall(&machines[0], *from, *length));
        self.steps.iter().for_each(|(at, by)| world.step_clock(&machines[0], *at, *by));
        let running = Rc::new(Cell::new(self.generators.len()));
        let shares = self.generators.len() as u32;
        let players = (0..).zip(&self.generators).map(|(share, generator)| Player {
            engine: Engine::new(Plan { share, shares, ..plan.clone() }, Numbers, Arc::default()),
            generator: *generator,
            started: false,
            running: Rc::clone(&running),
        });
        let players: Vec<Player> = players.collect();
        let peer = Peer::new(self.service, self.odd, self.ends_each);
        let usher = (Usher { running }, usher_machine);
        let limit = START + span + span;
        let recordings = if self.tls {
            let keys = MadeUp::new().expect("the system gives random numbers");
            let machines = machines.into_iter().map(|machine| keys.client(machine)).collect();
            play_on(&mut world, usher, (players, machines), (peer, keys.server(server)), &address, limit)
        } else {
            play_on(&mut world, usher, (players, machines), (peer, server), &address, limit)
        };
        Played { load: self.plan.load, recording: merged(recordings), mishaps: world.mishaps() }
    }
}

/// Runs generators against a server at `address`.
fn play_on<R: Reactor>(
    world: &mut World,
    (mut usher, mut usher_machine): (Usher, SimReactor),
    (mut players, mut machines): (Vec<Player>, Vec<R>),
    (mut peer, mut server): (Peer, R),
    address: &Address,
    limit: Time,
) -> Vec<Recording>
where
    for<'a> (&'a mut Player, &'a mut R): Running,
    for<'a> (&'a mut Peer, &'a mut R): Running,
{
    server.listen(address).expect("a simulated port is free");
    for (player, machine) in players.iter_mut().zip(&mut machines) {
        player.engine.connect(machine).expect("a simulated connection stands");
    }
    let mut usher = (&mut usher, &mut usher_machine);
    let mut generators: Vec<_> = players.iter_mut().zip(&mut machines).collect();
    let mut peer = (&mut peer, &mut server);
    let mut programs: Vec<&mut dyn Running> = vec![&mut usher];
    programs.extend(generators.iter_mut().map(|generator| generator as &mut dyn Running));
    programs.push(&mut peer);
    world.run_all(&mut programs, limit);
    let ended = players.into_iter().zip(&machines);
    ended.map(|(player, machine)| player.engine.finish(machine.now())).collect()
}

/// The recordings of all generators merged, in the same way as those from agents.
fn merged(recordings: Vec<Recording>) -> Recording {
    let many = recordings.len() > 1;
    let mut recordings = recordings.into_iter().map(|mut recording| {
        if many {
            recording.rebase();
        }
        recording
    });
    let mut whole = recordings.next().expect("there is at least one generator");
    recordings.for_each(|part| whole.merge(&part));
    whole
}

impl Played {
    /// The response times that a valid verdict claims: of all windows, or of the undisturbed ones.
    pub(crate) fn claimed(&self) -> Latency {
        Footing::of(&self.recording).claimed()
    }

    /// Judges it by the engine's recording alone, and compares it with the truth.
    pub(crate) fn judged(self, dose: String, truth: &Latency, right: Right) -> Judged {
        let measured = Figures::of(&self.claimed());
        let given = DoseResult::Verdict(judge_strictly(&self.recording, &self.load, Vec::new()));
        Judged { dose, right, given, truth: Figures::of(truth), measured }
    }
}

/// Ends the world when the last generator has ended.
struct Usher {
    running: Rc<Cell<usize>>,
}

impl Handler<SimReactor> for Usher {
    fn event(&mut self, _: &mut SimReactor, _: Event<'_>) {}
}

impl Program for Usher {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        let until = reactor.now() + LOOK;
        reactor.poll(Wait::Sleep(until), self).expect("a simulated poll cannot fail");
        self.running.get() > 0
    }
}

/// A generator in the simulated world.
struct Player {
    engine: Engine<Numbers>,
    generator: Generator,
    started: bool,
    running: Rc<Cell<usize>>,
}

impl<R: Reactor> Program<R> for Player {
    fn step(&mut self, reactor: &mut R) -> bool {
        if !self.started && self.engine.is_ready() && reactor.now() >= self.generator.told {
            self.started = true;
            self.engine.start(self.generator.start);
        }
        let goes_on = self.engine.step(reactor).expect("a simulated poll cannot fail");
        if !goes_on {
            self.running.set(self.running.get() - 1);
        }
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two independent methods for the same figures: the engine in its world, and a recursion without either.
    #[test]
    fn an_undisturbed_scene_measures_what_the_recursion_computes() {
        let mut chance = Chance::of(1, "scene", 0);
        let mut scene = Scene::new(&mut chance).unwrap();
        scene.costs = Costs::default();
        let truth = scene.truth();
        let Played { recording, .. } = scene.play();
        assert_eq!(recording.tally.completed, truth.count());
        assert!(recording.all().response_time == truth, "each of them, to the nanosecond");
    }

    #[test]
    fn generators_that_share_a_load_measure_the_same() {
        let mut chance = Chance::of(1, "scene", 1);
        let mut scene = Scene::new(&mut chance).unwrap();
        (scene.costs, scene.generators) = (Costs::default(), vec![Generator::IN_TIME; 3]);
        let truth = scene.truth();
        let Played { recording, .. } = scene.play();
        assert_eq!(recording.threads, 3);
        assert!(recording.all().response_time == truth);
    }
}
