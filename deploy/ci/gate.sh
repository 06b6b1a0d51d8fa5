#!/usr/bin/env bash
# Compares two builds of a server in one job, trial by trial in turn:
#
#   gate.sh 'taskset -c 0 base/sphinxd -t 1 -p $PORT' 'taskset -c 0 head/sphinxd -t 1 -p $PORT' [OPTION]...
#
# Each command starts a server in the foreground on port $PORT of 127.0.0.1. Options are those of `taillight compare --live`.
# Exit codes: 0 the second is not worse, 99 it is, 75 it is open, 1 a server did not start, 2 wrong usage.
#
# Environment:
#   GATE       per cent by which the second may be worse [5]
#   OPEN       fail, to end with 75 if the comparison is open; by default the job passes then
#   COMMENT    file for the comment in Markdown [taillight-gate.md]
#   RESULTS    folder for the result [taillight-gate]
#   BASE_PORT, HEAD_PORT   [21211, 21212]
#   TAILLIGHT  the program [taillight]
set -u
if [ $# -lt 2 ]; then
    echo "usage: gate.sh BASE_COMMAND HEAD_COMMAND [OPTION]..." >&2
    exit 2
fi
base=$1 head=$2
shift 2
results=${RESULTS:-taillight-gate} servers=()
mkdir -p "$results" || exit 1

stop() {
    for server in "${servers[@]}"; do
        kill -- "-$server" 2>/dev/null
    done
    wait
}
trap stop EXIT
trap 'exit 130' INT TERM

start() { # NAME PORT COMMAND
    PORT=$2 setsid bash -c "$3" >"$results/$1.log" 2>&1 &
    local server=$!
    servers+=("$server")
    for _ in $(seq 150); do
        kill -0 "$server" 2>/dev/null || break
        (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null && return
        sleep 0.2
    done
    echo "gate.sh: the $1 server does not answer on port $2: $3" >&2
    tail -n 20 "$results/$1.log" >&2
    exit 1
}

start base "${BASE_PORT:-21211}" "$base"
start head "${HEAD_PORT:-21212}" "$head"
"${TAILLIGHT:-taillight}" compare --live "127.0.0.1:${BASE_PORT:-21211}" "127.0.0.1:${HEAD_PORT:-21212}" \
    --gate "${GATE:-5}" --markdown "${COMMENT:-taillight-gate.md}" --out "$results" --no-live "$@"
code=$?
if [ $code = 75 ] && [ "${OPEN:-pass}" != fail ]; then
    echo "gate.sh: open: this machine could not tell in time whether it is worse; the job passes"
    exit 0
fi
exit $code
