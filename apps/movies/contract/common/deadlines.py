"""Deadlines, those that come and those that are passed on."""

from cases import steps_of
from common.probe import any_arguments, case, good, grown, method_of, probe, Skip


@case("refuses a spent deadline")
def _(s):
    before, seen, wrong = s.main.counters(), len(s.fakes.seen()), []
    # A probe of several steps makes calls of its own, before.
    *earlier, last = steps_of(s.probe)
    s.env.fresh, s.env.steps = {}, [None] * len(earlier)
    with s.main.connect() as connection:
        answer = connection.call(last["method"], any_arguments(s, last), headers={"d": "0"}, sampled=True)
    s.keep_traces([(answer, last["method"])])
    if not answer.begins("deadline: ") or answer.value[0] != 6:
        wrong.append(f"d=0: expected an application exception of type 6 that begins `deadline: `, got {answer}")
    if len(s.fakes.seen()) > seen:
        wrong.append("it called others")
    grew = grown(s, before, "deadline")
    return wrong if grew["deadline"] == 1 or wrong else [f"the counter `deadline` grew by {grew['deadline']}, not by 1"]


@case("passes on what is left of the deadline")
def _(s):
    if not s.upstreams:
        raise Skip("it calls no services")
    wrong = []
    for sent in (1500, None):
        answer = probe(s, deadline_ms=sent, sampled=True)
        s.keep_traces([(answer, method_of(s))])
        wrong += good(s, answer)
        calls = s.fakes.seen({answer.trace.hex()})
        limits = s.service.get("deadline_ms", {})
        if not calls:
            return [*wrong, "the probe reached no fake with the trace that was sent"]
        for call in calls:
            left, most = call.headers.get("d", ""), min(sent or 2000, limits.get(call.service, 10**9))
            if not left.isdigit() or not 0 < int(left) <= most or (sent and int(left) == sent):
                wrong.append(f"{call.service}.{call.method} was sent d=`{left}`; the request had {sent or 'no d, so 2000'}")
    return wrong
