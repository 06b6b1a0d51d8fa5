"""The life of a service: configuration, ready line, requests, SIGTERM or `drain`, the end."""

import os
import signal
import sys

from chassis.config import Config, ConfigError
from chassis.counters import Counters
from chassis.log import Log
from chassis.requests import Requests
from chassis.server import Server
from chassis.spans import Spans

# How long requests under way may take at the end. Source: the contract of the application. Units: s.
DRAIN = 2.0
ENDING = {signal.SIGTERM, signal.SIGINT}


def run(service, methods: list, make_handler) -> int:
    """Serves until it is told to end; the exit code. `make_handler(config, log)`: errors of the types OSError and ValueError end it."""
    if len(sys.argv) != 2:
        print(f"usage: {sys.argv[0]} CONFIGFILE", file=sys.stderr)
        return 2
    # For all threads: a handler of Python's would wait for the main one, whichever of them the kernel gives the signal to.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        config = Config.read(sys.argv[1])
        log, counters = Log(config.service, config.instance), Counters()
        handler = make_handler(config, log)
        spans = Spans(config.spans, config.id, config.instance)
        requests = Requests(service, methods, handler, counters, log, lambda: os.kill(os.getpid(), signal.SIGTERM))
        server = Server(config, requests, spans, counters, log)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"{config.service}: cannot start: {error}", file=sys.stderr)
        return 1
    server.start()
    print(f"ready {config.service} {config.host}:{config.port}", flush=True)
    signal.sigwait(ENDING)
    server.drain(DRAIN)
    spans.close()
    return 0
