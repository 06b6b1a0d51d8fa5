//! Which code uses the processors on behalf of the server: sampled by a clock, since a clock is always there.

mod ring;
mod symbols;

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;

use nix::libc;
use perf_event_open_sys::bindings as perf;
use results::Probes;
use results::probes::{CodeShare, Missing, Processor, Stack};

use crate::instrument::{Instrument, Reading, Summed};
use crate::perf::{Event, hint};
use crate::subject::Subject;
use ring::Ring;
use spec::Probe;
use symbols::Symbols;

/// Samples a second of a thread that runs. A prime, so that it keeps no step with anything that beats in ms; at 2 µs a
/// sample it costs 0.1 %.
const RATE_HZ: u64 = 499;
/// So many stacks are kept apart in the record; a cache's whole tree has fewer.
const STACKS: usize = 400;
/// Where more than this share of the samples had no room, what is left may not be like the whole.
const MAY_LOSE: f64 = 0.01;

#[derive(Default)]
struct Sampler {
    pids: Vec<u32>,
    /// By thread: some start late.
    rings: HashMap<u32, (Event, Ring)>,
    /// Threads that it may not sample, and why the last of them.
    refused: BTreeSet<u32>,
    why: String,
}

/// A stack as it was taken: the process, and addresses from the innermost outwards, those of the kernel apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Taken {
    pid: u32,
    kernel: Vec<u64>,
    user: Vec<u64>,
}

/// The stacks of one slot or more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Samples {
    stacks: HashMap<Taken, u64>,
    lost: u64,
    /// Threads that were not sampled, and why the last of them; of how many.
    refused: BTreeSet<u32>,
    why: String,
    threads: usize,
}

/// Opens it on the server's threads.
pub(crate) fn open(subject: &Subject) -> Result<Box<dyn Instrument>, Vec<Missing>> {
    let mut sampler = Sampler { pids: subject.pids.clone(), ..Sampler::default() };
    let missing = |what: String| {
        let disables = "the split into kernel, program and libraries, and the flame graph".into();
        vec![Missing { probe: Probe::Cpu.name().into(), what, disables }]
    };
    sampler.open_threads().map_err(|error| missing(hint(&error)))?;
    if sampler.rings.is_empty() {
        return Err(missing(
            "the server's processes: none is known to listen at its address on this machine".into(),
        ));
    }
    Ok(Box::new(sampler))
}

impl Sampler {
    /// Opens an event on each thread that has none. Errors: not on one of them.
    fn open_threads(&mut self) -> io::Result<()> {
        self.open_by(open_thread)
    }

    /// The same, by what opens one.
    fn open_by(&mut self, mut open: impl FnMut(u32) -> io::Result<(Event, Ring)>) -> io::Result<()> {
        self.refused.clear();
        let mut last = None;
        for (_, tid) in host::threads::of(Path::new("/"), &self.pids) {
            if self.rings.contains_key(&tid) {
                continue;
            }
            match open(tid) {
                Ok(opened) => drop(self.rings.insert(tid, opened)),
                // It ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => {
                    self.refused.insert(tid);
                    self.why = error.to_string();
                    last = Some(error);
                }
            }
        }
        match last {
            Some(error) if self.rings.is_empty() => Err(error),
            _ => Ok(()),
        }
    }
}

fn open_thread(tid: u32) -> io::Result<(Event, Ring)> {
    let mut attributes = perf::perf_event_attr {
        type_: perf::PERF_TYPE_SOFTWARE,
        config: perf::PERF_COUNT_SW_CPU_CLOCK as u64,
        sample_type: (perf::PERF_SAMPLE_TID | perf::PERF_SAMPLE_CALLCHAIN) as u64,
        ..perf::perf_event_attr::default()
    };
    attributes.__bindgen_anon_1.sample_freq = RATE_HZ;
    attributes.set_freq(1);
    let event = Event::open(attributes, tid)?;
    let ring = Ring::map(event.fd())?;
    Ok((event, ring))
}

impl Instrument for Sampler {
    fn probe(&self) -> Probe {
        Probe::Cpu
    }

