"""The program of the service `ads`."""

import sys

from movies_idl import Ads as idl

from chassis.service import run
from services.ads.handler import Ads

if __name__ == "__main__":
    sys.exit(run(idl, ["pick"], Ads))
