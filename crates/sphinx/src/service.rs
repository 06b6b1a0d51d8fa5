use proto_memcache::binary::Command;
use proto_memcache::server::{Meta, MetaVerb, Request};
use units::{Nanos, Time};

/// The class of a request in the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Get,
    Store,
    Delete,
    Count,
    Touch,
    Other,
}

/// The names of the classes, in their order.
pub(crate) const CLASSES: [&str; 6] = ["get", "store", "delete", "count", "touch", "other"];

impl Class {
    pub(crate) fn of(request: &Request<'_>) -> Class {
        match request {
            Request::Get { .. } | Request::Meta(Meta { verb: MetaVerb::Get, .. }) => Class::Get,
            Request::Store { .. } | Request::Meta(Meta { verb: MetaVerb::Set, .. }) => Class::Store,
            Request::Delete { .. } | Request::Meta(Meta { verb: MetaVerb::Delete, .. }) => Class::Delete,
            Request::Count { .. } | Request::Meta(Meta { verb: MetaVerb::Count, .. }) => Class::Count,
            Request::Touch { .. } | Request::GetAndTouch { .. } => Class::Touch,
            _ => Class::Other,
        }
    }

    pub(crate) fn of_binary(command: &Command<'_>) -> Class {
        match command {
            Command::Get { .. } => Class::Get,
            Command::Store { .. } => Class::Store,
            Command::Delete { .. } => Class::Delete,
            Command::Count { .. } => Class::Count,
            Command::Touch { .. } | Command::GetAndTouch { .. } => Class::Touch,
            _ => Class::Other,
        }
    }
}

/// The upper bounds of all buckets but the last are 1 µs, 2 µs, 4 µs … 0.5 s.
pub(crate) const BUCKETS: usize = 21;

/// How long one class of requests took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// By bucket; not summed up.
    pub(crate) counts: [u64; BUCKETS],
    /// All together. Units: ns.
    pub(crate) sum: u64,
}

impl Times {
    #[inline]
    fn add(&mut self, time: Nanos, requests: u64) {
        self.counts[bucket(time)] += requests;
        self.sum += time.0 * requests;
    }
}

/// The first bucket whose bound is not under `time`.
#[inline]
fn bucket(time: Nanos) -> usize {
    let whole = time.0.div_ceil(1_000);
    (whole.next_power_of_two().trailing_zeros() as usize).min(BUCKETS - 1)
}

/// The bound of a bucket. Units: µs.
pub(crate) fn bound_us(bucket: usize) -> u64 {
    1 << bucket
}

/// Service times of one thread: from the return of a receive to just before the send that carries the reply.
///
/// Both times are read anyway. Requests of one receive, and requests whose replies had to wait for other threads',
/// leave together and count with the longest time. Requests without a reply count until they are executed, for which
/// the clock is read once more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServiceTimes {
    pub(crate) classes: [Times; CLASSES.len()],
}

/// The requests of one connection whose replies have not been sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Batch {
    since: Time,
    requests: [u16; CLASSES.len()],
    any: bool,
    /// When the kernel was last offered output before the last of them was done.
    pub(crate) offered: Option<Time>,
}

impl Batch {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.any
    }

    /// Counts a request received at `at`.
    #[inline]
    pub(crate) fn add(&mut self, class: Class, at: Time) {
        if !self.any {
            *self = Batch { any: true, since: at, ..Batch::default() };
        }
        let count = &mut self.requests[class as usize];
        *count = count.saturating_add(1);
    }
}

impl ServiceTimes {
    /// The replies leave at `at`.
    #[inline]
    pub(crate) fn leave(&mut self, batch: &mut Batch, at: Time) {
        if !batch.any {
            return;
        }
        let time = at.since(batch.since);
        for (class, requests) in self.classes.iter_mut().zip(batch.requests).filter(|(_, n)| *n > 0) {
            class.add(time, u64::from(requests));
        }
        *batch = Batch::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_is_up_to_its_bound() {
        let check = |ns: u64, expect: usize| assert_eq!(bucket(Nanos(ns)), expect, "{ns}");
        check(0, 0);
        check(1_000, 0);
        check(1_001, 1);
        check(2_000, 1);
        check(2_001, 2);
        check(524_288_000, 19);
        check(524_288_001, 20);
        check(u64::MAX, 20);
        assert_eq!((bound_us(0), bound_us(10), bound_us(19)), (1, 1024, 524_288));
    }

    #[test]
    fn requests_count_with_the_time_of_their_batch() {
        let (mut times, mut batch) = (ServiceTimes::default(), Batch::default());
        times.leave(&mut batch, Time(5));
        assert_eq!(times, ServiceTimes::default());
        batch.add(Class::Get, Time(1_000));
        batch.add(Class::Get, Time(2_000));
        batch.add(Class::Touch, Time(2_000));
        times.leave(&mut batch, Time(4_000));
        times.leave(&mut batch, Time(9_000));
        let get = times.classes[Class::Get as usize];
        assert_eq!((get.counts[2], get.sum), (2, 6_000));
        assert_eq!(times.classes[Class::Touch as usize].counts[2], 1);
        assert_eq!(times.classes[Class::Store as usize], Times::default());
    }
}
