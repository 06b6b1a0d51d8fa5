"""Processes that end when the runner does, however it ends, and the folder of all files, which goes with it."""

import ctypes
import os
import pathlib
import pwd
import signal
import socket
import subprocess
import sys
import tempfile
import time

PR_SET_PDEATHSIG = 1
_janitor = None
_libc = ctypes.CDLL(None, use_errno=True)


def start(command, death=signal.SIGKILL, user=None, **more) -> subprocess.Popen:
    """Only from the main thread: the signal comes when the thread that started a process ends. `user`: an entry of pwd."""
    parent = os.getpid()

    def before():
        if user:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
        _libc.prctl(PR_SET_PDEATHSIG, death)
        if os.getppid() != parent:
            os._exit(1)

    process = subprocess.Popen(command, preexec_fn=before, start_new_session=True, **more)
    _tell(f"+{process.pid}")
    return process


def end_with_parent(number) -> None:
    """Has this process, which was just forked, get the signal when its parent ends."""
    _libc.prctl(PR_SET_PDEATHSIG, number)


def _tell(line: str) -> None:
    _janitor.stdin.write(f"{line}\n".encode())
    _janitor.stdin.flush()


def end(process: subprocess.Popen, number=signal.SIGTERM, wait=5.0) -> None:
    """Ends it and what it started."""
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    _tell(f"-{process.pid}")


# Reads the groups of processes that begin (+) and end (-). When its standard input ends, as it does with the runner, it
# kills the remaining ones, and removes the folder.
JANITOR = """
while read -r line; do
    group=${line#?}
    case $line in
    +*) groups="$groups $group" ;;
    *) others=; for one in $groups; do [ "$one" = "$group" ] || others="$others $one"; done; groups=$others ;;
    esac
done
for one in $groups; do kill -KILL -- "-$one" 2>/dev/null; done
[ -n "$1" ] || exit 0
for n in 1 2 3 4 5 6; do rm -rf "$1" && exit; sleep 0.3; done
"""


class Folder:
    """Of all files of a run; goes with it, unless it is to be kept."""

    def __init__(self, keep: bool):
        global _janitor
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="movies-contract-"))
        self.path.chmod(0o755)
        _janitor = subprocess.Popen(["sh", "-c", JANITOR, "sh", "" if keep else str(self.path)], stdin=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, start_new_session=True)

    def close(self) -> None:
        _janitor.stdin.close()
        _janitor.wait()


def resident(process: subprocess.Popen) -> int:
    """What it and what it started have in memory that is of no file. Units: bytes."""
    total = 0
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            # Behind the name, which may have any characters: state, parent, group.
            if int((folder / "stat").read_text().rpartition(")")[2].split()[2]) == process.pid:
                status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
                total += 1024 * int(status["RssAnon"].split()[0])
        except (OSError, KeyError):
            pass  # it has ended
    return total


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def account(name: str):
    """Of a system account, where the runner is root; None where it need not change."""
    return pwd.getpwnam(name) if os.geteuid() == 0 else None


def until(what, limit: float, pause=0.01):
    """The first true value of `what()`, or the last one when `limit` seconds are over."""
    last = time.monotonic() + limit
    while not (value := what()) and time.monotonic() < last:
        time.sleep(pause)
    return value


def fatal(text: str):
    print(f"run.py: {text}", file=sys.stderr)
    raise SystemExit(2)
