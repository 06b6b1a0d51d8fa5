//! Use of the processors by the server's code: sampled by a clock, since a clock is always available.

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
use crate::perf::{Event, READ_LOST, hint};
use crate::subject::Subject;
use ring::Ring;
use spec::Probe;
use symbols::Symbols;

units::limits! {
    /// Samples per second of a running thread. A prime, so that it is not in step with periodic work in ms; at 2 µs per
    /// sample it costs 0.1 %.
    const RATE_HZ: u64 = 499, Hertz,
        "ours, because a prime keeps no step with what beats in ms, and at 2 µs a sample it costs 0.1 %";

    /// Instructions between two samples of a thread, if the processor counts them. A prime; a core of 2.5 GHz that runs two
    /// per cycle gives as many samples as the clock.
    const INSTRUCTIONS: u64 = 10_000_019, Count,
        "ours, because it is a prime, and a core of 2.5 GHz that runs two per cycle gives as many samples as the clock";

    /// Number of stacks kept separately in the record; a cache's whole tree has fewer.
    const STACKS: usize = 400, Count,
        "ours, because the whole tree of a cache has fewer";

    /// If more than this share of the samples was dropped, the rest may not be representative.
    const MAY_LOSE: f64 = 0.01, Share,
        "ours, because what is left of more may not be like the whole";
}

#[derive(Default)]
struct Sampler {
    pids: Vec<u32>,
    /// The same as in [`Subject`].
    services: Vec<(String, Vec<u32>)>,
    /// Rings by thread; some threads start late.
    rings: HashMap<u32, Sampled>,
    /// The same by instructions; empty if the processor does not count them on this machine.
    by_instructions: HashMap<u32, Sampled>,
    /// Whether sampling by instructions failed on a thread.
    without_instructions: bool,
    /// Threads that it may not sample, and the reason for the last of them.
    refused: BTreeSet<u32>,
    why: String,
}

/// A sampled thread.
struct Sampled {
    event: Event,
    ring: Ring,
    /// Dropped samples at the last read of the event; `None` if the kernel does not count them.
    lost: Option<u64>,
}

/// A sampled stack: the process, and addresses from the innermost outwards, of the kernel and of the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StackSample {
    pid: u32,
    kernel: Vec<u64>,
    user: Vec<u64>,
}

/// Trigger of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Clock,
    Instructions,
}

/// Stacks with their number of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Tally {
    stacks: HashMap<StackSample, u64>,
    lost: u64,
}

/// The stacks of one slot or more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Samples {
    by_clock: Tally,
    by_instructions: Tally,
    /// Threads that were not sampled, with the last reason, and the number of all threads.
    refused: BTreeSet<u32>,
    why: String,
    threads: usize,
    /// The same as in [`Subject`].
    services: Vec<(String, Vec<u32>)>,
}

