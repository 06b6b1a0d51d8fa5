"""Work on all processors, in processes that end with this one."""

import ctypes
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

PR_SET_PDEATHSIG = 1
"""Source: linux/prctl.h."""
LIBC = ctypes.CDLL(None, use_errno=True)


def count() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def die_with(parent: int) -> None:
    """Called in a child of the process `parent`: it is killed where that is."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent may have been killed before this call took effect.
    if os.getppid() != parent:
        os._exit(1)


def each(work: Callable, items: Iterable, chunk: int) -> Iterator:
    """What `work` returns for each item, in their order."""
    with ProcessPoolExecutor(count(), initializer=_begin, initargs=(os.getpid(),)) as pool:
        yield from pool.map(work, items, chunksize=chunk)


def _begin(parent: int) -> None:
    # The parent alone answers Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with(parent)
