//! Counters of processor and kernel over the server's threads.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use nix::libc;
use perf_event_open_sys::bindings as perf;
use results::Probes;
use results::probes::{Counter, Missing};

use crate::instrument::{Instrument, Reading, Summed};
use crate::perf::{Counted, Event, READ_TIMES, hint};
use crate::subject::Subject;
use spec::Probe;

/// A source of counts: kind, number, and how it is called here.
struct Source {
    kind: u32,
    number: u64,
    name: &'static str,
    /// Whether it counts in the kernel only.
    in_kernel: bool,
}

/// A cache's misses on reading. Source: `perf_event_open(2)`, the encoding of `PERF_TYPE_HW_CACHE`.
const fn misses(cache: u32, name: &'static str) -> Source {
    let (read, miss) = (perf::PERF_COUNT_HW_CACHE_OP_READ, perf::PERF_COUNT_HW_CACHE_RESULT_MISS);
    Source {
        kind: perf::PERF_TYPE_HW_CACHE,
        number: (cache | read << 8 | miss << 16) as u64,
        name,
        in_kernel: false,
    }
}

const fn hardware(number: u32, name: &'static str) -> Source {
    Source { kind: perf::PERF_TYPE_HARDWARE, number: number as u64, name, in_kernel: false }
}

const fn software(number: u32, name: &'static str) -> Source {
    Source { kind: perf::PERF_TYPE_SOFTWARE, number: number as u64, name, in_kernel: false }
}

const CYCLES: &str = "cycles";
const INSTRUCTIONS: &str = "instructions";
const KERNEL_INSTRUCTIONS: &str = "kernel_instructions";

const SOURCES: [Source; 13] = [
    hardware(perf::PERF_COUNT_HW_CPU_CYCLES, CYCLES),
    hardware(perf::PERF_COUNT_HW_INSTRUCTIONS, INSTRUCTIONS),
    Source { in_kernel: true, ..hardware(perf::PERF_COUNT_HW_INSTRUCTIONS, KERNEL_INSTRUCTIONS) },
    hardware(perf::PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "frontend_stalls"),
    hardware(perf::PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "backend_stalls"),
    misses(perf::PERF_COUNT_HW_CACHE_L1I, "l1i_misses"),
    misses(perf::PERF_COUNT_HW_CACHE_L1D, "l1d_misses"),
    misses(perf::PERF_COUNT_HW_CACHE_LL, "llc_misses"),
    misses(perf::PERF_COUNT_HW_CACHE_DTLB, "dtlb_misses"),
    misses(perf::PERF_COUNT_HW_CACHE_ITLB, "itlb_misses"),
    software(perf::PERF_COUNT_SW_PAGE_FAULTS, "page_faults"),
    software(perf::PERF_COUNT_SW_CONTEXT_SWITCHES, "context_switches"),
    software(perf::PERF_COUNT_SW_CPU_MIGRATIONS, "cpu_migrations"),
];

