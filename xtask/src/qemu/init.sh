#!/bin/busybox sh
# The first process of each guest: it prepares the machine and runs the checks of `/checks`, which say what they find as
# lines `CHECK name: ok` or `CHECK name: FAILED …`. Read by `cargo xtask qemu`.
/bin/busybox --install -s /bin
export PATH=/bin
mkdir -p /proc /sys /dev /run /tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mount -t cgroup2 none /sys/fs/cgroup
echo '+cpu +cpuset +memory' > /sys/fs/cgroup/cgroup.subtree_control
for module in /modules/*; do insmod "$module"; done
# Servers are met there, and an address of the other version keeps nothing from them.
ip link set lo up

check() {
    if [ "$2" = "$3" ]; then echo "CHECK $1: ok"; else echo "CHECK $1: FAILED: '$3' where '$2' is expected"; fi
}
# That a file has a line that matches; it is shown where none does.
check_line() {
    if grep -q "$2" "$3"; then echo "CHECK $1: ok"; else cat "$3"; echo "CHECK $1: FAILED: no line matches '$2'"; fi
}

cd /tmp
. /checks
echo 'CHECKS END'
poweroff -f
