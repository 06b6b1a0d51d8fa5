"""`manifest.json`, which is written last: a folder that has it is whole."""

import json

from .plan import Wanted

FORMAT = 1


def text(wanted: Wanted, versions: dict, counts: dict, files: dict[str, str]) -> str:
    """It holds no time and no name of this machine: the same arguments and versions make the same bytes."""
    arguments = {
        "users": wanted.users,
        "movies": wanted.movies,
        "seed": wanted.seed,
        "clips": wanted.clips,
        "hash_cost": wanted.cost,
    }
    whole = {
        "format": FORMAT,
        "arguments": arguments,
        "counts": counts,
        "versions": versions,
        "files": dict(sorted(files.items())),
    }
    return json.dumps(whole, indent=1) + "\n"
