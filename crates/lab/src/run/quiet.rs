//! Waits until others leave the processors of a measurement alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use host::cpu_time::{ProcessTicks, Sample, Ticks};

use super::progress::Tracker;
use crate::{Error, Interrupt};

/// Between two looks at the kernel's counters, which tick at 10 ms: a processor's share is exact to 2 %.
const LOOK: Duration = Duration::from_millis(500);
/// So many looks in a row must find the host quiet: a compiler pauses between two files.
const QUIET_LOOKS: u32 = 2;
/// From this share of a processor's time on, others disturb what runs there.
///
/// Source: that of the windows of a trial that foreign load disturbs (`crates/trial/src/noise.rs`).
const TAKEN: f64 = 0.10;
/// A process is named from this share of one processor on.
const NAMED: f64 = 0.10;
/// Names that a note has room for.
const NAMES: usize = 3;

/// The processors that a measurement uses on this machine, and the processes that are its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// Those of servers that were started here; `None` where none was.
    pub(super) server: Option<Vec<usize>>,
    /// Those of the generator; `None` where it runs elsewhere.
    pub(super) generator: Option<Vec<usize>>,
    /// The servers' processes.
    pub(super) pids: Vec<u32>,
}

/// What others did on the processors of a measurement since the look before.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// The share of a processor's time that others took, of the one that suffered most, 0 to 1.
    pub(super) taken: f64,
    /// Processes that are not the measurement's, and the share of one processor that each used, the busiest first.
    pub(super) busiest: Vec<(String, f64)>,
}

/// What looks, and lets time pass between.
pub(super) trait Look: Send {
    /// What others did since the last call; `None` at the first, and where it cannot be known.
    fn look(&mut self, places: &Places) -> Option<Seen>;

    /// Lets time pass.
    fn pause(&mut self, time: Duration);
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Waited {
    /// The host is quiet, as far as can be seen.
    Quiet,
    /// It was not within the time; what others did last, in words.
    Restless(String),
}

/// Waits until the processors of `places` are quiet, at most for `most`, and shows that as progress.
///
/// Errors: the run was interrupted.
pub(super) fn wait(
    look: &mut dyn Look,
    places: &Places,
    most: Duration,
    interrupt: &Interrupt,
    track: &mut Tracker<'_>,
) -> Result<Waited, Error> {
    look.look(places);
    let (started, mut quiet, mut last) = (Instant::now(), 0, None);
    let looks = (most.as_secs_f64() / LOOK.as_secs_f64()).ceil() as u32;
    for _ in 0..looks.saturating_add(QUIET_LOOKS) {
        if let Some(cause) = interrupt.cause() {
            return Err(Error::Interrupted(cause));
        }
        look.pause(LOOK);
        let Some(seen) = look.look(places) else { return Ok(Waited::Quiet) };
        quiet = if seen.taken < TAKEN { quiet + 1 } else { 0 };
        if quiet >= QUIET_LOOKS {
            return Ok(Waited::Quiet);
        }
        if seen.taken >= TAKEN {
            if last.is_none() {
                let (what, most) = (seen.words(), most.as_secs_f64());
                track.phase(format!("waits up to {most:.0} s for a quiet host: {what}"));
            }
            last = Some(seen);
        }
        track.tick(started, &[]);
    }
    Ok(Waited::Restless(last.unwrap_or_default().words()))
}

impl Seen {
    /// `others took 98 % of a processor (rustc 97 %, sh 40 %)`.
    fn words(&self) -> String {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let names: Vec<String> =
            self.busiest.iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect();
        let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        format!("others took {} of a processor of the measurement{names}", percent(self.taken))
    }
}

/// Looks at `/proc`.
#[derive(Default)]
pub(super) struct Kernel {
    before: Option<Point>,
}

/// The counters at one moment.
struct Point {
    all: Sample,
    /// Of each process: its name, and its ticks.
    processes: BTreeMap<u32, (String, u64)>,
}

impl Look for Kernel {
    fn look(&mut self, places: &Places) -> Option<Seen> {
        let root = Path::new("/");
        let now = Point { all: Sample::read(root).ok()?, processes: processes(root) };
        let before = self.before.replace(now)?;
        seen(&before, self.before.as_ref()?, places)
    }

