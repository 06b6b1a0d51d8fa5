#!/usr/bin/python3
"""Makes the data set of the movie application: ./make.py OUT --users 10000 --movies 1000 --seed 1 --clips 4

README.md says what OUT holds. A run that was ended goes on where it was; one with other arguments makes what they change.
"""

import os
import sys

# Sources stay without compiled files, and sums do not depend on how many threads add them.
sys.dont_write_bytecode = True
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
SYSTEM = "/usr/bin/python3"
MODULES = {"numpy": "python3-numpy", "PIL": "python3-pil", "bcrypt": "python3-bcrypt"}
"""What is imported, and Debian's package of it."""


def begin() -> None:
    """Goes on with Debian's Python where another one has not what is needed."""
    missing = []
    for module, package in MODULES.items():
        try:
            __import__(module)
        except ImportError:
            missing.append((module, package))
    if not missing:
        return
    # /usr/bin/python3 is a link to the version that it is.
    if os.path.realpath(sys.executable) != os.path.realpath(SYSTEM) and os.access(SYSTEM, os.X_OK):
        os.execv(SYSTEM, [SYSTEM, *sys.argv])
    names = ", ".join(module for module, _ in missing)
    sys.exit(
        f"make.py: {sys.executable} has no {names}; install it: apt-get install {' '.join(package for _, package in missing)}"
    )


if __name__ == "__main__":
    begin()
    from maker.main import main

    sys.exit(main(sys.argv[1:]))
