"""Histograms of the calls that a service makes, in its counters."""

import itertools
import re

import children
import vectors
from common.probe import case, good, method_of, probe, Skip

KEY = re.compile(r"(edge\..+)\.(wall|queue|application|cpu)\.(\d+)")
KINDS = ("queue", "application", "cpu")
# Times in answers: bounds of buckets, and the largest numbers.
PLANTED = ("0,7,8", "15,16,17", "31,32,1000", "5000000,2147483647,4294967296", "1099511627775,1099511627776,999999999999999999")
# Invalid times, so that only the call itself is counted.
NOTHING = (None, "", "1,2", "1,2,3,4", "-1,2,3", "1,2,x", "1,2,1000000000000000000")


def check(s, ask, judge) -> list:
    """`ask` asks the probe, and `judge` says what is wrong with its answer."""
    before, expected, walls, wrong = s.main.counters(), {}, {}, []
    for times in (*PLANTED, *NOTHING):
        s.fakes.times, seen = times, len(s.fakes.seen())
        answer = ask()
        wrong += judge(answer)
        children.until(lambda: all(call.ended for call in s.fakes.seen()[seen:]), 2)
        for call in s.fakes.seen()[seen:]:
            edge = f"edge.{call.service}.{call.method}"
            walls.setdefault(edge, []).append((vectors.bucket(call.ended - call.began), vectors.bucket(answer.read - answer.sent)))
            for kind, ns in zip(KINDS, times.split(",")) if times in PLANTED else ():
                key = f"{edge}.{kind}.{vectors.bucket(int(ns))}"
                expected[key] = expected.get(key, 0) + 1
    if not walls:
        raise Skip("the probe calls no services")

    def look():
        after = s.main.counters()
        found = {key: KEY.fullmatch(key) for key in after}
        grew = {key: after[key] - before.get(key, 0) for key, match in found.items() if match and after[key] != before.get(key, 0)}
        lines = [f"`{key}` is 0, which need not be said" for key, match in found.items() if match and not after[key]][:3]
        got = {key: count for key, count in grew.items() if found[key][2] != "wall"}
        lines += [f"`{key}` grew by {got.get(key, 0)}, expected {expected.get(key, 0)}" for key in sorted(got.keys() | expected.keys())
                  if got.get(key, 0) != expected.get(key, 0)]
        for edge, bounds in walls.items():
            buckets = {int(found[key][3]): count for key, count in grew.items() if found[key][1] == edge and found[key][2] == "wall"}
            if sum(buckets.values()) != len(bounds):
                lines.append(f"`{edge}.wall` grew by {sum(buckets.values())} in all, {len(bounds)} calls were seen")
            least, most = min(low for low, _ in bounds), max(high for _, high in bounds)
            lines += [f"`{edge}.wall.{bucket}` grew; calls took from bucket {least} to {most}" for bucket in buckets if not least <= bucket <= most]
        return lines

    children.until(lambda: not look(), 2, 0.2)
    return wrong + look()


@case("keeps histograms of all calls, by what they took and what their answers say")
def _(s):
    if not s.upstreams:
        raise Skip("it calls no services")
    # Traced or not, all are counted.
    kinds = itertools.cycle((None, False, True))

    def ask():
        sampled = next(kinds)
        answer = probe(s, sampled=sampled)
        if sampled:
            s.keep_traces([(answer, method_of(s))])
        return answer
    return check(s, ask, lambda answer: good(s, answer))
