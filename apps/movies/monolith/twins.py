#!/usr/bin/python3
"""The contract tests of the services that are in another language, against the same in Java: twins.py OUT [OPTION OF run.py]...

Only the cases of each service: those that all services share are the chassis', and are asked of the services that are in Java anyway.
`contract/run.py --out OUT/java-twins` asks all.
"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "contract"))

import run  # noqa: E402

# Services that test.sh tests unchanged.
IN_JAVA = {"movie-info", "cast-info", "rent-movie", "movie-review", "user-review", "movie-recommender"}


def main() -> int:
    if len(sys.argv) < 2:
        sys.exit("usage: twins.py OUT [OPTION OF run.py]...")
    twins = pathlib.Path(sys.argv[1]) / "java-twins"
    built = sorted(file.name.removeprefix("movies-") for file in (twins / "bin").glob("movies-*"))
    services = [word for name in built if name not in IN_JAVA for word in ("--service", name)]
    run.common.CASES[:] = []
    sys.argv = ["run.py", "--out", str(twins), *(() if "--service" in sys.argv else services), *sys.argv[2:]]
    return run.main()


if __name__ == "__main__":
    sys.exit(main())
