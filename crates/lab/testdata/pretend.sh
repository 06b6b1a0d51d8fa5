#!/bin/sh
# A generator and a server that only pretend, for the tests of the lab: no load, no time, made-up trials.
#
#   pretend.sh serve sphinx …                         says that it is ready and sleeps
#   pretend.sh load --spec FILE … --trial FILE.json   writes a trial as a server of `capacity` would give it
#
# The key prefix of the specification says how: NAME=VALUE with commas between.
#   capacity=RPS    beyond it the trial is overloaded (100000)
#   behave=HOW      ok, fail, usage, hang, stubborn (hangs and ignores SIGTERM), nothing (writes no file),
#                   garbage, invalid, invalidated (invalid where it is no search), odd (invalidated, every other
#                   one), full (fills the disk under result.json), disturbed (by the host), slowed (others take half
#                   of the processors and nine tenths of the capacity, which the verdict does not see)
#   from=N          only from the N-th trial on (1)
#   until=N         only up to the N-th trial (0: to the end)
#   log=yes         appends what it was called with, and its specification, to `log` beside the result's folder
all="$*"
command=$1
spec= file= resolve=
while [ $# -gt 0 ]; do
    case $1 in
        --spec) spec=$2 ;;
        --trial) file=$2 ;;
        --resolve) resolve=yes ;;
    esac
    shift
done

if [ "$command" = serve ]; then
    echo "sphinxd ready on 127.0.0.1:1 with a pretended thread"
    exec sleep 600
fi
# The text, or the number, at a key of the specification.
at() {
    sed -n "s/.*\"$1\": \"\{0,1\}\([^\",]*[^\"]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$spec" | head -n 1
}
capacity=100000 behave=ok from=1 until=0 log=
for how in $(at key-prefix | tr , ' '); do
    case ${how%%=*} in
        capacity) capacity=${how#*=} ;;
        behave) behave=${how#*=} ;;
        from) from=${how#*=} ;;
        until) until=${how#*=} ;;
        log) log=${file%/*/trials/*}/log ;;
    esac
done
rate=$(at rate) window=$(at window)

if [ -n "$resolve" ]; then
    if [ "$behave" = usage ]; then
        echo "error: unexpected argument '--conections' found" >&2
        exit 2
    fi
    exec cat "$spec"
fi

if [ -n "$log" ]; then
    echo "$all" >>"$log"
    cp "$spec" "$log.spec"
fi
name=${file##*/}
number=$(expr "${name%.json}" + 0)
if [ "$number" -lt "$from" ]; then behave=ok; fi
if [ "$until" -gt 0 ] && [ "$number" -gt "$until" ]; then behave=ok; fi
if [ "$behave" = odd ] && [ $((number % 2)) -eq 1 ]; then behave=invalidated; fi
case $behave in
    fail)
        echo "taillight: 127.0.0.1:1 closed the connection" >&2
        echo "half" >"$file"
        exit 1
        ;;
    hang) exec sleep 600 ;;
    stubborn)
        trap '' TERM INT
        while :; do sleep 1; done
        ;;
    nothing) exit 0 ;;
    garbage)
        echo '{ "id": ' >"$file"
        exit 0
        ;;
    # result.json is written beside its place first: there the disk is full from now on.
    full) ln -s /dev/full "${file%/trials/*}/result.partial" ;;
esac

echo "histograms" >"${file%.json}.hlog"
told=$(cat "$spec") awk -v rate="$rate" -v window="$window" -v capacity="$capacity" -v behave="$behave" 'BEGIN {
    units["ns"] = 1e-9; units["us"] = 1e-6; units["ms"] = 1e-3; units["s"] = 1
    unit = window; sub(/^[0-9]+/, "", unit); seconds = window * units[unit]
    rate = rate ~ /krps$/ ? rate * 1000 : rate + 0
    foreign = "null"
    if (behave == "slowed") { capacity = capacity / 10; foreign = "0.5" }
    over = rate > capacity
    achieved = over ? capacity : rate
    intended = int(rate * seconds)
    p99 = over ? 1e6 : 100 / (1.001 - rate / capacity)
    verdict = over ? sprintf("{ \"kind\": \"overloaded\", \"achieved_share\": %f, \"backlog_growth_rps\": %f }", \
        capacity / rate, rate - capacity) : "{ \"kind\": \"valid\" }"
    if (behave == "invalid" || (behave == "invalidated" && seconds > 1)) {
        verdict = "{ \"kind\": \"invalid\", \"reasons\": [{ \"reason\": \"generator_lag\", \"detail\": \"1 ms\" }] }"
    }
    if (behave == "disturbed") {
        verdict = "{ \"kind\": \"invalid\", \"reasons\": [{ \"reason\": \"host_disturbed\", \"detail\": \"9 of 9\" }] }"
    }
    times = sprintf("{ \"count\": %d, \"mean_us\": %f, \"p50_us\": %f, \"p99_us\": %f, \"max_us\": %f }", \
        intended, p99 / 3, p99 / 4, p99, 2 * p99)
    print "{"
    print "  \"id\": \"\", \"target\": \"\", \"purpose\": \"single\", \"block\": 0, \"load_share\": null,"
    printf "  \"started\": \"2026-03-14T09:26:53Z\", \"offered_rps\": %.6f, \"achieved_rps\": %.6f,\n", rate, achieved
    printf "  \"window_s\": %f, \"warmup_s\": 0.1, \"drain_s\": 0.01,\n", seconds
    printf "  \"arrivals\": { \"intended\": %d, \"completed\": %d, \"errors\": 0, \"timeouts\": 0, \"unfinished\": %d },\n", \
        intended, achieved * seconds, intended - int(achieved * seconds)
    printf "  \"all\": { \"name\": \"all\", \"response_time\": %s, \"service_time\": %s, \"connection_wait\": %s, \"generator_lag\": %s },\n", \
        times, times, times, times
    printf "  \"operations\": [], \"windowed_p99_us\": %f, \"windows\": [], \"curve\": [],\n", p99
    print "  \"generator\": { \"threads\": 1, \"cpus\": [1], \"connections\": 64, \"depth\": 1, \"pace\": \"spin\", \"io\": \"epoll\","
    print "    \"busy_share\": 0.5, \"busy_us_per_request\": 4.0, \"backlog_at_end\": 0, \"max_in_flight\": 64 },"
    print "  \"noise\": { \"stalls\": 0, \"longest_stall_us\": 0.0, \"stall_threshold_us\": 100.0, \"steal_share\": null,"
    printf "    \"foreign_cpu_share\": %s, \"disturbed_windows\": 0 },\n", foreign
    printf "  \"counters\": {}, \"spec\": %s, \"found\": { \"server_version\": \"pretended 1\" },\n", ENVIRON["told"]
    printf "  \"verdict\": %s, \"hlog\": null\n}\n", verdict
}' >"$file"