pub(crate) fn open(subject: &Subject) -> Result<Box<dyn Instrument>, Vec<Missing>> {
    let (pids, services) = (subject.pids.clone(), subject.services.clone());
    let mut sampler = Sampler { pids, services, ..Sampler::default() };
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
    /// Opens an event on each new thread. Errors: it failed on every thread.
    fn open_threads(&mut self) -> io::Result<()> {
        self.open_by(|tid| open_thread(tid, By::Clock))?;
        self.open_instructions(|tid| open_thread(tid, By::Instructions));
        Ok(())
    }

    /// Opens an instruction event on each thread that has a clock event. On all threads or none: a split of some
    /// threads does not represent the server.
    fn open_instructions(&mut self, mut open: impl FnMut(u32) -> io::Result<Sampled>) {
        if self.without_instructions {
            return;
        }
        for tid in self.rings.keys() {
            if self.by_instructions.contains_key(tid) {
                continue;
            }
            match open(*tid) {
                Ok(opened) => drop(self.by_instructions.insert(*tid, opened)),
                // The thread ended in between.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(_) => {
                    self.by_instructions.clear();
                    self.without_instructions = true;
                    return;
                }
            }
        }
    }

    /// The same, with this function to open an event.
    fn open_by(&mut self, mut open: impl FnMut(u32) -> io::Result<Sampled>) -> io::Result<()> {
        self.refused.clear();
        let mut last = None;
        for (_, tid) in host::threads::of(Path::new("/"), &self.pids) {
            if self.rings.contains_key(&tid) {
                continue;
            }
            match open(tid) {
                Ok(opened) => drop(self.rings.insert(tid, opened)),
                // The thread ended in between.
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

fn open_thread(tid: u32, by: By) -> io::Result<Sampled> {
    let (type_, config) = match by {
        By::Clock => (perf::PERF_TYPE_SOFTWARE, perf::PERF_COUNT_SW_CPU_CLOCK),
        By::Instructions => (perf::PERF_TYPE_HARDWARE, perf::PERF_COUNT_HW_INSTRUCTIONS),
    };
    let mut attributes = perf::perf_event_attr {
        type_,
        config: config as u64,
        sample_type: (perf::PERF_SAMPLE_TID | perf::PERF_SAMPLE_CALLCHAIN) as u64,
        ..perf::perf_event_attr::default()
    };
    match by {
        By::Clock => {
            attributes.__bindgen_anon_1.sample_freq = RATE_HZ;
            attributes.set_freq(1);
        }
        By::Instructions => attributes.__bindgen_anon_1.sample_period = INSTRUCTIONS,
    }
    // The ring reports a loss with the next sample that has room, and so never reports the last ones.
    attributes.read_format = READ_LOST;
    let (event, lost) = match Event::open(attributes, tid) {
        // The kernel does not count losses.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            attributes.read_format = 0;
            (Event::open(attributes, tid)?, None)
        }
        other => (other?, Some(0)),
    };
    let ring = Ring::map(event.fd())?;
    Ok(Sampled { event, ring, lost })
}

impl Instrument for Sampler {
    fn probe(&self) -> Probe {
        Probe::Cpu
    }

    fn resume(&mut self) -> io::Result<()> {
        self.open_threads()?;
        self.rings
            .values()
            .chain(self.by_instructions.values())
            .try_for_each(|sampled| sampled.event.enable())
    }

    fn pause(&mut self) -> Box<dyn Reading> {
        let all = self.rings.values().chain(self.by_instructions.values());
        all.for_each(|sampled| drop(sampled.event.disable()));
        let (refused, why) = (self.refused.clone(), self.why.clone());
        let threads = self.rings.len() + refused.len();
        let by_clock = Tally::of(&mut self.rings);
        let by_instructions = Tally::of(&mut self.by_instructions);
        let services = self.services.clone();
        Box::new(Samples { by_clock, by_instructions, refused, why, threads, services })
    }
}

impl Sampled {
    /// Samples dropped since the last call; `None` if the kernel does not count them.
    fn lost_since(&mut self) -> Option<u64> {
        let before = self.lost?;
        let now = self.event.lost().ok()?;
        self.lost = Some(now);
        Some(now.saturating_sub(before))
    }
}

impl Tally {
    /// New samples in the rings since the last call.
    fn of(threads: &mut HashMap<u32, Sampled>) -> Tally {
        let mut tally = Tally::default();
        for sampled in threads.values_mut() {
            let mut told = 0;
            sampled.ring.drain(|record| match record {
                ring::Record::Stack(taken) => *tally.stacks.entry(taken).or_insert(0) += 1,
                ring::Record::Lost(count) => told += count,
            });
            tally.lost += sampled.lost_since().unwrap_or(told);
        }
        tally
    }

    fn merge(&mut self, other: &Tally) {
        other.stacks.iter().for_each(|(stack, more)| *self.stacks.entry(stack.clone()).or_insert(0) += more);
        self.lost += other.lost;
    }

    fn samples(&self) -> u64 {
        self.stacks.values().sum()
    }

    /// The samples of these processes.
    fn only(&self, pids: &[u32]) -> Tally {
        let of = self.stacks.iter().filter(|(taken, _)| pids.contains(&taken.pid));
        Tally { stacks: of.map(|(taken, count)| (taken.clone(), *count)).collect(), lost: 0 }
    }

    /// Whether too many samples were dropped for the rest to be representative.
    fn is_lossy(&self) -> bool {
        self.lost as f64 > MAY_LOSE * (self.samples() + self.lost) as f64
    }

    /// The share of each part of the code, falling.
    fn shares(&self, symbols: &mut Symbols) -> Vec<CodeShare> {
        let mut codes: HashMap<String, u64> = HashMap::new();
        for (taken, count) in &self.stacks {
            let code = match (taken.kernel.first(), taken.user.first()) {
                (Some(_), _) => "kernel".to_owned(),
                (None, Some(address)) => symbols.file(taken.pid, *address),
                (None, None) => "(unknown)".to_owned(),
            };
            *codes.entry(code).or_insert(0) += count;
        }
        let total = self.samples().max(1) as f64;
        let mut shares: Vec<CodeShare> =
            codes.into_iter().map(|(code, count)| CodeShare { code, share: count as f64 / total }).collect();
        shares.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.code.cmp(&b.code)));
        shares
    }
}

