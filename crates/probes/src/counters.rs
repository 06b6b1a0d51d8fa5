//! Counters of processor and kernel over the server's threads.

mod slots;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use nix::libc;
use perf_event_open_sys::bindings as perf;
use results::Probes;
use results::probes::{Counter, Missing};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::instrument::{Instrument, Reading, Summed};
use crate::perf::{Event, EventCount, READ_TIMES, hint};
use crate::subject::Subject;
use spec::Probe;

/// Descriptors that events leave to the rest of the program: its generator, other probes and files. Source: ours.
const LEFT_TO_OTHERS: u64 = 256;

/// A source of counts: kind and number in the kernel, and our name.
struct Source {
    kind: u32,
    number: u64,
    name: &'static str,
    /// Whether it counts in the kernel only.
    in_kernel: bool,
    /// Value of one count.
    scale: u64,
}

/// A cache's misses on reading. Source: `perf_event_open(2)`, the encoding of `PERF_TYPE_HW_CACHE`.
const fn misses(cache: u32, name: &'static str) -> Source {
    let (read, miss) = (perf::PERF_COUNT_HW_CACHE_OP_READ, perf::PERF_COUNT_HW_CACHE_RESULT_MISS);
    Source {
        kind: perf::PERF_TYPE_HW_CACHE,
        number: (cache | read << 8 | miss << 16) as u64,
        name,
        in_kernel: false,
        scale: 1,
    }
}

const fn hardware(number: u32, name: &'static str) -> Source {
    Source { kind: perf::PERF_TYPE_HARDWARE, number: number as u64, name, in_kernel: false, scale: 1 }
}

const fn software(number: u32, name: &'static str) -> Source {
    Source { kind: perf::PERF_TYPE_SOFTWARE, number: number as u64, name, in_kernel: false, scale: 1 }
}

const CYCLES: &str = "cycles";
const INSTRUCTIONS: &str = "instructions";
const KERNEL_INSTRUCTIONS: &str = "kernel_instructions";

const SOURCES: [Source; 15] = [
    hardware(perf::PERF_COUNT_HW_CPU_CYCLES, CYCLES),
    hardware(perf::PERF_COUNT_HW_INSTRUCTIONS, INSTRUCTIONS),
    Source { in_kernel: true, ..hardware(perf::PERF_COUNT_HW_INSTRUCTIONS, KERNEL_INSTRUCTIONS) },
    hardware(perf::PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "frontend_stalls"),
    hardware(perf::PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "backend_stalls"),
    hardware(perf::PERF_COUNT_HW_BRANCH_MISSES, "branch_misses"),
    misses(perf::PERF_COUNT_HW_CACHE_L1I, "l1i_misses"),
    Source { in_kernel: true, ..misses(perf::PERF_COUNT_HW_CACHE_L1I, "kernel_l1i_misses") },
    misses(perf::PERF_COUNT_HW_CACHE_L1D, "l1d_misses"),
    misses(perf::PERF_COUNT_HW_CACHE_LL, "llc_misses"),
    misses(perf::PERF_COUNT_HW_CACHE_DTLB, "dtlb_misses"),
    misses(perf::PERF_COUNT_HW_CACHE_ITLB, "itlb_misses"),
    software(perf::PERF_COUNT_SW_PAGE_FAULTS, "page_faults"),
    software(perf::PERF_COUNT_SW_CONTEXT_SWITCHES, "context_switches"),
    software(perf::PERF_COUNT_SW_CPU_MIGRATIONS, "cpu_migrations"),
];

struct Counters {
    subject: Subject,
    /// The available sources.
    sources: Vec<Source>,
    /// The counted threads; some start late.
    threads: BTreeSet<u32>,
    events: Vec<Counting>,
    before: CounterSums,
    /// Counters that were refused on some threads, and the last reason.
    refused: BTreeSet<&'static str>,
    why: String,
}

