use std::collections::BTreeMap;

use results::{Among, Part, PartTime, ServiceTime};
use traces::{Kind, Segment};

use crate::group::Groups;
use crate::{Names, Traced, part};

/// What the time outside of all services is under; no service has the number 0.
const FRONT: u16 = 0;

/// What each service and store was to the requests of an operation, those first on which most of their time went.
pub(crate) fn all(names: &Names, traced: &[Traced<'_>], groups: &Groups) -> Vec<ServiceTime> {
    let mut sums: BTreeMap<u16, Sums> = BTreeMap::new();
    for (place, one) in traced.iter().enumerate() {
        let (in_middle, in_tail) = (groups.middle.contains(&place), groups.tail.contains(&place));
        for segment in one.request.parts_of(one.root.service_time) {
            let time = sums.entry(owner(&segment)).or_default().parts.entry(part(segment.part)).or_default();
            time.all_ns += segment.time.0;
            time.middle_ns += if in_middle { segment.time.0 } else { 0 };
            time.tail_ns += if in_tail { segment.time.0 } else { 0 };
        }
        count_calls(&mut sums, one);
    }
    let named = |(number, sums): (u16, Sums)| ServiceTime {
        name: if number == FRONT { Part::Front.words().into() } else { names.service(number) },
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

#[derive(Default)]
struct Sums {
    calls: u64,
    cpu_ns: u64,
    busy_ns: u64,
    parts: BTreeMap<Part, PartTime>,
}

/// The number of the service that a segment counts for: that at which the time may be won back. The way to a service is long where
/// its socket is read late, and what a store takes is not its caller's doing.
fn owner(segment: &Segment) -> u16 {
    match segment.part {
        traces::Part::Front => FRONT,
        traces::Part::Transit | traces::Part::Store | traces::Part::Unexplained => segment.peer,
        traces::Part::Pool | traces::Part::Codec | traces::Part::Queue | traces::Part::Application => {
            segment.service
        }
    }
}

/// What services did for a request, whether it waited for them or not.
fn count_calls(sums: &mut BTreeMap<u16, Sums>, one: &Traced<'_>) {
    let served = one.request.root.all();
    let calls = served.iter().flat_map(|served| &served.calls).map(|call| &call.span);
    let ends = served.iter().map(|served| &served.span);
    for span in ends.chain(calls).chain(&one.request.orphans) {
        let (number, busy) = match span.kind {
            Kind::Server => (span.service, span.stamps[5] - span.stamps[1]),
            Kind::Store => (span.peer, span.length().0),
            // Its other end tells it.
            Kind::Client => continue,
        };
        let sums = sums.entry(number).or_default();
        sums.calls += 1;
        sums.cpu_ns += span.cpu.0;
        sums.busy_ns += busy;
    }
}