    fn resume(&mut self) -> io::Result<()> {
        self.open_threads()?;
        self.rings.values().try_for_each(|(event, _)| event.enable())
    }

    fn pause(&mut self) -> Box<dyn Reading> {
        self.rings.values().for_each(|(event, _)| drop(event.disable()));
        let (refused, why) = (self.refused.clone(), self.why.clone());
        let threads = self.rings.len() + refused.len();
        let mut samples = Samples { refused, why, threads, ..Samples::default() };
        for (_, ring) in self.rings.values_mut() {
            ring.drain(|record| match record {
                ring::Record::Stack(taken) => *samples.stacks.entry(taken).or_insert(0) += 1,
                ring::Record::Lost(count) => samples.lost += count,
            });
        }
        Box::new(samples)
    }
}

impl Summed for Samples {
    fn merge(&mut self, other: &Samples) {
        other.stacks.iter().for_each(|(stack, more)| *self.stacks.entry(stack.clone()).or_insert(0) += more);
        self.lost += other.lost;
        self.refused.extend(&other.refused);
        self.threads = self.threads.max(other.threads);
        if self.why.is_empty() {
            self.why.clone_from(&other.why);
        }
    }

    fn write_into(&self, into: &mut Probes, observed_s: f64) -> Option<String> {
        let mut symbols = Symbols::default();
        let total: u64 = self.stacks.values().sum();
        let mut codes: HashMap<String, u64> = HashMap::new();
        let mut folded: HashMap<String, u64> = HashMap::new();
        for (taken, count) in &self.stacks {
            let code = match (taken.kernel.first(), taken.user.first()) {
                (Some(_), _) => "kernel".to_owned(),
                (None, Some(address)) => symbols.file(taken.pid, *address),
                (None, None) => "(unknown)".to_owned(),
            };
            *codes.entry(code).or_insert(0) += count;
            let user = taken.user.iter().rev().map(|address| symbols.user(taken.pid, *address));
            let mut frames: Vec<String> = user.collect();
            frames.extend(taken.kernel.iter().rev().map(|address| symbols.kernel(*address)));
            *folded.entry(frames.join(";")).or_insert(0) += count;
        }
        let mut shares: Vec<CodeShare> = codes
            .into_iter()
            .map(|(code, count)| CodeShare { code, share: count as f64 / total.max(1) as f64 })
            .collect();
        shares.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.code.cmp(&b.code)));
        let mut notes = vec![format!(
            "Sampled by a clock: code that runs with interrupts off is seen where it turns them on again; a user's stack \
             is as deep as frame pointers lead. {RATE_HZ} samples a second of each thread that runs."
        )];
        notes.extend(symbols.notes());
        into.processor = Some(Processor {
            observed_s,
            samples: total,
            lost: self.lost,
            rate_hz: RATE_HZ,
            shares,
            stacks: commonest(folded),
            notes,
        });
        if !self.refused.is_empty() {
            into.missing.push(Missing {
                probe: format!("{}: threads", Probe::Cpu.name()),
                what: format!(
                    "more open files and locked memory (ulimit -n, sysctl kernel.perf_event_mlock_kb), or CAP_IPC_LOCK: {}",
                    self.why
                ),
                disables: format!(
                    "what {} of the server's {} threads do: the split is of the others",
                    self.refused.len(),
                    self.threads.max(self.refused.len())
                ),
            });
        }
        let share = self.lost as f64 / (total + self.lost).max(1) as f64;
        (share > MAY_LOSE).then(|| {
            format!(
                "cpu: {} of {} samples had no room; limit {} %",
                self.lost,
                total + self.lost,
                100.0 * MAY_LOSE
            )
        })
    }
}

