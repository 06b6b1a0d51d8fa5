"""From the frame of a request to that of its answer: decodes, asks the handler, encodes, and counts."""

import time
from dataclasses import dataclass

from movies_idl import Chassis
from movies_idl.ttypes import Refused
from thrift.Thrift import TApplicationException

from chassis import spans as outcomes
from chassis.context import Context
from chassis.frame import Frame, encode
from chassis.method import Call, Method, answer, refusal

INTERNAL, UNKNOWN_METHOD = TApplicationException.INTERNAL_ERROR, TApplicationException.UNKNOWN_METHOD


@dataclass
class Answer:
    """What is written, and what is known of it before it has been."""

    data: bytes
    context: Context
    method: int | None
    outcome: int
    """a to e of the server span. CLOCK_MONOTONIC, units: ns."""
    stamps: list
    cpu: int


class Requests:
    def __init__(self, service, methods: list, handler, counters, log, drain):
        """`methods`: of `service`, in the registry's order; `handler` has one of the same name for each, with the context first."""
        self._counters, self._log = counters, log
        self._methods = {name: Method(service, name, place, getattr(handler, name)) for place, name in enumerate(methods)}
        for name, call in (("ping", lambda _: time.monotonic_ns()), ("counters", lambda _: counters.all()), ("drain", lambda _: drain())):
            self._methods[name] = Method(Chassis, name, None, call)

    def answer(self, frame: Frame, arrived: int, dequeued: int) -> Answer:
        """Errors: BadFrame."""
        cpu = time.thread_time_ns()
        context = Context.of(frame.headers, arrived)
        call = Call(frame.message)
        method = self._methods.get(call.name)
        decoded = time.monotonic_ns()
        if method is None:
            call.skip()
            message, outcome = refusal(call, UNKNOWN_METHOD, f"there is no method {call.name[:80]}"), outcomes.FAILED
        elif method.place is not None and context.is_spent():
            message, outcome = refusal(call, INTERNAL, "deadline: spent before the request was begun"), outcomes.DEADLINE
        else:
            arguments = call.arguments(method)
            decoded = time.monotonic_ns()
            result, outcome = self._ask(method, context, arguments)
            returned = time.monotonic_ns()
            message = refusal(call, INTERNAL, result) if isinstance(result, str) else answer(call, result)
        if method is None or outcome == outcomes.DEADLINE:
            returned = time.monotonic_ns()
        cpu = time.thread_time_ns() - cpu
        headers = None
        if frame.headers is not None:
            headers = {"s": f"{dequeued - arrived},{returned - decoded},{cpu}"}
        data = encode(message, headers, frame.sequence)
        stamps = [arrived, dequeued, decoded, returned, time.monotonic_ns()]
        place = method.place if method else None
        if method is None or place is not None:
            self._counters.add(requests=1, queue_ns=dequeued - arrived, application_ns=returned - decoded, cpu_ns=cpu,
                               refused=outcome == outcomes.REFUSED, errors=outcome == outcomes.FAILED,
                               deadline=outcome == outcomes.DEADLINE)
        return Answer(data, context, place, outcome, stamps, cpu)

    def overloaded(self, frame: Frame, queue: int) -> bytes:
        """The frame that refuses a request for which there is no room. Errors: BadFrame."""
        message = refusal(Call(frame.message), INTERNAL, f"overloaded: {queue} connections wait already")
        return encode(message, None if frame.headers is None else {"s": "0,0,0"}, frame.sequence)

    def _ask(self, method: Method, context: Context, arguments: list):
        """The structure of the result, or the text of an application exception."""
        result = method.result()
        try:
            if None in arguments:
                raise TypeError(f"{method.name} lacks an argument")
            success = method.call(context, *arguments)
            if method.result.thrift_spec:
                result.success = success
            return result, outcomes.OK
        except Refused as refused:
            result.refused = refused
            return result, outcomes.REFUSED
        except Exception as error:  # after any error this connection and the others are still served
            self._log.error("a request failed", method=method.name, error=repr(error))
            return f"internal: {type(error).__name__}", outcomes.FAILED
