# The quick run of the study thread-scaling: what it plans for this machine, and that it measures that and ends with a report.
# Its times mean nothing here, so they are as short as trials can be, and no verdict is asserted.
taillight host > host
check_line 'host sees four cores' '^processors  0-3 online, cores 4, sockets 1, memory nodes 1, no SMT' host

plan() { sed -n "s/^- $1: \(.*\); 100000 keys.*/\1/p" plan; }
taillight study show thread-scaling --quick > plan
sed -n '/^### The quick run/,/^### Deviations/p' plan
check_line 'three of four processors are for the server at most' '^- top = 3: most threads of the server' plan
for server in Memcached:memcached Sphinx:sphinx; do
    series=${server%:*} server=${server#*:}
    check "the plan has $series with 1 thread" "$server, 1 thread on 0, generator on 2-3" "$(plan "$series @ 1 × 1")"
    check "the plan has $series with 2 threads" "$server, 2 threads on 0-1, generator on 2-3" "$(plan "$series @ 1 × 2")"
    check "the plan has $series with 3 threads" "$server, 3 threads on 0-2, generator on 3" "$(plan "$series @ 1 × 3")"
    check "the plan has 2 instances of $series" "$server, 2 threads in 2 instances on 0-1, generator on 2-3" "$(plan "$series @ 2 × 1")"
done
check 'the plan has no more' 8 "$(grep -c '^- \(Memcached\|Sphinx\) @' plan)"

# Its searches for the peak are left out, and all is as small as the search for a maximum allows. A generator that spins
# would take the processors that emulate the server's.
set -o pipefail
taillight study run thread-scaling --quick --no-live --set load.find=maximum --set workload.keys=1000 \
    --set target.memory=64MiB --set generator.connections=8 --set generator.pace=sleep --set generator.drain=100ms \
    --set time.warmup=100ms --set time.search=500ms --set time.window=500ms 2>&1 > table | sed 's/^/study: /'
check 'the study ran to its end' 0 $?
cat table
result=$(sed -n 's/^Result: //p' table)
report=$(sed -n 's/^Report: //p' table)
check 'the result is whole' yes "$(case $result in results/*-thread-scaling-quick) echo yes;; esac)"
check 'it has all blocks' '"complete": true,"blocks": 3,' "$(echo $(grep '^  "\(complete\|blocks\)":' $result/study.json) | sed 's/, "/,"/g')"
check_line 'the report has the study' 'Scale-up and scale-out' "$report"
ls -l $report
benches=$(cd $result/experiments && echo *)
check 'servers of 1, 2 and 3 threads were measured' \
    '01-memcached-1-1 02-memcached-1-2 03-memcached-1-3 04-memcached-2-1 05-sphinx-1-1 06-sphinx-1-2 07-sphinx-1-3 08-sphinx-2-1' \
    "$benches"
note() { sed -n 's/^    "\(The server had .*\)",*$/\1/p' $result/experiments/*-$1/result.json; }
for series in memcached sphinx; do
    check "3 threads of $series had 3 processors" \
        'The server had processors 0-2 to itself, the generator processor 3. The generator has fewer than the server: a maximum may be the generator’s own.' \
        "$(note $series-1-3)"
done
for bench in $benches; do
    trials=$(grep -c '^      "purpose":' $result/experiments/$bench/result.json)
    check "trials of $bench ran: $trials" yes "$([ "$trials" -gt 0 ] && echo yes)"
done
