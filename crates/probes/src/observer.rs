use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use reactor::monotonic_now;
use results::probes::Missing;
use results::{Probes, Trial};
use units::{Nanos, Time};

use crate::instrument::{Instrument, Reading};
use crate::seen::{Beside, Seen};
use crate::slots::{Slot, Slots};
use crate::subject::Subject;
use crate::{counters, input_output, overhead, processor, scheduling, server, sockets, stages};
use spec::{Probe, ProbeSet};

/// Active probes of a trial.
///
/// They run on a thread of the process that started server and generator, which sleeps from slot to slot.
pub struct Observer {
    wanted: ProbeSet,
    slots: Slots,
    stop: Sender<()>,
    thread: JoinHandle<(Vec<Slot>, Vec<Missing>)>,
}

impl Observer {
    /// Begins to observe `subject` for a trial whose window has this length; returns once every probe is attached.
    ///
    /// [`Observer::finish`] reports unavailable features.
    pub fn start(wanted: &ProbeSet, subject: Subject, window: Duration) -> Observer {
        Observer::begin(wanted, subject, Slots::new(wanted.in_slots().len(), window))
    }

    /// The same with every probe active all the time, for a trial that measures the server's performance under
    /// observation; the results are useless, since they are not separated by slot.
    pub fn throughout(wanted: &ProbeSet, subject: Subject) -> Observer {
        Observer::begin(wanted, subject, Slots::one())
    }

    /// Stops and discards the results.
    pub fn dismiss(self) {
        self.seen(&Beside::default());
    }

    fn begin(wanted: &ProbeSet, subject: Subject, slots: Slots) -> Observer {
        let probes = wanted.in_slots();
        let (stop, stopped) = channel();
        let (ready, is_ready) = channel();
        let thread = thread::spawn(move || watch(&probes, &subject, slots, &stopped, &ready));
        // A thread that dies drops its end, which wakes this one; its panic is reported when it is joined.
        let _ = is_ready.recv();
        Observer { wanted: wanted.clone(), slots, stop, thread }
    }

    /// Stops and writes the results within the trial's window into the trial. A probe that lost too much data makes the
    /// trial invalid.
    pub fn finish(self, trial: &mut Trial) {
        let wanted = self.wanted.clone();
        self.seen(&Beside::of(trial)).enter(&wanted, trial);
    }

    /// Stops; returns the results within the window of this trial.
    pub fn seen(self, trial: &Beside) -> Seen {
        drop(self.stop);
        let (slots, mut missing) = self.thread.join().unwrap_or_else(|_| {
            let what = "the thread that observes ended before its time".to_owned();
            (Vec::new(), vec![Missing { probe: "all".into(), what, disables: "everything".into() }])
        });
        let mut record = Probes { slot_s: self.slots.length.as_secs_f64(), ..Probes::default() };
        let mut lost = Vec::new();
        let Some(opened) = trial.opened_ns.map(Time) else {
            missing.push(Missing {
                probe: "all".into(),
                what: "a trial that tells when its window opened".into(),
                disables: "everything, since what was seen cannot be laid beside the window".into(),
            });
            record.missing = missing;
            return Seen { record, lost };
        };
        let closed = opened + Nanos((1e9 * trial.window_s) as u64);
        let within: Vec<&Slot> = slots.iter().filter(|slot| slot.is_within(opened, closed)).collect();
        record.slots = within.len() as u32;
        for probe in self.wanted.in_slots() {
            if missing.iter().any(|missing| missing.probe == probe.name()) {
                continue;
            }
            let Some((sum, seconds)) = sum(&within, probe) else {
                missing.push(Missing {
                    probe: probe.name().into(),
                    what: format!("a window of at least {:.1} s", 4.0 * record.slot_s),
                    disables: "all of it: no slot lies wholly within this window".into(),
                });
                continue;
            };
            lost.extend(sum.enter(seconds, &mut record));
            record.overhead.push(overhead::of(probe, &within, &trial.windows, opened));
        }
        if let Some(io) = &mut record.io {
            io.over_time = input_output::over_time(&slots, opened, closed);
        }
        sockets::hold_against(trial.mean_service_us, &mut record);
        record.missing.extend(missing);
        Seen { record, lost }
    }
}

/// Sum of the results of `probe` in `slots`, and the time that it observed.
fn sum(slots: &[&Slot], probe: Probe) -> Option<(Box<dyn Reading>, f64)> {
    let mut seconds = 0.0;
    let mut sum: Option<Box<dyn Reading>> = None;
    for slot in slots {
        let Some((_, reading)) = slot.readings.iter().find(|(of, _)| *of == probe) else { continue };
        seconds += slot.to.since(slot.from).as_secs_f64();
        match &mut sum {
            Some(sum) => sum.add(reading.as_ref()),
            None => sum = Some(reading.same()),
        }
    }
    sum.map(|sum| (sum, seconds))
}