/// One event of one thread.
struct Counting {
    name: &'static str,
    scale: u64,
    /// Index of its service; `None` for a target of one service.
    service: Option<usize>,
    event: Event,
}

type Sums = BTreeMap<&'static str, EventCount>;

/// Sums over all threads, and over the threads of each service.
#[derive(Clone, Debug, Default, PartialEq)]
struct CounterSums {
    all: Sums,
    services: BTreeMap<String, Sums>,
    /// The same as in [`Counters`].
    refused: BTreeSet<&'static str>,
    why: String,
}

/// The available events, and the missing ones.
struct Opened<E> {
    /// Each with the indices of its source and its thread.
    events: Vec<(usize, usize, E)>,
    /// Counters that this machine lacks.
    absent: Vec<&'static str>,
    /// Counters that were refused on some threads, and the last reason.
    refused: Vec<&'static str>,
    why: Option<io::Error>,
}

/// Opens each source on each thread.
fn all<E>(
    sources: &[Source],
    threads: &[u32],
    mut open: impl FnMut(&Source, u32) -> io::Result<E>,
) -> Opened<E> {
    let mut opened = Opened { events: Vec::new(), absent: Vec::new(), refused: Vec::new(), why: None };
    for (place, source) in sources.iter().enumerate() {
        let before = opened.events.len();
        let (mut lacks, mut is_refused) = (false, false);
        for (thread, tid) in threads.iter().enumerate() {
            let error = match open(source, *tid) {
                Ok(event) => {
                    opened.events.push((place, thread, event));
                    continue;
                }
                Err(error) => error,
            };
            match error.raw_os_error() {
                // The thread ended in between.
                Some(libc::ESRCH) => {}
                Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::EINVAL) => lacks = true,
                _ => {
                    is_refused = true;
                    opened.why = Some(error);
                }
            }
        }
        if is_refused {
            opened.refused.push(source.name);
        } else if lacks && opened.events.len() == before {
            opened.absent.push(source.name);
        }
    }
    opened
}

/// Opens every available counter; the others are listed in `missing`, once.
pub(crate) fn open(
    subject: &Subject,
    missing: &mut Vec<Missing>,
) -> Result<Box<dyn Instrument>, Vec<Missing>> {
    Ok(Box::new(Counters::open(subject, missing)?))
}

impl Counters {
    fn open(subject: &Subject, missing: &mut Vec<Missing>) -> Result<Counters, Vec<Missing>> {
        let mut counters = Counters {
            subject: subject.clone(),
            sources: SOURCES.into_iter().chain(slots::sources(Path::new("/"))).collect(),
            threads: BTreeSet::new(),
            events: Vec::new(),
            before: CounterSums::default(),
            refused: BTreeSet::new(),
            why: String::new(),
        };
        let (absent, why) = counters.open_threads();
        let probe = Probe::Counters.name().to_owned();
        if counters.events.is_empty() {
            let what = match why {
                Some(error) => hint(&error),
                None if absent.is_empty() => {
                    "the server's processes: none is known to listen at its address on this machine".into()
                }
                None => "a kernel with CONFIG_PERF_EVENTS".into(),
            };
            return Err(vec![Missing { probe, what, disables: "every counter".into() }]);
        }
        counters.sources.retain(|source| !absent.contains(&source.name));
        if !absent.is_empty() {
            let what = if absent.contains(&CYCLES) {
                "the processor's own counters: a machine without a hypervisor, or one that passes them on (vPMU)"
            } else {
                "some of the processor's counters, which this kind of processor does not have"
            };
            missing.push(Missing {
                probe: format!("{probe}: hardware"),
                what: what.into(),
                disables: absent.join(", "),
            });
        }
        Ok(counters)
    }

