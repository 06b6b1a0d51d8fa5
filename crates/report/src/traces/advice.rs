//! What saturates first, and what one more of it should bring: an estimate from the busy times of one load.

use std::fmt;

use results::{Among, Part, Service, Trial};

use crate::number;
use crate::subject::Subject;

/// The most that a limit may be taken to be used: beyond it, queues say more about the length of a trial than of a server.
const FULLEST: f64 = 0.98;

/// The resource that is used most of all that were seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Advice {
    kind: Kind,
    /// How many there are: threads of the service, or processors.
    count: f64,
    /// How many of them were busy on average.
    busy: f64,
    /// The mean time of a request that waits for it, now and with one more. Units: µs.
    waits: (f64, f64),
    /// The mean time of a request. Units: µs.
    mean_us: f64,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// The threads of a service, of so many instances.
    Threads { service: String, instances: f64 },
    /// The processors that services share, and the service that used most of them, with its share.
    Processors { most: Option<(String, f64)> },
}

/// Of the services of a trial's target; `None` where their threads, or what they used, are not known.
pub(crate) fn advice(subjects: &[Subject<'_>], trial: &Trial) -> Option<Advice> {
    let target =
        subjects.iter().filter_map(|subject| subject.target).find(|target| target.name == trial.target)?;
    of_services(&target.services, trial)
}

fn of_services(services: &[Service], trial: &Trial) -> Option<Advice> {
    let of_threads = services.iter().filter_map(|service| of_threads(service, trial));
    let all = of_threads.chain(of_processors(services, trial));
    all.filter(|advice| advice.used() > 0.0).max_by(|a, b| a.used().total_cmp(&b.used()))
}

/// Each operation that was traced, with how many of it were answered a second.
fn operations(trial: &Trial) -> impl Iterator<Item = (&results::TracedOperation, f64)> {
    let traced = trial.traces.iter().flat_map(|traces| &traces.operations);
    traced.filter(|operation| operation.all.requests > 0).filter_map(|operation| {
        let outcomes = trial.operations.iter().find(|one| one.name == operation.name)?.outcomes?;
        (trial.window_s > 0.0).then(|| (operation, outcomes.completed as f64 / trial.window_s))
    })
}

/// The mean over all requests of the time that some parts of some services took. Units: µs.
fn mean_us(trial: &Trial, is_meant: impl Fn(&str, Part) -> bool) -> Option<f64> {
    let (mut sum, mut all) = (0.0, 0.0);
    for (operation, rate) in operations(trial) {
        sum += rate * operation.mean_us(Among::All, &is_meant)?;
        all += rate;
    }
    (all > 0.0).then(|| sum / all)
}

/// How many threads of a service were occupied, of those that it has. A service that answers many requests by one thread has more
/// under way than threads: it is told by its processor time.
fn of_threads(service: &Service, trial: &Trial) -> Option<Advice> {
    let count = f64::from(service.threads).max(1.0);
    let mut occupied = 0.0;
    for (operation, rate) in operations(trial) {
        let of = operation.services.iter().find(|one| one.name == service.name);
        let busy_ns = of.map_or(0, |one| one.busy_ns) as f64 / operation.all.requests as f64;
        occupied += rate * busy_ns / 1e9;
    }
    let busy =
        if occupied <= count { occupied } else { processors(service, trial).unwrap_or(0.0).min(count) };
    let wait = mean_us(trial, |name, part| name == service.name && part == Part::Queue)?;
    let instances = f64::from(service.instances.max(1));
    let more = count + count / instances;
    Some(Advice {
        kind: Kind::Threads { service: service.name.clone(), instances },
        count,
        busy,
        waits: (wait, wait * shrunk(count, more, busy)),
        mean_us: mean_us(trial, |_, _| true)?,
    })
}

/// How many processors a service kept busy, from the start of the generator to its end.
fn processors(service: &Service, trial: &Trial) -> Option<f64> {
    let used = trial.services.iter().find(|one| one.name == service.name)?.cpu_s?;
    let time = trial.warmup_s + trial.window_s + trial.drain_s;
    (time > 0.0).then(|| used / time)
}

/// How many of the processors that services were pinned to were busy with them.
fn of_processors(services: &[Service], trial: &Trial) -> Option<Advice> {
    let mut cpus: Vec<usize> = services.iter().flat_map(|service| service.cpus.iter().copied()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let used: Vec<(&str, f64)> = services
        .iter()
        .filter_map(|service| Some((service.name.as_str(), processors(service, trial)?)))
        .collect();
    let busy: f64 = used.iter().map(|(_, used)| used).sum();
    if cpus.is_empty() || busy <= 0.0 {
        return None;
    }
    let count = cpus.len() as f64;
    let most =
        used.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, used)| ((*name).to_owned(), used / busy));
    let whole = mean_us(trial, |_, _| true)?;
    // All but what stores took: their disks do not get faster.
    let own = whole - mean_us(trial, |_, part| part == Part::Store)?;
    let ratio = (busy / count).min(FULLEST);
    let wait = own * ratio;
    let less = ratio * count / (count + 1.0);
    let work = own - wait;
    Some(Advice {
        kind: Kind::Processors { most },
        count,
        busy,
        waits: (wait, work * less / (1.0 - less)),
        mean_us: whole,
    })
}

/// By how much the mean wait for one of `count` gets shorter with `more` of them, `busy` of which are occupied.
///
/// Source: Erlang's formula for M/M/c, W = C(c, a) s / (c − a); Kleinrock, *Queueing Systems I*, 1975, chapter 3.
fn shrunk(count: f64, more: f64, busy: f64) -> f64 {
    let busy = busy.min(FULLEST * count);
    let wait = |count: f64| waiting(count, busy) / (count - busy);
    let now = wait(count);
    if now > 0.0 { wait(more) / now } else { 1.0 }
}

