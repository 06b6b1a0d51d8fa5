"""Runs a case of contract.toml."""

import time

import children
import fastcgi
import vectors
import wire
from subject import ContractError
from together import together
from values import differences, json_or, make, short

# Longest wait until `after` holds. Units: s.
AFTER = 2.0


def steps_of(case: dict) -> list:
    if "steps" in case:
        return case["steps"]
    if "method" not in case and "request" not in case:
        raise ContractError("a case has `method`, `request` or `steps`")
    return [case]


def ask(subject, connection, step: dict, sampled=True):
    return connection.call(step["method"], make(step.get("arguments", []), subject.env), deadline_ms=step.get("deadline_ms", 2000), sampled=sampled)


def expect(subject, step: dict, answer, needed=True) -> list:
    """What is wrong with an answer."""
    env = subject.env
    if "request" in step:
        return fastcgi.expect(subject, step, answer)
    if "refused" in step:
        wanted = step["refused"] if isinstance(step["refused"], dict) else {"code": step["refused"]}
        if answer.kind != "refused":
            return [f"expected Refused {wanted}, got {answer}"]
        if answer.value["code"] != wanted["code"] or wanted.get("what", "") not in answer.value["what"]:
            return [f"expected Refused {wanted}, got {answer.value}"]
        return []
    if "exception" in step:
        if not answer.begins(step["exception"]):
            return [f"expected an application exception that begins `{step['exception']}`, got {answer}"]
        return [] if answer.value[0] == 6 else [f"expected an application exception of type 6, got {answer.value[0]}"]
    if "result" not in step and "fields" not in step:
        if needed:
            raise ContractError("says nothing about the answer: one of result, fields, refused, exception")
        return []
    if answer.kind != "result":
        return [f"expected a result, got {answer}"]
    if "fields" in step:
        if not isinstance(answer.value, dict):
            return [f"expected fields, got {answer}"]
        wrong = []
        for name, value in step["fields"].items():
            wrong += differences(value, answer.value[name], env, name) if name in answer.value else [f"{name}: expected {short(value)}, is not there"]
        return wrong
    return differences(step["result"], answer.value, env)


def run_steps(subject, case: dict):
    """Answers with their steps, and what is wrong with them."""
    process, steps, done, wrong = subject.main, steps_of(case), [], []
    needed = "results" not in case

    def one(step):
        if "request" in step:
            return fastcgi.ask(subject, process, step)
        with process.connect() as connection:
            return ask(subject, connection, step)

    def judge(step, answer, place):
        done.append((answer, step["method"] if "method" in step else fastcgi.method_of(step["request"])))
        where = f"step {place}: " if len(steps) > 1 else ""
        wrong.extend(where + line for line in expect(subject, step, answer, needed))

    if case.get("parallel"):
        for step in steps:
            make(step.get("arguments", []), subject.env)  # numbers of FRESH, before the threads want them
        answers = together(len(steps), lambda place: one(steps[place]))
        subject.env.steps = [answer.value for answer in answers]
        for place, (step, answer) in enumerate(zip(steps, answers)):
            judge(step, answer, place)
    else:
        for place, step in enumerate(steps):
            time.sleep(step.get("wait_ms", 0) / 1000)
            if step.get("concurrent", 1) > 1:
                make(step.get("arguments", []), subject.env)
                answers = together(step["concurrent"], lambda _: one(step))
            else:
                answers = [one(step) for _ in range(step.get("repeats", 1))]
            subject.env.steps.append(answers[0].value)
            for answer in answers:
                judge(step, answer, place)
    if "results" in case:
        expected = case["results"]
        wrong += differences(expected if isinstance(expected, dict) else {"SOME_ORDER": expected}, [answer.value if answer.kind == "result" else str(answer) for answer, _ in done],
                             subject.env, "results")
    return done, wrong


def check_calls(subject, wanted: list, traces: set) -> list:
    """What is wrong with the calls that the fakes have seen for the requests of these traces."""
    left, wrong, steps = subject.fakes.seen(traces), [], []
    for one in wanted:
        times, found = one.get("times", 1), []
        for call in left:
            if len(found) == times:
                break
            if (call.service, call.method) != (one["service"], one["method"]):
                continue
            if "replica" in one:
                replica = one["replica"]
                if isinstance(replica, dict):
                    key = str(make(replica["SHARD_OF"], subject.env)).encode()
                    replica = vectors.jump(vectors.fnv1a64(key), subject.service.get("replicas", {}).get(one["service"], 1))
                if call.replica != replica:
                    continue
            if "arguments" in one:
                arguments = subject.fakes.by_name(one["service"], one["method"], one["arguments"])
                if differences(arguments, call.arguments, subject.env, partial=True):
                    continue
            found.append(call)
        left = [call for call in left if not any(call is other for other in found)]
        if len(found) < times and not one.get("idle"):
            wrong.append(f"{times} calls of {short(one)}: got {len(found)}; others: {[(c.service, c.replica, c.method, c.arguments) for c in left]}")
        steps.append((one.get("step", 0), found))
    for call in left:
        wrong.append(f"a call that is not expected: {call.service}[{call.replica}].{call.method}({short(call.arguments)})")
    for number, found in steps:
        before = [call.ended for other, earlier in steps if other < number for call in earlier]
        for call in found:
            if before and call.began < max(before):
                wrong.append(f"{call.service}.{call.method} of step {number} began before all of the steps before were answered")
    return wrong


