// SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause)
/* How long the threads of a server wait for a processor, and for each other (futex). */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "calls.h"
#include "watched.h"

enum { RUN_QUEUE, FUTEX, HISTOGRAMS };
#include "times.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Since when a thread is ready to run, by its number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} ready SEC(".maps");

/* Since when it waits for a futex. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} waiting SEC(".maps");

static __always_inline int is_ready(struct task_struct *task)
{
	__u32 tid = task->pid;
	__u64 now;

	if (!is_watched(task, task->tgid))
		return 0;
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&ready, &tid, &now, BPF_ANY);
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

	/* 0 is TASK_RUNNING: it was made to leave. Source: include/linux/sched.h */
	if (before->__state == 0)
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
	__u64 id, now;
	__u32 tid;

	if (number != FUTEX_CALL || !waits_for_futex(regs))
		return 0;
	id = bpf_get_current_pid_tgid();
	tid = (__u32)id;
	if (!is_watched((struct task_struct *)bpf_get_current_task(), id >> 32))
		return 0;
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&waiting, &tid, &now, BPF_ANY);
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