impl Summed for Samples {
    fn merge(&mut self, other: &Samples) {
        self.by_clock.merge(&other.by_clock);
        self.by_instructions.merge(&other.by_instructions);
        self.refused.extend(&other.refused);
        self.threads = self.threads.max(other.threads);
        self.services.clone_from(&other.services);
        if self.why.is_empty() {
            self.why.clone_from(&other.why);
        }
    }

    fn write_into(&self, into: &mut Probes, observed_s: f64) -> Option<String> {
        let mut symbols = Symbols::default();
        let Tally { stacks, lost } = &self.by_clock;
        let total = self.by_clock.samples();
        let mut folded: HashMap<String, u64> = HashMap::new();
        for (taken, count) in stacks {
            let user = taken.user.iter().rev().map(|address| symbols.user(taken.pid, *address));
            let mut frames: Vec<String> = user.collect();
            frames.extend(taken.kernel.iter().rev().map(|address| symbols.kernel(*address)));
            *folded.entry(frames.join(";")).or_insert(0) += count;
        }
        let shares = self.by_clock.shares(&mut symbols);
        let by_instructions = &self.by_instructions;
        let instruction_shares = match by_instructions.is_lossy() {
            true => Vec::new(),
            false => by_instructions.shares(&mut symbols),
        };
        for (name, pids) in &self.services {
            let (clock, instructions) = (self.by_clock.only(pids), by_instructions.only(pids));
            let service = into.service(name);
            (service.samples, service.shares) = (clock.samples(), clock.shares(&mut symbols));
            if !by_instructions.is_lossy() {
                service.instruction_samples = instructions.samples();
                service.instruction_shares = instructions.shares(&mut symbols);
            }
        }
        let mut notes = vec![format!(
            "Sampled by a clock: code that runs with interrupts off is seen where it turns them on again; a user's stack \
             is as deep as frame pointers lead. {RATE_HZ} samples a second of each thread that runs."
        )];
        if !instruction_shares.is_empty() {
            notes.push(format!(
                "Of instructions: one in {INSTRUCTIONS} of each thread, {} samples; the processor tells a few instructions late                  where it was.",
                by_instructions.samples()
            ));
        }
        if by_instructions.is_lossy() {
            notes
                .push(format!("{} samples by instructions had no room: none is told.", by_instructions.lost));
        }
        notes.extend(symbols.notes());
        into.processor = Some(Processor {
            observed_s,
            samples: total,
            lost: *lost,
            rate_hz: RATE_HZ,
            shares,
            instruction_shares,
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
        self.by_clock.is_lossy().then(|| {
            format!("cpu: {lost} of {} samples had no room; limit {} %", total + lost, 100.0 * MAY_LOSE)
        })
    }
}

/// The most frequent stacks in falling order; the rest in one.
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
        let taken = |kernel: &[u64]| StackSample { pid: u32::MAX, kernel: kernel.to_vec(), user: vec![1] };
        let tally = |kernel, lost| Tally { stacks: [(taken(&[1]), kernel), (taken(&[]), 1)].into(), lost };
        let samples =
            |lost| Samples { by_clock: tally(3, lost), by_instructions: tally(4, 0), ..Samples::default() };
        let check = |lost: u64, expect: Option<&str>| {
            let mut record = Probes::default();
            let told = samples(lost).enter(1.0, &mut record);
            assert_eq!(told.as_deref(), expect);
            let got = record.processor.unwrap();
            assert_eq!((got.samples, got.lost), (4, lost));
            assert_eq!(got.shares[0], CodeShare { code: "kernel".into(), share: 0.75 });
            assert_eq!(got.shares.iter().map(|code| code.share).sum::<f64>(), 1.0);
            assert_eq!(got.instruction_shares[0], CodeShare { code: "kernel".into(), share: 0.8 });
        };
        check(0, None);
        check(1, Some("cpu: 1 of 5 samples had no room; limit 1 %"));
        let several = Samples {
            services: vec![("php".into(), vec![u32::MAX]), ("plot".into(), vec![7])],
            ..samples(0)
        };
        let mut record = Probes::default();
        several.enter(1.0, &mut record);
        let [php, plot] = &record.services[..] else { panic!("{:?}", record.services) };
        assert_eq!((php.name.as_str(), php.samples, php.instruction_samples), ("php", 4, 5));
        assert_eq!(php.shares, record.processor.unwrap().shares);
        assert_eq!((plot.samples, plot.shares.len()), (0, 0));
        let mut sum = samples(1);
        sum.add(&samples(2));
        assert_eq!((sum.by_clock.lost, sum.by_clock.stacks[&taken(&[1])]), (3, 6));
        assert_eq!(sum.by_instructions.stacks[&taken(&[1])], 8);
        // Instruction samples with losses, or without a count of losses.
        for (by_instructions, expect) in
            [(tally(4, 1), "1 samples by instructions had no room"), (Tally::default(), "")]
        {
            let mut record = Probes::default();
            Samples { by_clock: tally(3, 0), by_instructions, ..Samples::default() }.enter(1.0, &mut record);
            let got = record.processor.unwrap();
            assert!(got.instruction_shares.is_empty() && got.notes.join("\n").contains(expect), "{got:?}");
        }
    }

