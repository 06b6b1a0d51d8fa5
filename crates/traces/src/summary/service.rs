use std::collections::BTreeMap;

use results::{Among, Part, PartTime, ServiceTime};
use units::Nanos;

use super::group::Groups;
use super::{Names, Traced};
use crate::{Segment, SpanKind};

/// The name that owns the wait before a request was sent.
const CLIENT: &str = "client";

/// The owner of a part's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    /// The client, before the request was sent.
    Client,
    /// Between the generator and the service at which requests come in.
    Front,
    /// The service, or the store, of this number.
    Service(u16),
}

impl Owner {
    fn name(self, names: &Names) -> String {
        match self {
            Owner::Client => CLIENT.into(),
            Owner::Front => Part::Front.words().into(),
            Owner::Service(number) => names.service(number),
        }
    }
}

/// The calls and times of each service and store in an operation's requests, sorted by time, the longest first.
pub(crate) fn all(names: &Names, traced: &[Traced<'_>], groups: &Groups) -> Vec<ServiceTime> {
    let mut sums: BTreeMap<Owner, Sums> = BTreeMap::new();
    for (place, one) in traced.iter().enumerate() {
        let (in_middle, in_tail) = (groups.middle.contains(&place), groups.tail.contains(&place));
        for (owner, part, ns) in parts(one) {
            let time = sums.entry(owner).or_default().parts.entry(part).or_default();
            time.all_ns += ns;
            time.middle_ns += if in_middle { ns } else { 0 };
            time.tail_ns += if in_tail { ns } else { 0 };
        }
        count_calls(&mut sums, one);
    }
    let named = |(owner, sums): (Owner, Sums)| ServiceTime {
        name: owner.name(names),
        calls: sums.calls,
        cpu_ns: sums.cpu_ns,
        busy_ns: sums.busy_ns,
        parts: sums.parts.into_iter().map(|(part, time)| PartTime { part, ..time }).collect(),
    };
    let mut services: Vec<ServiceTime> = sums.into_iter().map(named).collect();
    let whole = |service: &ServiceTime| service.ns(Among::All, |_| true);
    services.sort_by(|a, b| whole(b).cmp(&whole(a)).then_with(|| a.name.cmp(&b.name)));
    services
}

/// The parts of a request together: the generator's response time, to the nanosecond.
pub(crate) fn total(one: &Traced<'_>) -> Nanos {
    Nanos(parts(one).map(|(.., ns)| ns).sum())
}

/// A request's time from when it was due: owner, part and duration of each piece. Units: ns.
fn parts(one: &Traced<'_>) -> impl Iterator<Item = (Owner, Part, u64)> {
    let before = one.root.before_sending().0;
    let before = (before > 0).then_some((Owner::Client, Part::BeforeSending, before));
    let segments = one.request.parts_of(one.root.since_sending());
    let after = segments.into_iter().map(|segment| (owner(&segment), segment.part, segment.time.0));
    before.into_iter().chain(after)
}

#[derive(Default)]
struct Sums {
    calls: u64,
    cpu_ns: u64,
    busy_ns: u64,
    parts: BTreeMap<Part, PartTime>,
}

/// The service that a segment is charged to: the one at which the time can be saved. Transit to a service is long if it
/// reads its socket late, and the time in a store is not its caller's doing.
fn owner(segment: &Segment) -> Owner {
    match segment.part {
        Part::Front => Owner::Front,
        Part::Transit | Part::Store | Part::Unexplained => Owner::Service(segment.peer),
        _ => Owner::Service(segment.service),
    }
}

/// Counts the calls of a request, whether it waited for them or not.
fn count_calls(sums: &mut BTreeMap<Owner, Sums>, one: &Traced<'_>) {
    let served = one.request.root.all();
    let calls = served.iter().flat_map(|served| &served.calls).map(|call| &call.span);
    let ends = served.iter().map(|served| &served.span);
    for span in ends.chain(calls).chain(&one.request.orphans) {
        let (number, busy) = match span.kind {
            SpanKind::Server => (span.service, span.stamps[5] - span.stamps[1]),
            SpanKind::Store => (span.peer, span.length().0),
            // Its server span counts the call.
            SpanKind::Client => continue,
        };
        let sums = sums.entry(Owner::Service(number)).or_default();
        sums.calls += 1;
        sums.cpu_ns += span.cpu.0;
        sums.busy_ns += busy;
    }
}