struct Counters {
    events: Vec<(&'static str, Event)>,
    before: Counts,
}

/// Sums by name.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counts(BTreeMap<&'static str, Counted>);

/// The events that are available, and those that are not.
struct Opened<E> {
    events: Vec<(&'static str, E)>,
    /// Counters that this machine lacks.
    absent: Vec<&'static str>,
    /// Counters that some threads were refused, and why the last of them.
    refused: Vec<&'static str>,
    why: Option<io::Error>,
}

/// Opens each source on each thread.
fn all<E>(threads: &[u32], mut open: impl FnMut(&Source, u32) -> io::Result<E>) -> Opened<E> {
    let mut opened = Opened { events: Vec::new(), absent: Vec::new(), refused: Vec::new(), why: None };
    for source in &SOURCES {
        let before = opened.events.len();
        let (mut lacks, mut is_refused) = (false, false);
        for tid in threads {
            let error = match open(source, *tid) {
                Ok(event) => {
                    opened.events.push((source.name, event));
                    continue;
                }
                Err(error) => error,
            };
            match error.raw_os_error() {
                // It ended meanwhile.
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

/// Opens every counter that is there; the others are named in `missing`, once.
pub(crate) fn open(
    subject: &Subject,
    missing: &mut Vec<Missing>,
) -> Result<Box<dyn Instrument>, Vec<Missing>> {
    let threads: Vec<u32> =
        host::threads::of(Path::new("/"), &subject.pids).into_iter().map(|(_, tid)| tid).collect();
    let Opened { events, absent, refused, why } = all(&threads, |source, tid| {
        let mut attributes = perf::perf_event_attr {
            type_: source.kind,
            config: source.number,
            read_format: READ_TIMES,
            ..perf::perf_event_attr::default()
        };
        attributes.set_exclude_user(source.in_kernel.into());
        Event::open(attributes, tid)
    });
    let probe = Probe::Counters.name().to_owned();
    if events.is_empty() {
        let what = match why {
            Some(error) => hint(&error),
            None if absent.is_empty() => {
                "the server's processes: none is known to listen at its address on this machine".into()
            }
            None => "a kernel with CONFIG_PERF_EVENTS".into(),
        };
        return Err(vec![Missing { probe, what, disables: "every counter".into() }]);
    }
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
    if let Some(error) = why {
        missing.push(Missing {
            probe: format!("{probe}: threads"),
            what: format!(
                "more open files (ulimit -n), or leave to count each of the server's threads ({error})"
            ),
            disables: format!("a part, or all, of {}", refused.join(", ")),
        });
    }
    Ok(Box::new(Counters { events, before: Counts::default() }))
}

impl Counters {
    fn read(&self) -> Counts {
        let mut sums: BTreeMap<&str, Counted> = BTreeMap::new();
        for (name, event) in &self.events {
            let sum = sums.entry(*name).or_default();
            *sum = sum.plus(event.read().unwrap_or_default());
        }
        Counts(sums)
    }
}

impl Instrument for Counters {
    fn probe(&self) -> Probe {
        Probe::Counters
    }

    fn resume(&mut self) -> io::Result<()> {
        self.before = self.read();
        self.events.iter().try_for_each(|(_, event)| event.enable())
    }

    fn pause(&mut self) -> Box<dyn Reading> {
        // A thread that has ended counts no more, which is what was wanted.
        self.events.iter().for_each(|(_, event)| drop(event.disable()));
        let mut counts = self.read();
        for (name, count) in &mut counts.0 {
            *count = count.since(self.before.0.get(name).copied().unwrap_or_default());
        }
        Box::new(counts)
    }
}

impl Summed for Counts {
    fn merge(&mut self, other: &Counts) {
        for (name, more) in &other.0 {
            let sum = self.0.entry(name).or_default();
            *sum = sum.plus(*more);
        }
    }

    fn write_into(&self, into: &mut Probes, observed_s: f64) -> Option<String> {
        let of = |name: &str| self.0.get(name).and_then(|counted| counted.scaled());
        let mut enter = |name: String, value: f64| into.counters.push(Counter { name, value });
        let instructions = of(INSTRUCTIONS).filter(|count| *count > 0.0);
        let cycles = of(CYCLES).filter(|count| *count > 0.0);
        if let Some((instructions, cycles)) = instructions.zip(cycles) {
            enter("ipc".into(), instructions / cycles);
        }
        let mut never = Vec::new();
        for (name, counted) in &self.0 {
            let Some(count) = counted.scaled() else {
                never.push(*name);
                continue;
            };
            match (*name, instructions, cycles) {
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
        let counted = |count: u64| Counted { count, enabled_ns: 10, running_ns: 10 };
        let counts = || {
            Counts(BTreeMap::from([
                (CYCLES, counted(200)),
                // Half of the time.
                (INSTRUCTIONS, Counted { running_ns: 5, ..counted(50) }),
                (KERNEL_INSTRUCTIONS, counted(75)),
                ("llc_misses", counted(1)),
                ("backend_stalls", counted(50)),
                ("page_faults", counted(4)),
                // On, and never counted.
                ("itlb_misses", Counted { running_ns: 0, ..counted(0) }),
                // None of the threads ran.
                ("cpu_migrations", Counted::default()),
            ]))
        };
        let mut sum = counts();
        sum.add(&counts());
        let mut record = Probes::default();
        sum.enter(2.0, &mut record);
        assert_eq!(record.missing.len(), 1, "{:?}", record.missing);
        assert_eq!(record.missing[0].disables, "itlb_misses");
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
    }

    #[test]
    fn what_one_thread_lacks_is_not_what_the_machine_lacks() {
        let check = |errors: [Option<i32>; 2], absent: bool, refused: bool| {
            let opened = all(&[0, 1], |_, tid| match errors[tid as usize] {
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
                assert!(missing.len() <= 1, "{missing:?}");
            }
            Err(lacks) => println!("skipped: this user may not count: {}", lacks[0].what),
        }
    }
}
