"""Processes that end when the runner does, however it ends, and the folder of all files, which goes with it."""

import ctypes
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PR_SET_PDEATHSIG = 1
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

    return subprocess.Popen(command, preexec_fn=before, start_new_session=True, **more)


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


# Removes the folder when its standard input ends, as it does with the runner, and gives its processes time to end before.
JANITOR = 'read -r line; for n in 1 2 3 4 5; do sleep 0.3; rm -rf "$1" && [ ! -e "$1" ] && exit; done'


class Folder:
    def __init__(self, keep: bool):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="movies-contract-"))
        self.path.chmod(0o755)
        self._janitor = None
        if not keep:
            self._janitor = subprocess.Popen(["sh", "-c", JANITOR, "sh", str(self.path)], stdin=subprocess.PIPE, start_new_session=True)

    def close(self) -> None:
        if self._janitor:
            shutil.rmtree(self.path, ignore_errors=True)
            self._janitor.stdin.close()
            self._janitor.wait()


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
