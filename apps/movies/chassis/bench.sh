#!/bin/sh
# What tracing costs in each chassis, by services that have been built in OUT: bench.sh OUT [OPTION OF bench.py]...
set -eu
[ $# -ge 1 ] || { echo 'usage: bench.sh OUT [--chassis NAME]... [--rounds N] [--calls N]' >&2; exit 2; }
out=$1
shift
exec /usr/bin/python3 "$(dirname "$0")/bench.py" --out "$out" "$@"
