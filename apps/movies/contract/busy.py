"""What is held against the clock fails by chance where other programs have the processors: it is run again there."""

import pathlib

# The most runs, and the share of the processors' time from which on the machine counts as busy.
MOST_RUNS = 3
BUSY = 0.75


def _ticks() -> tuple:
    """Time of all processors since the machine has started: what was used, and all."""
    # Source: proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
    ticks = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def repeated(run, again):
    """What is wrong by `run()`; called again while something is, and the machine was busy meanwhile. `again` gets what was wrong before."""
    for _ in range(MOST_RUNS - 1):
        before = _ticks()
        wrong = run()
        used, time = (now - then for now, then in zip(_ticks(), before))
        if not wrong or used < BUSY * time:
            return wrong
        again(wrong)
    return run()
