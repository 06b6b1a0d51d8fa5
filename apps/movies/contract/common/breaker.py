"""The breaker of calls of an optional service, the same in each chassis that calls others."""

from common.probe import case, is_good, probe, Skip
from opens import DEADLINE, opens


@case("stops asking an optional service that times out again and again, until it answers")
def _(s):
    if not s.upstreams:
        raise Skip("it calls no services")
    seen = len(s.fakes.seen())
    probe(s)
    called = sorted({call.service for call in s.fakes.seen()[seen:]})
    # Without the answer of movie-info no other service is called.
    service = next((one for one in called if one in s.optional), called[0])
    process = s.start(optional=",".join({*s.optional, service}))
    try:
        return opens(s, service, process, lambda: probe(s, process=process, deadline_ms=DEADLINE), lambda answer: is_good(s, answer))
    finally:
        process.close()