/// The probability that a request waits where `busy` of `count` are occupied: Erlang's C, by his recursion for B.
fn waiting(count: f64, busy: f64) -> f64 {
    let blocked = (1..=count.round() as u32)
        .fold(1.0, |blocked: f64, n| busy * blocked / (f64::from(n) + busy * blocked));
    let ratio = busy / count;
    blocked / (1.0 - ratio + ratio * blocked)
}

impl Advice {
    /// The share that is used, 0 to 1.
    pub(crate) fn used(&self) -> f64 {
        self.busy / self.count
    }

    /// The mean time of a request with one more. Units: µs.
    fn mean_with_one_more(&self) -> f64 {
        self.mean_us - self.waits.0 + self.waits.1
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |us: f64| number::micros(Some(us));
        let used = number::percent(self.used());
        let (busy, count) = (number::three(self.busy), number::short(self.count));
        match &self.kind {
            Kind::Threads { service, instances } => {
                let more = self.count + self.count / instances;
                write!(
                    f,
                    "Saturates first: {service}, of whose {count} threads {busy} are occupied ({used}). One more instance ({} threads) should \
                     cut the mean wait for them from {} to {} and a request from {} to {} at this load (Erlang’s C), and carry up to {} as much.",
                    number::short(more),
                    micros(self.waits.0),
                    micros(self.waits.1),
                    micros(self.mean_us),
                    micros(self.mean_with_one_more()),
                    number::ratio(more / self.count)
                )
            }
            Kind::Processors { most } => {
                let who = most.as_ref().map_or(String::new(), |(name, share)| {
                    format!(", {} of it by {name}", number::percent(*share))
                });
                write!(
                    f,
                    "Saturate first: the processors, of which {busy} of {count} are busy ({used}){who}. One more should cut a request’s mean time \
                     from {} to {} at this load (T = S / (1 − ρ), without what stores take), and carry up to {} as much.",
                    micros(self.mean_us),
                    micros(self.mean_with_one_more()),
                    number::ratio((self.count + 1.0) / self.count)
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use results::{Arrivals, Group, Operation, PartTime, ServiceTime, ServiceUsage, TracedOperation, Traces};

    use super::*;

    #[test]
    fn waits_are_those_of_the_books() {
        let near = |got: f64, expect: f64| assert!((got - expect).abs() < 1e-3, "{got} {expect}");
        // One server: a request waits with the probability ρ. Two at ρ = 0.5: 1/3. Ten at 0.8: 0.4092 (Erlang's table).
        near(waiting(1.0, 0.8), 0.8);
        near(waiting(2.0, 1.0), 1.0 / 3.0);
        near(waiting(10.0, 8.0), 0.4092);
        // From M/M/1 at ρ = 0.5, W = s, to M/M/2 at 0.25, W = s/15.
        near(shrunk(1.0, 2.0, 0.5), 1.0 / 15.0);
        assert!(shrunk(1.0, 2.0, 5.0) < 0.1);
    }

    /// A service that 200 requests a second call, which occupies a thread for 3 ms after 2 ms in its queue.
    fn said(threads: u32, cpu_s: f64) -> String {
        let plot = ServiceTime {
            name: "plot".into(),
            calls: 100,
            busy_ns: 100 * 3_000_000,
            parts: vec![
                PartTime { part: Part::Queue, all_ns: 100 * 2_000_000, ..PartTime::default() },
                PartTime { part: Part::Application, all_ns: 100 * 3_000_000, ..PartTime::default() },
            ],
            ..ServiceTime::default()
        };
        let traced = TracedOperation {
            name: "browse".into(),
            all: Group { requests: 100, root_ns: 100 * 5_000_000, tracer_ns: 0 },
            services: vec![plot],
            ..TracedOperation::default()
        };
        let outcomes = Arrivals { intended: 2_000, completed: 2_000, ..Arrivals::default() };
        let trial = Trial {
            window_s: 10.0,
            operations: vec![Operation {
                name: "browse".into(),
                outcomes: Some(outcomes),
                ..Operation::default()
            }],
            services: vec![ServiceUsage {
                name: "plot".into(),
                cpu_s: Some(cpu_s),
                ..ServiceUsage::default()
            }],
            traces: Some(Traces { operations: vec![traced], ..Traces::default() }),
            ..Trial::default()
        };
        let plot =
            Service { name: "plot".into(), threads, instances: 1, cpus: vec![0], ..Service::default() };
        of_services(&[plot], &trial).map_or(String::new(), |advice| advice.to_string())
    }

    #[test]
    fn what_is_used_most_is_named_with_its_numbers() {
        // 0.6 of one thread. With two, W falls from 0.6/0.4 to C(2, 0.6)/1.4 of a service time.
        let words = said(1, 1.0);
        let expect = "Saturates first: plot, of whose 1 threads 0.600 are occupied (60 %). One more instance (2 threads) should cut the mean \
                      wait for them from 2.00 ms to 132 µs and a request from 5.00 ms to 3.13 ms at this load (Erlang’s C), and carry up to \
                      2.00× as much.";
        assert_eq!(words, expect);
        // 9 s of 10 on one processor.
        let words = said(8, 9.0);
        let expect =
            "Saturate first: the processors, of which 0.900 of 1 are busy (90 %), 100 % of it by plot.";
        assert!(words.starts_with(expect), "{words}");
        assert!(words.contains("from 5.00 ms to 909 µs"), "{words}");
    }
}
