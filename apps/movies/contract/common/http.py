"""Those of the common cases that a service which answers HTTP must pass, too."""

import fastcgi
from common import delays, histograms


def _traced(s):
    answer = fastcgi.ask(s, s.main, s.probe)
    s.keep_traces([(answer, fastcgi.method_of(s.probe["request"]))])
    return answer


@fastcgi.case("keeps histograms of all calls, by what they took and what their answers say")
def _(s):
    return histograms.check(s, lambda: _traced(s), lambda answer: fastcgi.expect(s, s.probe, answer)) + s.check_spans()


@fastcgi.case("shows that a service which it calls is slow in the wait for its answer")
def _(s):
    return delays.check_callees(s, lambda: _traced(s)) + s.check_spans()