    fn pause(&mut self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The processes below `root`. Cost: some 20 µs each.
fn processes(root: &Path) -> BTreeMap<u32, (String, u64)> {
    let entries = std::fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let process = |pid: u32| {
        let name = std::fs::read_to_string(root.join(format!("proc/{pid}/comm"))).ok()?;
        Some((pid, (name.trim().to_owned(), ProcessTicks::read(root, pid).ok()?.own)))
    };
    pids.filter_map(process).collect()
}

/// What others did between two moments; `None` where no time has passed, or nothing of the measurement is here.
fn seen(before: &Point, after: &Point, places: &Places) -> Option<Seen> {
    let used = |cpu: usize| Some(after.all.cpus.get(&cpu)?.since(*before.all.cpus.get(&cpu)?));
    let ticks = |pid: u32| {
        let (_, now) = after.processes.get(&pid)?;
        Some(now.saturating_sub(before.processes.get(&pid)?.1))
    };
    // While nothing is measured, the generator does not run: what its processors do is others' work.
    let alone = places.generator.iter().flatten().filter(|cpu| !places.of_server(**cpu));
    let alone = alone.filter_map(|cpu| share(used(*cpu)?, 0)).reduce(f64::max);
    // A server may look for requests all the time; which of its processors it does that on is not known.
    let own: u64 = places.pids.iter().filter_map(|pid| ticks(*pid)).sum();
    let of_server = places.server.iter().flatten().filter_map(|cpu| used(*cpu));
    let of_server = of_server.reduce(Ticks::plus).and_then(|used| share(used, own));
    let taken = alone.into_iter().chain(of_server).reduce(f64::max)?;
    let elapsed = after.all.cpus.keys().filter_map(|cpu| used(*cpu)).map(|used| used.all()).max()?.max(1);
    let ours = |pid: &u32| *pid == std::process::id() || places.pids.contains(pid);
    let mut busiest: Vec<(String, f64)> = after
        .processes
        .iter()
        .filter(|(pid, _)| !ours(pid))
        .filter_map(|(pid, (name, _))| Some((name.clone(), ticks(*pid)? as f64 / elapsed as f64)))
        .filter(|(_, share)| *share >= NAMED)
        .collect();
    busiest.sort_by(|a, b| b.1.total_cmp(&a.1));
    busiest.truncate(NAMES);
    Some(Seen { taken, busiest })
}

/// The share of others, of processors that did `used`; `None` where no time has passed.
fn share(used: Ticks, own: u64) -> Option<f64> {
    let others = used.process.saturating_sub(own) + used.steal;
    (used.all() > 0).then(|| others as f64 / used.all() as f64)
}

impl Places {
    fn of_server(&self, cpu: usize) -> bool {
        self.server.as_ref().is_some_and(|cpus| cpus.contains(&cpu))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{Event, Progress, Unwatched, Where};

    /// A host that is as `script` says, look by look, and at last stays so; no time passes.
    pub(crate) struct Scripted(pub(crate) Vec<f64>);

    impl Look for Scripted {
        fn look(&mut self, _: &Places) -> Option<Seen> {
            let taken = if self.0.len() > 1 { self.0.remove(0) } else { self.0[0] };
            Some(Seen { taken, busiest: vec![("rustc".into(), taken)] })
        }

        fn pause(&mut self, _: Duration) {}
    }

    fn waited(script: &[f64], seconds: u64) -> Waited {
        let (mut look, interrupt) = (Scripted(script.to_vec()), Interrupt::new());
        let mut unwatched = Unwatched;
        let track = &mut Tracker::of_one(&mut unwatched);
        wait(&mut look, &Places::default(), Duration::from_secs(seconds), &interrupt, track).unwrap()
    }

    #[test]
    fn waits_until_it_is_quiet_and_not_for_ever() {
        // The first look only begins.
        assert_eq!(waited(&[1.0, 0.0], 1), Waited::Quiet);
        assert_eq!(waited(&[1.0, 0.9, 0.9, 0.01, 0.05], 10), Waited::Quiet);
        let Waited::Restless(words) = waited(&[0.98], 10) else { panic!("it is not quiet") };
        assert_eq!(words, "others took 98 % of a processor of the measurement (rustc 98 %)");
        // A pause of one look is none.
        assert!(matches!(waited(&[0.9, 0.9, 0.0, 0.9, 0.0, 0.9], 2), Waited::Restless(_)));
    }

    #[test]
    fn an_interrupt_ends_the_wait() {
        let interrupt = Interrupt::new();
        interrupt.raise();
        let mut unwatched = Unwatched;
        let track = &mut Tracker::of_one(&mut unwatched);
        let look = &mut Scripted(vec![1.0]);
        let error = wait(look, &Places::default(), Duration::MAX, &interrupt, track).unwrap_err();
        assert!(error.is_interrupt());
    }

    #[test]
    fn the_wait_is_shown() {
        struct Phases(Vec<String>);
        impl Progress for Phases {
            fn event(&mut self, event: &Event<'_>, _: &Where) {
                if let Event::Phase(words) = event {
                    self.0.push((*words).to_owned());
                }
            }
        }
        let mut phases = Phases(Vec::new());
        let track = &mut Tracker::of_one(&mut phases);
        let look = &mut Scripted(vec![0.5]);
        wait(look, &Places::default(), Duration::from_secs(3), &Interrupt::new(), track).unwrap();
        let [said] = &phases.0[..] else { panic!("{:?}", phases.0) };
        assert!(said.starts_with("waits up to 3 s for a quiet host: others took 50 %"), "{said}");
    }

    fn point(cpus: &[(u64, u64, u64)], processes: &[(u32, &str, u64)]) -> Point {
        let ticks =
            |&(process, idle, steal): &(u64, u64, u64)| Ticks { process, idle, steal, ..Ticks::default() };
        let processes = processes.iter().map(|(pid, name, ticks)| (*pid, ((*name).to_owned(), *ticks)));
        Point {
            all: Sample { cpus: cpus.iter().map(ticks).enumerate().collect() },
            processes: processes.collect(),
        }
    }

    #[test]
    fn only_the_processors_of_the_measurement_count_and_not_its_own_processes() {
        let before = point(&[(0, 0, 0); 4], &[(7, "sphinxd", 0), (8, "rustc", 0), (9, "sleepy", 0)]);
        let check = |cpus: &[(u64, u64, u64)], server: u64, places: &Places, expect: Option<f64>| {
            let after = point(cpus, &[(7, "sphinxd", server), (8, "rustc", 90), (9, "sleepy", 1)]);
            assert_eq!(seen(&before, &after, places).map(|seen| seen.taken), expect, "{cpus:?}");
        };
        let places = |server: Option<&[usize]>, generator: Option<&[usize]>| Places {
            server: server.map(<[usize]>::to_vec),
            generator: generator.map(<[usize]>::to_vec),
            pids: vec![7],
        };
        let both = places(Some(&[0, 1]), Some(&[3]));
        let (idle, busy) = ((0, 100, 0), (90, 10, 0));
        check(&[idle, idle, busy, idle], 0, &both, Some(0.0));
        check(&[idle, idle, idle, busy], 0, &both, Some(0.9));
        check(&[busy, idle, idle, idle], 0, &both, Some(0.45));
        // A server that looks for requests all the time.
        check(&[busy, idle, idle, idle], 90, &both, Some(0.0));
        check(&[(0, 70, 30), (0, 70, 30), idle, idle], 0, &both, Some(0.3));
        check(&[busy, busy, busy, busy], 0, &places(None, Some(&[3])), Some(0.9));
        check(&[busy, busy, busy, busy], 180, &places(Some(&[0, 1]), None), Some(0.0));
        check(&[busy, busy, busy, busy], 0, &places(None, None), None);
        check(&[(0, 0, 0); 4], 0, &both, None);
        let after = point(&[busy; 4], &[(7, "sphinxd", 50), (8, "rustc", 90), (9, "sleepy", 1)]);
        assert_eq!(seen(&before, &after, &both).unwrap().busiest, [("rustc".to_owned(), 0.9)]);
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let places = Places { generator: Some(crate::allowed_cpus()), ..Places::default() };
        let mut kernel = Kernel::default();
        assert_eq!(kernel.look(&places), None, "the first look only begins");
        // Until the kernel's counters have moved, at most some 10¹⁰ turns.
        let seen = (0..10_000_u64).find_map(|n| {
            std::hint::black_box((0..1_000_000_u64).fold(n, |a, b| a ^ b.wrapping_mul(n)));
            kernel.look(&places)
        });
        let taken = seen.expect("time has passed").taken;
        assert!((0.0..=1.0).contains(&taken), "{taken}");
    }
}
