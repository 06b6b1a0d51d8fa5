/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* The programs' configuration, and the processes that they watch. */
#ifndef TAILLIGHT_WATCHED_H
#define TAILLIGHT_WATCHED_H

#define PORTS 8
/* Maximum nesting of process namespaces. Source: MAX_PID_NS_LEVEL is 32, containers make 1 or 2. */
#define LEVELS 4

struct config {
	__u32 pid_namespace;
	__u32 ports;
	__u16 port[PORTS];
	/* A connection is validated against packets if its client's port has these bits clear. */
	__u32 checked_mask;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct config);
} configuration SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u8);
} wanted SEC(".maps");

/* By the kernel's own number of a process: 1 if it is watched, 2 if not. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u8);
} processes SEC(".maps");

static __always_inline struct config *settings(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&configuration, &zero);
}

/* Whether a task's process is watched, by its number in the loader's namespace. */
static __always_inline bool is_watched(struct task_struct *task, __u32 process)
{
	__u8 *known = bpf_map_lookup_elem(&processes, &process);
	struct config *config;
	struct pid *pid;
	__u8 answer = 2;
	__u32 level;

	if (known)
		return *known == 1;
	config = settings();
	if (!config)
		return 0;
	pid = BPF_CORE_READ(task, signal, pids[1]);
	level = BPF_CORE_READ(pid, level);
	for (__u32 i = 0; i < LEVELS; i++) {
		__u64 at = (__u64)pid + bpf_core_field_offset(struct pid, numbers) + i * bpf_core_type_size(struct upid);
		__u32 number, space;

		if (i > level)
			break;
		bpf_core_read(&number, sizeof(number), &((struct upid *)at)->nr);
		space = BPF_CORE_READ((struct upid *)at, ns, ns.inum);
		if (space == config->pid_namespace && bpf_map_lookup_elem(&wanted, &number))
			answer = 1;
	}
	bpf_map_update_elem(&processes, &process, &answer, BPF_ANY);
	return answer == 1;
}

#endif
