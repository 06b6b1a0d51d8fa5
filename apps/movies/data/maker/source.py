"""Where the facts come from: a file that is named, a package that is installed, or npm."""

import os
import shutil
import subprocess
from pathlib import Path

from .errors import Problem

FILE = "vega-datasets/data/movies.json"
VARIABLE = "TAILLIGHT_NODE_MODULES"
"""Names a folder of npm packages, as for the rest of taillight."""
HERE = Path(__file__).resolve().parent.parent


def find(named: str | None, work: Path) -> Path:
    """The path of `movies.json`; npm installs it below `work` where there is none."""
    if named:
        return Path(named)
    installed = os.environ.get(VARIABLE)
    if installed and (Path(installed) / FILE).is_file():
        return Path(installed) / FILE
    path = work / "movies.json"
    if not path.is_file():
        install(work)
        # The package has 40 MB of other data.
        (work / "node_modules" / FILE).rename(path)
        shutil.rmtree(work / "node_modules", ignore_errors=True)
    return path


def install(work: Path) -> None:
    """Installs what `package-lock.json` names."""
    npm = shutil.which("npm")
    if npm is None:
        raise Problem("npm is missing, which brings the facts of the films; install it: apt-get install npm")
    work.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(HERE / name, work / name)
    ended = subprocess.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if ended.returncode:
        last = "\n".join(ended.stdout.splitlines()[-5:])
        raise Problem(f"npm cannot install vega-datasets; name a copy of its data/movies.json by --source:\n{last}")
