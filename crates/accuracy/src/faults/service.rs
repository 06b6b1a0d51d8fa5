use dist::{Gap, Purpose, Streams};
use reference_servers::Stalls;
use units::{Nanos, Time};

/// Service time of each request, determined by the request's number alone.
///
/// So the true response times follow from the schedule: disturbances of a generator do not change them.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    /// Constant part of the service time,
    pub(crate) fixed: Nanos,
    /// and the mean of the additional, exponentially distributed part.
    pub(crate) mean: Nanos,
    pub(crate) seed: u64,
    /// Pauses of the server.
    pub(crate) pauses: Stalls,
    /// Until this time, requests take longer by this factor.
    pub(crate) slow: Option<(Time, f64)>,
    /// Whether it serves any number of requests at once, instead of one after the other.
    pub(crate) at_once: bool,
}

/// The requests of a server, in order of arrival.
pub(crate) struct Queue {
    service: Service,
    free_at: Time,
}

impl Service {
    /// One queue with exponential service times of this mean.
    pub(crate) fn queue(mean: Nanos, seed: u64) -> Service {
        Service { fixed: Nanos::ZERO, mean, seed, pauses: Stalls::default(), slow: None, at_once: false }
    }

    /// Service time of request `seq` if it begins at `at`.
    fn time(&self, seq: u64, at: Time) -> Nanos {
        let mut rng = Streams::new(self.seed).stream(Purpose::Service, seq);
        let drawn = Gap::Exponential(self.mean.0 as f64).sample_ns(&mut rng);
        let factor = self.slow.filter(|(until, _)| at < *until).map_or(1.0, |(_, factor)| factor);
        Nanos((factor * (self.fixed.0 as f64 + drawn)).round() as u64)
    }
}

impl Queue {
    pub(crate) fn new(service: Service) -> Queue {
        Queue { service, free_at: Time(0) }
    }

    /// Adds request `seq`, which arrives at `at`; returns when it is done.
    pub(crate) fn enter(&mut self, at: Time, seq: u64) -> Time {
        let start = if self.service.at_once { at } else { at.max(self.free_at) };
        let time = self.service.time(seq, start);
        self.free_at = self.service.pauses.finish(start, time);
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_takes_what_its_number_says_and_waits_for_those_before_it() {
        let service = Service { fixed: Nanos(100), ..Service::queue(Nanos(0), 1) };
        let done = |service: &Service, arrivals: &[u64]| -> Vec<u64> {
            let mut queue = Queue::new(service.clone());
            (0..).zip(arrivals).map(|(seq, at)| queue.enter(Time(*at), seq).0).collect()
        };
        assert_eq!(done(&service, &[0, 50, 1_000]), [100, 200, 1_100]);
        let at_once = Service { at_once: true, ..service.clone() };
        assert_eq!(done(&at_once, &[0, 50, 1_000]), [100, 150, 1_100]);
        let slow = Service { slow: Some((Time(40), 3.0)), ..service.clone() };
        assert_eq!(done(&slow, &[0, 50]), [300, 400]);
        let paused = Service { pauses: Stalls::once(Time(120), Nanos(1_000)), ..service };
        assert_eq!(done(&paused, &[0, 50]), [100, 1_200]);
        // Each request takes the same time in any order.
        let drawn = Service { at_once: true, ..Service::queue(Nanos(1_000), 7) };
        let [first, second] = [[3, 4], [4, 3]].map(|order| {
            let mut queue = Queue::new(drawn.clone());
            let mut done = order.map(|seq| (seq, queue.enter(Time(0), seq)));
            done.sort_unstable();
            done
        });
        assert_eq!(first, second);
    }
}