    /// Opens every source on each new thread. Returns the sources that no thread has, and the last error.
    fn open_threads(&mut self) -> (Vec<&'static str>, Option<io::Error>) {
        let threads = host::threads::of(Path::new("/"), &self.subject.pids);
        let (pids, tids): (Vec<u32>, Vec<u32>) =
            threads.into_iter().filter(|(_, tid)| !self.threads.contains(tid)).unzip();
        let mut room = descriptors_left();
        let Opened { events, absent, refused, why } = all(&self.sources, &tids, |source, tid| {
            room = room.checked_sub(1).ok_or_else(|| io::Error::from_raw_os_error(libc::EMFILE))?;
            let mut attributes = perf::perf_event_attr {
                type_: source.kind,
                config: source.number,
                read_format: READ_TIMES,
                ..perf::perf_event_attr::default()
            };
            attributes.set_exclude_user(source.in_kernel.into());
            Event::open(attributes, tid)
        });
        self.threads.extend(&tids);
        let services = &self.subject.services;
        let service = |pid: u32| services.iter().position(|(_, pids)| pids.contains(&pid));
        let counting = |(source, thread, event): (usize, usize, Event)| {
            let Source { name, scale, .. } = self.sources[source];
            Counting { name, scale, service: service(pids[thread]), event }
        };
        self.events.extend(events.into_iter().map(counting));
        self.refused.extend(refused);
        if let Some(error) = &why {
            self.why = error.to_string();
        }
        (absent, why)
    }

    fn read(&self) -> CounterSums {
        let mut counts = CounterSums::default();
        for Counting { name, scale, service, event } in &self.events {
            let counted = event.read().unwrap_or_default();
            let counted = EventCount { count: counted.count.saturating_mul(*scale), ..counted };
            add(&mut counts.all, name, counted);
            if let Some((service, _)) = service.and_then(|place| self.subject.services.get(place)) {
                add(counts.services.entry(service.clone()).or_default(), name, counted);
            }
        }
        counts
    }
}

/// Limit of open events, one descriptor each: all descriptors that this process may have, after raising its soft limit
/// to the hard limit.
fn descriptors_left() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    let Some(limit) = (if raised { maximum } else { current }) else { return u64::MAX };
    let open = fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
    limit.saturating_sub(open + LEFT_TO_OTHERS)
}

fn add(sums: &mut Sums, name: &'static str, more: EventCount) {
    let sum = sums.entry(name).or_default();
    *sum = sum.plus(more);
}

/// The increase since `before`.
fn since(now: &mut Sums, before: Option<&Sums>) {
    for (name, count) in now {
        *count = count.since(before.and_then(|before| before.get(name)).copied().unwrap_or_default());
    }
}

impl Instrument for Counters {
    fn probe(&self) -> Probe {
        Probe::Counters
    }

    fn resume(&mut self) -> io::Result<()> {
        self.open_threads();
        self.before = self.read();
        self.events.iter().try_for_each(|counting| counting.event.enable())
    }

    fn pause(&mut self) -> Box<dyn Reading> {
        // A thread that has ended no longer counts, so errors are ignored.
        self.events.iter().for_each(|counting| drop(counting.event.disable()));
        let mut counts = self.read();
        since(&mut counts.all, Some(&self.before.all));
        for (service, sums) in &mut counts.services {
            since(sums, self.before.services.get(service));
        }
        Box::new(CounterSums { refused: self.refused.clone(), why: self.why.clone(), ..counts })
    }
}

