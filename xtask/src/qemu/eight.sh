# Studies on a machine with siblings and two memory nodes: what they plan for it, and that servers and generators run there.

taillight host > host
grep '^processors\|^network' host
check_line 'host sees cores, siblings and nodes' \
    '^processors  0-7 online, cores 4, sockets 2, memory nodes 2, SMT, siblings such as 0-1' host

# What `study show` says of a series, up to its load.
plan() { sed -n "s/^- $1 @ [^:]*: \(.*\); [0-9]* keys.*/\1/p" plan | sort -u; }
show() { taillight study show "$@" > plan; sed -n '/^### The quick run/,/^### Deviations/p' plan | grep '^- '; }

echo 'The load from this machine:'
show smt
check 'threads share a core' 'memcached, 2 threads on 0-1, generator on 2,4,6' "$(plan 1–2)"
check 'threads have a core each' 'memcached, 2 threads on 0,2, generator on 4,6' "$(plan 2–2)"
check 'threads share a processor' 'memcached, 2 threads on 0, generator on 2,4,6' "$(plan 1–1)"
show co-location
check_line 'the second service has the sibling' '^- different processors beside @ .*: nginx, 1 thread on 1,' plan
show thread-scaling
check 'the most threads, each on a core' 'memcached, 3 threads on 0,2,4, generator on 6-7' \
    "$(sed -n 's/^- Memcached @ 1 × 3: \(.*\); [0-9]* keys.*/\1/p' plan)"
check_line 'no core is kept over loopback' '^- irq_cores = 0:' plan

echo 'The load from other machines:'
show smt --load elsewhere
check_line 'a core is kept for the interrupts of the card' '^- irq_cores = 1:' plan
check 'siblings beside the interrupt core' 'memcached, 3 threads on 2-4' "$(plan 2–3)"
check 'cores beside the interrupt core' 'memcached, 3 threads on 2,4,6' "$(plan 3–3)"
show interrupts-beside-workers --load elsewhere
check_line 'interrupts apart from the workers' '^- apart @ .* 3 threads on 2,4,6; .*irq.affinity=0-1$' plan
check_line 'interrupts beside the workers' '^- beside @ .* 3 threads on 2,4,6; .*irq.affinity=2,4,6$' plan
show interrupt-distribution --load elsewhere
check_line 'the card has one queue to spread over' '^- Memcached @ 1: .*nic.spread=1, irq.affinity=0-1$' plan
show co-location --load elsewhere
check_line 'the second service has the siblings' '^- different processors beside @ .*: nginx, 3 threads on 3,5,7' plan
echo

for study in $(taillight study list | sed -n 's/^ *\([a-z0-9-]*-[a-z0-9-]*\) .*/\1/p'); do
    for load in here elsewhere; do
        taillight study show $study --load $load > plan 2>&1 || { cat plan; echo "CHECK plan of $study: FAILED"; }
    done
done
check 'every study has a plan' yes "$(taillight study list > list && [ "$(wc -l < list)" -gt 30 ] && echo yes)"

# Where the processes of the run may be, looked at throughout.
places() {
    for pid in $(pidof memcached); do
        sed -n 's/^Cpus_allowed_list:[[:space:]]*/server /p' /proc/$pid/status
    done
    for pid in $(pidof taillight); do
        grep -q 'load' /proc/$pid/cmdline || continue
        for task in /proc/$pid/task/*; do sed -n 's/^Cpus_allowed_list:[[:space:]]*/generator /p' $task/status; done
    done
}
touch running
while [ -e running ]; do places; sleep 0.1; done > seen 2> /dev/null &
set -o pipefail
taillight study run smt --smoke --no-live 2>&1 > table | sed 's/^/study: /'
check 'the study ran to its end' 0 $?
rm running
wait
cat table
sort seen | uniq -c
result=$(sed -n 's/^Result: //p' table)
report=$(sed -n 's/^Report: //p' table)
check_line 'the result is whole' '^  "complete": true,' $result/study.json
check_line 'the report has the study' 'Simultaneous multithreading' $report
ls -l $report
check 'servers were on a processor, on siblings, on two cores' '0 0,2 0-1' \
    "$(echo $(sed -n 's/^server //p' seen | sort -u))"
note() { sed -n 's/^    "\(The server had .*\)",*$/\1/p' $result/experiments/*-$1-50/result.json; }
check 'the result says so of siblings' \
    'The server had processors 0-1 to itself, the generator processors 2,4,6.' "$(note 1-2)"
check 'the result says so of cores' \
    'The server had processors 0,2 to itself, the generator processors 4,6.' "$(note 2-2)"
for processor in 2 4 6; do
    check_line "a thread of a generator was on $processor" "^generator $processor\$" seen
done
for bench in $result/experiments/*; do
    check "trials of ${bench##*/} ran" yes "$([ "$(grep -c '^      "purpose":' $bench/result.json)" -gt 0 ] && echo yes)"
done