def check_after(subject, after: dict) -> list:
    wrong = []
    for domain, tables in after.get("rows", {}).items():
        for table, rows in tables.items():
            where = f"{domain}.{table}"
            if isinstance(rows, dict):
                rows = rows["only"]
                keys = sorted(subject.world.postgres.keys(domain, table))
                expected = sorted(str(make(row["id"], subject.env)) for row in rows)
                if keys != expected:
                    wrong.append(f"{where}: expected the rows {expected}, got {keys}")
            for row in rows:
                key = str(make(row["id"], subject.env))
                got = subject.world.postgres.row(domain, table, key)
                if row.get("GONE"):
                    wrong += [f"{where}: the row {key} is there: {short(got)}"] if got else []
                elif got is None:
                    wrong.append(f"{where}: there is no row {key}; there are {sorted(subject.world.postgres.keys(domain, table))[:20]}")
                else:
                    wrong += differences({name: value for name, value in row.items() if name != "id"},
                                         {name: value for name, value in got.items() if name in row and name != "id"}, subject.env, f"{where} {key}")
    for domain, entries in after.get("cache", {}).items():
        for key, value in entries.items():
            try:
                got = subject.world.caches.get(domain, subject.shards, key)
            except ValueError as error:
                wrong.append(str(error))
                continue
            if value is False:
                wrong += [f"cache {key}: is there: {short(got)}"] if got is not None else []
            elif got is None:
                wrong.append(f"cache {key}: is not there")
            else:
                made = json_or(got) if isinstance(value, dict) and "HEX" not in value else got
                wrong += differences(value, got if made is None else made, subject.env, f"cache {key}")
    return wrong


# Runs of a case in which a cache did not answer in time.
MOST_RUNS = 3


def run_case(subject, case: dict) -> list:
    """What is wrong; empty where it passes.

    A cache that does not answer within 50 ms is left out by the services. On a busy machine that happens by chance, and
    the case runs again."""
    for _ in range(MOST_RUNS):
        main, before = subject.main, cache_errors(subject)
        wrong = run_once(subject, case)
        if not wrong or cache_errors(subject) <= (before if subject.main is main else 0):
            break
    return wrong


def cache_errors(subject) -> int:
    try:
        is_up = subject.caches and subject.main and subject.main.process.poll() is None
        return subject.main.counters().get("cache.errors", 0) if is_up else 0
    except (wire.Closed, OSError):
        return 0


def run_once(subject, case: dict) -> list:
    wrong = []
    if subject.main is None or case.get("restart") or subject.main.process.poll() is not None:
        wrong += subject.restart()
    subject.reset(case)
    before = subject.main.counters()["degraded"] if "degraded" in case else 0
    try:
        done, lines = run_steps(subject, case)
        wrong += lines
        unset = [call for call in subject.fakes.seen() if call.answered.startswith("bad request")]
        wrong += [f"{call.service}: {call.answered}" for call in unset]
        if "calls" in case:
            traces = {answer.trace.hex() for answer, _ in done}
            # One that a service has given up may come late.
            children.until(lambda: not check_calls(subject, case["calls"], traces), AFTER, 0.05)
            wrong += check_calls(subject, case["calls"], traces)
        if "after" in case:
            children.until(lambda: not check_after(subject, case["after"]), AFTER, 0.1)
            wrong += check_after(subject, case["after"])
        if "degraded" in case:
            grew = subject.main.counters()["degraded"] - before
            if (grew > 0) != case["degraded"]:
                wrong.append(f"the counter `degraded` grew by {grew}")
        subject.keep_traces([(answer, method) for answer, method in done if method])
    except (wire.Closed, wire.Malformed, OSError) as error:
        code = subject.main.process.poll()
        wrong.append(f"{type(error).__name__}: {error}" + (f"; it ended with exit code {code}: {subject.main.errors()}" if code is not None else ""))
        # Its spans cannot be told from others.
        subject.traced = []
        subject.main.close()
        subject.main = None
    if any(table.get("dead") for table in case.get("upstream", [])) and subject.main:
        # Its connections to the service that was dead are broken; the next case has nothing to do with it.
        wrong += subject.restart()
    return wrong