/// Figures of the counters, and the counters that were enabled and never counted.
fn figures(sums: &Sums, observed_s: f64) -> (Vec<Counter>, Vec<&'static str>) {
    let of = |name: &str| sums.get(name).and_then(|counted| counted.scaled());
    let mut all = Vec::new();
    let mut enter = |name: String, value: f64| all.push(Counter { name, value });
    let instructions = of(INSTRUCTIONS).filter(|count| *count > 0.0);
    let cycles = of(CYCLES).filter(|count| *count > 0.0);
    if let Some((instructions, cycles)) = instructions.zip(cycles) {
        enter("ipc".into(), instructions / cycles);
    }
    let mut never = Vec::new();
    for (name, counted) in sums {
        let Some(count) = counted.scaled() else {
            never.push(*name);
            continue;
        };
        match (*name, instructions, cycles) {
            (name, ..) if slots::is_one(name) => {}
            (KERNEL_INSTRUCTIONS, Some(instructions), _) => {
                enter("kernel_instruction_share".into(), count / instructions);
            }
            (CYCLES | INSTRUCTIONS, ..) => enter(format!("{name}_per_s"), count / observed_s),
            (name, _, Some(cycles)) if name.ends_with("_stalls") => {
                enter(format!("{name}_share"), count / cycles)
            }
            (name, Some(instructions), _) if name.ends_with("_misses") => {
                enter(format!("{name}_per_kilo_instruction"), 1e3 * count / instructions);
            }
            (name, ..) => enter(format!("{name}_per_s"), count / observed_s),
        }
    }
    all.extend(slots::shares(of));
    (all, never)
}

impl Summed for CounterSums {
    fn merge(&mut self, other: &CounterSums) {
        other.all.iter().for_each(|(name, more)| add(&mut self.all, name, *more));
        for (service, sums) in &other.services {
            let into = self.services.entry(service.clone()).or_default();
            sums.iter().for_each(|(name, more)| add(into, name, *more));
        }
        self.refused.extend(&other.refused);
        if !other.why.is_empty() {
            self.why.clone_from(&other.why);
        }
    }