/// The commonest stacks in falling order; the rest in one.
fn commonest(folded: HashMap<String, u64>) -> Vec<Stack> {
    let mut stacks: Vec<Stack> = folded.into_iter().map(|(frames, count)| Stack { frames, count }).collect();
    stacks.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.frames.cmp(&b.frames)));
    let rest: u64 = stacks.iter().skip(STACKS).map(|stack| stack.count).sum();
    stacks.truncate(STACKS);
    if rest > 0 {
        stacks.push(Stack { frames: "(other)".into(), count: rest });
    }
    stacks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_stacks_are_one() {
        let many: HashMap<String, u64> =
            (0..STACKS as u64 + 3).map(|i| (format!("f{i:04}"), 1000 - i)).collect();
        let kept = commonest(many);
        assert_eq!((kept.len(), kept[0].frames.as_str(), kept[0].count), (STACKS + 1, "f0000", 1000));
        assert_eq!((kept[STACKS].frames.as_str(), kept[STACKS].count), ("(other)", 600 + 599 + 598));
    }

    #[test]
    fn samples_become_shares_and_losses_are_told() {
        let taken = |kernel: &[u64]| Taken { pid: u32::MAX, kernel: kernel.to_vec(), user: vec![1] };
        let samples =
            |lost| Samples { stacks: [(taken(&[1]), 3), (taken(&[]), 1)].into(), lost, ..Samples::default() };
        let check = |lost: u64, expect: Option<&str>| {
            let mut record = Probes::default();
            let told = samples(lost).enter(1.0, &mut record);
            assert_eq!(told.as_deref(), expect);
            let got = record.processor.unwrap();
            assert_eq!((got.samples, got.lost), (4, lost));
            assert_eq!(got.shares[0], CodeShare { code: "kernel".into(), share: 0.75 });
            assert_eq!(got.shares.iter().map(|code| code.share).sum::<f64>(), 1.0);
        };
        check(0, None);
        check(1, Some("cpu: 1 of 5 samples had no room; limit 1 %"));
        let mut sum = samples(1);
        sum.add(&samples(2));
        assert_eq!((sum.lost, sum.stacks[&taken(&[1])]), (3, 6));
    }

    #[test]
    fn threads_that_are_not_sampled_are_told() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || stopped.recv().is_ok());
        let mut sampler = Sampler { pids: vec![std::process::id()], ..Sampler::default() };
        let mut one = open_thread(std::process::id()).ok();
        if one.is_none() {
            println!("skipped: this user may not sample");
        } else {
            // The first that is asked for, and no other: the files of this process are all used.
            let full = || io::Error::from_raw_os_error(libc::EMFILE);
            sampler.open_by(|_| one.take().ok_or_else(full)).unwrap();
            let mut record = Probes::default();
            let mut sum = sampler.pause();
            sum.add(sampler.pause().as_ref());
            sum.enter(1.0, &mut record);
            let [told] = &record.missing[..] else { panic!("{record:?}") };
            let (refused, threads) = (sampler.refused.len(), sampler.refused.len() + 1);
            let expect = format!("what {refused} of the server's {threads} threads do");
            assert!(refused > 0 && told.disables.contains(&expect), "{expect}: {told:?}");
            assert!(told.what.contains("Too many open files"), "{told:?}");
            // One that has ended is not among them.
            sampler.open_by(|_| Err(io::Error::from_raw_os_error(libc::ESRCH))).unwrap();
            assert!(sampler.refused.is_empty());
        }
        drop(stop);
        other.join().unwrap();
    }

    #[test]
    fn sees_its_own_work() {
        let own = Subject { pids: vec![std::process::id()], ports: Vec::new(), ..Subject::default() };
        let mut probe = match open(&own) {
            Ok(probe) => probe,
            Err(lacks) => return println!("skipped: this user may not sample: {}", lacks[0].what),
        };
        // Looks until a sample was taken; a machine that gives this thread no time at all gives none.
        for _ in 0..1000 {
            probe.resume().unwrap();
            let work = (0..20_000_000_u64).fold(0, |a: u64, b| std::hint::black_box(a ^ b.wrapping_mul(b)));
            std::hint::black_box(work);
            let mut record = Probes::default();
            probe.pause().enter(1.0, &mut record);
            let got = record.processor.unwrap();
            if got.samples > 0 {
                let sum: f64 = got.shares.iter().map(|code| code.share).sum();
                assert!((sum - 1.0).abs() < 1e-9 && !got.stacks.is_empty(), "{got:?}");
                return;
            }
        }
        panic!("no sample was taken of a thread that worked");
    }
}