    #[test]
    fn all_threads_are_sampled_by_instructions_or_none() {
        let mut sampler = Sampler { pids: vec![std::process::id()], ..Sampler::default() };
        if sampler.open_by(|tid| open_thread(tid, By::Clock)).is_err() {
            return println!("skipped: this user may not sample");
        }
        let absent = || io::Error::from_raw_os_error(libc::ENOENT);
        // The clock replaces a counter that this machine may lack.
        sampler.open_instructions(|tid| open_thread(tid, By::Clock));
        assert_eq!(sampler.by_instructions.len(), sampler.rings.len());
        sampler.by_instructions.clear();
        let (mut given, threads) = (0, sampler.rings.len());
        sampler.open_instructions(|tid| {
            given += 1;
            if given == threads { Err(absent()) } else { open_thread(tid, By::Clock) }
        });
        assert!(sampler.by_instructions.is_empty() && sampler.without_instructions);
        // It is not tried again.
        sampler.open_instructions(|_| panic!("it was refused"));
    }

    #[test]
    fn threads_that_are_not_sampled_are_told() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || stopped.recv().is_ok());
        let mut sampler = Sampler { pids: vec![std::process::id()], ..Sampler::default() };
        let mut one = open_thread(std::process::id(), By::Clock).ok();
        if one.is_none() {
            println!("skipped: this user may not sample");
        } else {
            // Only the first request succeeds: this process has no descriptors left.
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
            // A thread that has ended is not among them.
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
        // Waits for a sample; a machine that gives this thread no time produces none.
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