/// Runs the probes until it is stopped.
fn watch(
    probes: &[Probe],
    subject: &Subject,
    slots: Slots,
    stop: &Receiver<()>,
    ready: &Sender<()>,
) -> (Vec<Slot>, Vec<Missing>) {
    let mut missing = Vec::new();
    let mut own_ports = Vec::new();
    let mut instruments: Vec<(usize, Box<dyn Instrument>)> = Vec::new();
    // The probe that requests counters begins first and ends last, so that no other probe sees its requests.
    let (asking, others): (Vec<_>, Vec<_>) =
        probes.iter().enumerate().partition(|(_, probe)| **probe == Probe::Server);
    for (j, &probe) in asking.into_iter().chain(others) {
        let opened: Result<Box<dyn Instrument>, Vec<Missing>> = match probe {
            Probe::Stages => stages::open(subject),
            Probe::Cpu => processor::open(subject),
            Probe::RunQueue => scheduling::open(subject, &mut missing),
            Probe::Sockets => sockets::open(subject, &own_ports),
            Probe::Server => server::open(subject, &mut own_ports, &mut missing),
            Probe::Counters => counters::open(subject, &mut missing),
            Probe::Io => input_output::open(subject),
            // The generator runs this probe.
            Probe::Client => continue,
        };
        match opened {
            Ok(instrument) => instruments.push((j, instrument)),
            Err(lacks) => missing.extend(lacks),
        }
    }
    let _ = ready.send(());
    let mut seen = Vec::new();
    for i in 0.. {
        let begun = monotonic_now();
        let mut looking = Vec::new();
        instruments.retain_mut(|(j, instrument)| {
            let resumed =
                if slots.looks(*j, i) { instrument.resume().map(|()| looking.push(*j)) } else { Ok(()) };
            if let Err(error) = &resumed {
                missing.push(Missing {
                    probe: instrument.probe().name().into(),
                    what: format!("it could not begin to look: {error}"),
                    disables: "all of it".into(),
                });
            }
            resumed.is_ok()
        });
        let running = || host::threads::running_ns(Path::new("/"), &subject.pids);
        let server = running();
        let from = monotonic_now();
        let ended = stop.recv_timeout(slots.length) != Err(RecvTimeoutError::Timeout);
        let to = monotonic_now();
        let server_ns = server.zip(running()).map(|(before, now)| now.saturating_sub(before));
        let (looked, readings) = (Vec::new(), Vec::new());
        let mut slot = Slot { from, to, readings_span: (begun, to), looked, readings, server_ns };
        for (_, instrument) in instruments.iter_mut().rev().filter(|(j, _)| looking.contains(j)) {
            slot.looked.push(instrument.probe());
            slot.readings.push((instrument.probe(), instrument.pause()));
        }
        slot.readings_span.1 = monotonic_now();
        seen.push(slot);
        if ended {
            break;
        }
    }
    (seen, missing)
}

#[cfg(test)]
mod tests {
    use results::Verdict;

    use super::*;

    fn trial(window_s: f64) -> Trial {
        Trial { window_s, verdict: Verdict::Valid, ..Trial::default() }
    }

    fn own() -> Subject {
        Subject { pids: vec![std::process::id()], ports: vec![1], ..Subject::default() }
    }

    #[test]
    fn what_was_seen_in_the_window_is_in_the_record() {
        // On a busy machine the probes take long to begin and to end a slot.
        let mut trials = [4.0, 8.0, 16.0].into_iter().map(|window_s| {
            let mut trial = trial(window_s);
            let window = Duration::from_secs_f64(window_s);
            let observer = Observer::start(&"all".parse().unwrap(), own(), window);
            trial.window_opened_monotonic_ns = Some(monotonic_now().0);
            thread::sleep(window);
            observer.finish(&mut trial);
            trial
        });
        let has_slots = |trial: &Trial| trial.probes.as_ref().is_some_and(|probes| probes.slots >= 3);
        let trial = trials.find(has_slots).expect("three slots");
        let probes = trial.probes.unwrap();
        assert_eq!(
            probes.asked,
            ["stages", "cpu", "runqueue", "sockets", "server", "client", "counters", "io"]
        );
        let scheduling = probes.scheduling.as_ref().unwrap();
        assert!(scheduling.observed_s >= probes.slot_s, "{scheduling:?}");
        assert!(scheduling.observed_s <= trial.window_s, "{scheduling:?}");
        assert!(
            probes.io.is_some() || probes.missing.iter().any(|missing| missing.probe == "io"),
            "{probes:?}"
        );
        if let Some(io) = &probes.io {
            assert!(io.over_time.len() >= 3, "{io:?}");
        }
        assert_eq!(trial.verdict, Verdict::Valid);
    }

    #[test]
    fn throughout_a_trial_all_look_until_it_ends() {
        let wanted: ProbeSet = "sockets,io".parse().unwrap();
        let observer = Observer::throughout(&wanted, own());
        // Longer than any slot of a window.
        thread::sleep(Duration::from_secs(2));
        drop(observer.stop);
        let (slots, missing) = observer.thread.join().unwrap();
        let [slot] = &slots[..] else { panic!("{} slots", slots.len()) };
        assert!(slot.to.since(slot.from).as_secs_f64() >= 0.5);
        let all = slot.looked.len() + missing.len();
        assert!(all >= 2 && !slot.looked.is_empty(), "{:?} {missing:?}", slot.looked);
        Observer::throughout(&wanted, own()).dismiss();
    }

    #[test]
    fn a_window_that_is_not_known_or_too_short_is_told() {
        let observe = |opened: Option<u64>, window_s: f64| {
            let mut trial = Trial { window_opened_monotonic_ns: opened, ..trial(window_s) };
            let set = "io".parse().unwrap();
            Observer::start(&set, own(), Duration::from_millis(1)).finish(&mut trial);
            trial.probes.unwrap().missing.pop().unwrap()
        };
        assert!(observe(None, 1.0).what.contains("when its window opened"));
        assert!(observe(Some(0), 1e-6).disables.contains("no slot lies wholly"));
    }
}
