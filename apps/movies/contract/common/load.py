"""Many requests at once."""

import time

import children
import wire
from cases import steps_of
from common.probe import any_arguments, arguments_of, case, flush, good, is_good, prepared, probe
from together import together

# Longest wait for any event. Units: s.
PATIENCE = 5.0


@case("serves 32 connections at once")
def _(s):
    if len(steps_of(s.probe)) > 1:
        def one(_):
            with s.main.connect() as connection:
                return connection.call("ping", [])
        return [f"ping: {answer}" for answer in together(32, one) if answer.kind != "result"]
    last = steps_of(s.probe)[-1]
    s.env.fresh = {}
    arguments = []
    for _ in range(32):
        s.env.fresh = {}
        arguments.append(arguments_of(s, last))

    def one(place):
        with s.main.connect() as connection:
            return connection.call(last["method"], arguments[place], deadline_ms=10000, sampled=True)

    answers = together(32, one)
    s.keep_traces([(answer, last["method"]) for answer in answers])
    return [line for answer in answers for line in good(s, answer)][:3]


@case("answers others while connections are silent")
def _(s):
    # Like connections of vanished callers, or idle ones: they must not occupy all threads.
    process, silent = s.start(threads=2), []
    try:
        for place in range(6):
            silent.append(process.connect())
            if place % 2:
                silent[-1].call("ping", [])
        return [] if process.alive() else ["ping is not answered"]
    finally:
        for connection in silent:
            connection.socket.close()
        process.close()


@case("refuses what is beyond its queue")
def _(s):
    process = s.start(threads=1, queue=1)
    locks = []
    try:
        first = probe(s, process=process)
        wrong = good(s, first)
        last = steps_of(s.probe)[-1]
        prepared(s, process)
        blocked = bool(s.upstreams or s.stores)
        if s.upstreams:
            s.fakes.gate.clear()
        elif s.stores:
            flush(s)
            locks = [s.world.postgres.lock(domain) for domain in s.stores]
        # Without anything to wait for, requests are quick: more of them, and more than once.
        for _ in range(1 if blocked else 20):
            refused, sent = _flood(s, process, last, 12 if blocked else 64, 1.0 if blocked else 0.3)
            if refused:
                break
        # One is served, one waits; the kernel, or an event loop between two requests, may hold two more.
        if refused < (sent - 4 if blocked else 1):
            wrong.append(f"{refused} of {sent} requests at once were answered `overloaded: `, with threads=1 and queue=1")
        s.fakes.gate.set()
        for lock in locks:
            lock.close()
        locks = []
        after = children.until(lambda: _counter(process, "overloaded") >= min(refused, 1), PATIENCE, 0.1)
        if not after:
            wrong.append("the counter `overloaded` does not say so")
        answer = children.until(lambda: _maybe(s, process), PATIENCE, 0.1)
        return wrong if answer else [*wrong, f"it does not answer the probe within {PATIENCE} s afterwards"]
    finally:
        s.fakes.gate.set()
        for lock in locks:
            lock.close()
        process.close()


def _counter(process, name):
    try:
        return process.counters()[name]
    except (OSError, wire.Closed, TypeError, KeyError):
        return -1


def _maybe(s, process):
    try:
        return is_good(s, probe(s, process=process))
    except (OSError, wire.Closed):
        return False


def _flood(s, process, step, number: int, wait: float):
    """How many of so many requests at once were answered `overloaded: `, and how many were sent."""
    connections, refused, sent = [], 0, 0
    try:
        for place in range(number):
            try:
                connections.append(process.connect())
            except OSError:
                break
        frames = [(connection, connection.frame(step["method"], any_arguments(s, step), {"d": "3000"}, 5)) for connection in connections]
        for connection, frame in frames:
            connection.socket.settimeout(wait)
            try:
                connection.socket.sendall(frame)
                sent += 1
            except OSError:
                pass
        end = time.monotonic() + wait
        for connection, frame in frames:
            try:
                connection.socket.settimeout(max(0.001, end - time.monotonic()))
                answer = connection.read(0, 0, 5, step["method"], False)
                refused += answer.begins("overloaded: ")
            except (OSError, wire.Closed):
                pass
        return refused, sent
    finally:
        for connection in connections:
            connection.socket.close()