    fn write_into(&self, into: &mut Probes, observed_s: f64) -> Option<String> {
        let (counters, never) = figures(&self.all, observed_s);
        into.counters.extend(counters);
        for (service, sums) in &self.services {
            into.service(service).counters = figures(sums, observed_s).0;
        }
        if !self.refused.is_empty() {
            let refused: Vec<&str> = self.refused.iter().copied().collect();
            into.missing.push(Missing {
                probe: format!("{}: threads", Probe::Counters.name()),
                what: format!(
                    "more open files (ulimit -n), or leave to count each of the server's threads ({})",
                    self.why
                ),
                disables: format!("a part, or all, of {}", refused.join(", ")),
            });
        }
        if !never.is_empty() {
            into.missing.push(Missing {
                probe: format!("{}: never counted", Probe::Counters.name()),
                what:
                    "free counters of the processor: others used all of them (a profiler, or the watchdog of \
                       kernel.nmi_watchdog)"
                        .into(),
                disables: never.join(", "),
            });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_become_ratios() {
        let counted = |count: u64| EventCount { count, enabled_ns: 10, running_ns: 10 };
        let counts = || {
            let all = Sums::from([
                (CYCLES, counted(200)),
                // Counted half of the time.
                (INSTRUCTIONS, EventCount { running_ns: 5, ..counted(50) }),
                (KERNEL_INSTRUCTIONS, counted(75)),
                ("llc_misses", counted(1)),
                ("backend_stalls", counted(50)),
                ("page_faults", counted(4)),
                // Enabled, but never counted.
                ("itlb_misses", EventCount { running_ns: 0, ..counted(0) }),
                // No thread ran.
                ("cpu_migrations", EventCount::default()),
                // Meaningless without the others of its kind.
                ("slots", counted(800)),
            ]);
            let services =
                [("php".to_owned(), Sums::from([(CYCLES, counted(20)), (INSTRUCTIONS, counted(30))]))];
            CounterSums {
                all,
                services: services.into(),
                refused: ["l1d_misses"].into(),
                ..CounterSums::default()
            }
        };
        let mut sum = counts();
        sum.add(&counts());
        let mut record = Probes::default();
        sum.enter(2.0, &mut record);
        let disabled: Vec<&str> = record.missing.iter().map(|missing| missing.disables.as_str()).collect();
        assert_eq!(disabled, ["a part, or all, of l1d_misses", "itlb_misses"]);
        let got: Vec<(&str, f64)> = record.counters.iter().map(|c| (c.name.as_str(), c.value)).collect();
        let expect = [
            ("ipc", 0.5),
            ("backend_stalls_share", 0.25),
            ("cpu_migrations_per_s", 0.0),
            ("cycles_per_s", 200.0),
            ("instructions_per_s", 100.0),
            ("kernel_instruction_share", 0.75),
            ("llc_misses_per_kilo_instruction", 10.0),
            ("page_faults_per_s", 4.0),
        ];
        assert_eq!(got, expect);
        let [php] = &record.services[..] else { panic!("{:?}", record.services) };
        let of_php: Vec<(&str, f64)> = php.counters.iter().map(|c| (c.name.as_str(), c.value)).collect();
        assert_eq!(php.name, "php");
        assert_eq!(of_php, [("ipc", 1.5), ("cycles_per_s", 20.0), ("instructions_per_s", 30.0)]);
    }

    #[test]
    fn what_one_thread_lacks_is_not_what_the_machine_lacks() {
        let check = |errors: [Option<i32>; 2], absent: bool, refused: bool| {
            let opened = all(&SOURCES, &[0, 1], |_, tid| match errors[tid as usize] {
                Some(error) => Err(io::Error::from_raw_os_error(error)),
                None => Ok(tid),
            });
            let count = |is_all: bool| if is_all { SOURCES.len() } else { 0 };
            assert_eq!(opened.absent.len(), count(absent), "{errors:?}");
            assert_eq!((opened.refused.len(), opened.why.is_some()), (count(refused), refused), "{errors:?}");
        };
        check([None, None], false, false);
        check([None, Some(libc::ESRCH)], false, false);
        check([Some(libc::ESRCH), Some(libc::ESRCH)], false, false);
        check([None, Some(libc::EMFILE)], false, true);
        check([Some(libc::EMFILE), Some(libc::EMFILE)], false, true);
        check([Some(libc::ENOENT), Some(libc::ENOENT)], true, false);
        check([Some(libc::ENOENT), Some(libc::ESRCH)], true, false);
    }

    #[test]
    fn what_is_not_there_is_said_once() {
        let none = Subject::default();
        let mut missing = Vec::new();
        let lacks = open(&none, &mut missing).err().unwrap();
        assert!(lacks[0].what.contains("none is known to listen"), "{lacks:?}");
        let own = Subject { pids: vec![std::process::id()], ports: Vec::new(), ..Subject::default() };
        match open(&own, &mut missing) {
            Ok(mut probe) => {
                probe.resume().unwrap();
                let mut record = Probes::default();
                probe.pause().enter(1.0, &mut record);
                assert!(record.counters.iter().any(|counter| counter.name == "page_faults_per_s"));
                assert!(record.services.is_empty() && missing.len() <= 1, "{missing:?}");
            }
            Err(lacks) => println!("skipped: this user may not count: {}", lacks[0].what),
        }
    }

    #[test]
    fn threads_are_counted_for_their_service_also_those_that_start_late() {
        let own = Subject { pids: vec![std::process::id()], ..Subject::default() };
        let own = own.made_of(vec![("a".into(), vec![std::process::id()]), ("b".into(), vec![u32::MAX])]);
        let Ok(mut counters) = Counters::open(&own, &mut Vec::new()) else {
            return println!("skipped: this user may not count");
        };
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let (say, said) = std::sync::mpsc::channel();
        let late = std::thread::spawn(move || {
            say.send(rustix::thread::gettid().as_raw_pid() as u32).unwrap();
            let _ = ended.recv();
        });
        let tid = said.recv().unwrap();
        assert!(!counters.threads.contains(&tid));
        counters.resume().unwrap();
        assert!(counters.threads.contains(&tid));
        let mut record = Probes::default();
        counters.pause().enter(1.0, &mut record);
        drop(end);
        late.join().unwrap();
        let [a] = &record.services[..] else { panic!("{:?}", record.services) };
        assert_eq!((a.name.as_str(), &a.counters), ("a", &record.counters));
    }
}
