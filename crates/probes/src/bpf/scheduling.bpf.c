// SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause)
/* Times that the threads of a server wait for a processor, and for each other (futex). */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "calls.h"
#include "watched.h"

enum { RUN_QUEUE, FUTEX, HISTOGRAMS };
#include "times.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* When a thread became ready to run, by its number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} ready SEC(".maps");

/* When a thread began to wait for a futex, by its number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} waiting SEC(".maps");

/* Waits lost because a table was full. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} no_room SEC(".maps");

/* The thread begins to wait. */
static __always_inline void begins(void *table, __u32 tid)
{
	__u64 now = bpf_ktime_get_ns(), *lost;
	__u32 zero = 0;

	if (!bpf_map_update_elem(table, &tid, &now, BPF_ANY))
		return;
	lost = bpf_map_lookup_elem(&no_room, &zero);
	/* Atomic although it belongs to this processor: another of these programs may interrupt this one. */
	if (lost)
		__sync_fetch_and_add(lost, 1);
}

static __always_inline int is_ready(struct task_struct *task)
{
	if (is_watched(task, task->tgid))
		begins(&ready, task->pid);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_sched_wakeup, struct task_struct *task)
{
	return is_ready(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_sched_wakeup_new, struct task_struct *task)
{
	return is_ready(task);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *before, struct task_struct *next)
{
	__u32 tid = next->pid;
	__u64 *since;

	/* Preempted in any state; 0 is TASK_RUNNING. Source: include/linux/sched.h, __schedule() */
	if (preempt || before->__state == 0)
		is_ready(before);
	since = bpf_map_lookup_elem(&ready, &tid);
	if (since) {
		enter(RUN_QUEUE, bpf_ktime_get_ns() - *since);
		bpf_map_delete_elem(&ready, &tid);
	}
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long number)
{
	__u64 id = bpf_get_current_pid_tgid();

	if (waits_for_futex(regs, number) && is_watched((struct task_struct *)bpf_get_current_task(), id >> 32))
		begins(&waiting, (__u32)id);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long result)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	__u64 *since = bpf_map_lookup_elem(&waiting, &tid);

	if (since) {
		enter(FUTEX, bpf_ktime_get_ns() - *since);
		bpf_map_delete_elem(&waiting, &tid);
	}
	return 0;
}
