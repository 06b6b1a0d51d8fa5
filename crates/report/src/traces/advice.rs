//! The first resource to saturate, and the expected gain from one more of it, in words.

use std::fmt;

use results::{Resource, ResourceKind, Service, Trial};

use crate::number;
use crate::subject::Subject;

/// The busiest of the known resources.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Advice(Resource);

/// The advice for the services of a trial's target; `None` if their threads or their use of resources are unknown.
pub(crate) fn advice(subjects: &[Subject<'_>], trial: &Trial) -> Option<Advice> {
    let target =
        subjects.iter().filter_map(|subject| subject.target).find(|target| target.name == trial.target)?;
    of_services(&target.services, trial)
}

fn of_services(services: &[Service], trial: &Trial) -> Option<Advice> {
    Resource::first(Resource::all_of(services, trial)).map(Advice)
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Advice(resource) = self;
        let micros = |us: f64| number::micros(Some(us));
        let used = number::percent(resource.used());
        let (busy, count) = (number::three(resource.busy), number::short(resource.count));
        let times = number::ratio(resource.with_one_more() / resource.count);
        match &resource.kind {
            ResourceKind::Threads { service, .. } => write!(
                f,
                "Saturates first: {service}, of whose {count} threads {busy} are occupied ({used}). One more instance ({} threads) should \
                 cut the mean wait for them from {} to {} and a request from {} to {} at this load (Erlang’s C), and carry up to {times} as much.",
                number::short(resource.with_one_more()),
                micros(resource.waits_us.0),
                micros(resource.waits_us.1),
                micros(resource.mean_us),
                micros(resource.mean_with_one_more_us()),
            ),
            ResourceKind::Processors { most } => {
                let who = most.as_ref().map_or(String::new(), |(name, share)| {
                    format!(", {} of it by {name}", number::percent(*share))
                });
                write!(
                    f,
                    "Saturate first: the processors, of which {busy} of {count} are busy ({used}){who}. One more should cut a request’s mean time \
                     from {} to {} at this load (T = S / (1 − ρ), without what stores take), and carry up to {times} as much.",
                    micros(resource.mean_us),
                    micros(resource.mean_with_one_more_us()),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use results::{
        Arrivals, Group, Operation, Part, PartTime, ServiceTime, ServiceUsage, TracedOperation, Traces,
    };

    use super::*;

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
