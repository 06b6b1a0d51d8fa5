# What a knob does on this guest, and that it is reverted.
# What a command that must succeed prints is shown only where it fails.
tune() {
    taillight tune "$@" > /tmp/said 2>&1 || { echo "CHECK tune $*: FAILED: $(cat /tmp/said)"; }
}
smt() { cat /sys/devices/system/cpu/smt/control; }
online() { cat /sys/devices/system/cpu/online; }
# The interrupts of its queues; a third one tells of the link alone, and is left where it is.
irqs() { for irq in $(sed -n 's/^ *\([0-9]*\):.*eth0-[rt]x.*/\1/p' /proc/interrupts); do cat /proc/irq/$irq/smp_affinity_list; done; }
groups() { find /sys/fs/cgroup -mindepth 1 -type d | wc -l; }

taillight host > /tmp/host 2>&1
check 'host sees sockets, nodes and siblings' 1 "$(grep -c '^processors  0-3 online, cores 2, sockets 2, memory nodes 2, SMT' /tmp/host)"
check 'host sees version 2 of control groups' 1 "$(grep -c '^cgroups     v2:.*memory' /tmp/host)"
grep '^processors\|^cgroups\|^network' /tmp/host

before=$(online)
tune apply smt=off
check 'smt=off is in force' 'off 0,2' "$(smt) $(online)"
tune undo
check 'smt=off is undone' "on $before" "$(smt) $(online)"

taillight tune apply smt=off -- sleep 1000 > /tmp/said 2>&1 &
for turn in $(seq 100); do [ "$(smt)" = off ] && break; sleep 0.1; done
check 'smt=off is in force for a command' off "$(smt)"
kill -9 $!
tune undo
check 'smt=off is undone after SIGKILL' "on $before" "$(smt) $(online)"
killall sleep 2> /dev/null

limits='cd /sys/fs/cgroup/$(cut -d: -f3 /proc/self/cgroup); cat cpuset.cpus cpu.max memory.max'
left=$(groups)
said=$(taillight tune apply cpu.set=1 cpu.quota=50% memory.limit=64MiB -- sh -c "$limits" 2> /tmp/errors)
check 'a group of version 2 has its limits' '1 50000 100000 67108864' "$(echo $said)"
check 'a group of version 2 is removed' "$left" "$(groups)"
taillight tune apply memory.limit=32MiB -- dd if=/dev/zero of=/dev/null bs=128M count=1 > /tmp/said 2>&1
check 'too little memory ends the command' yes "$([ $? -ne 0 ] && echo yes)"
check 'and is told' yes "$(grep -qi 'memory' /tmp/said && echo yes)"

# A card that is down has asked for no interrupt.
ip link set eth0 up
check 'the card has several interrupts' yes "$([ "$(irqs | wc -l)" -gt 1 ] && echo yes)"
before=$(irqs)
tune apply irq.affinity=3 --device eth0
check 'each queue has its interrupt moved' "$(irqs | sed 's/.*/3/')" "$(irqs)"
tune undo
check 'the interrupts are as before' "$before" "$(irqs)"
