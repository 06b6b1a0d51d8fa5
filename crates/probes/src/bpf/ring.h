/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* A server with a ring: when it wakes up, when its operations begin and end, and when it reports its turns. Part of
 * stages.bpf.c, after the programs of system calls, with which it shares the handling of reads and sends. */
#ifndef TAILLIGHT_RING_H
#define TAILLIGHT_RING_H

/* The current thread, if it is in io_uring_enter. */
static __always_inline struct thread *in_ring(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);

	return t && t->call == CALL_RING ? t : 0;
}

/* The socket as a number: the verifier accepts its address as a number only after a store and a load. */
static __always_inline __u64 number_of(struct thread *t, struct sock *sk)
{
	t->socket = (__u64)sk;
	return *(volatile __u64 *)&t->socket;
}

/* It wakes up in the call: messages that arrived during its sleep have waited until now. A preempted thread has not slept. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_sched_switch, bool preempt, struct task_struct *before, struct task_struct *next)
{
	__u32 leaves = before->pid, comes = next->pid;
	struct thread *t = bpf_map_lookup_elem(&threads, &leaves);

	/*
	 * 0 is TASK_RUNNING. A preempted thread is ready in any state, which it may already have set on its
	 * way to sleep. Source: include/linux/sched.h, __schedule()
	 */
	if (t && t->call == CALL_RING && !preempt && before->__state != 0)
		t->asleep = 1;
	t = bpf_map_lookup_elem(&threads, &comes);
	if (t && t->asleep) {
		t->asleep = 0;
		t->entered = t->returned = bpf_ktime_get_ns();
	}
	return 0;
}

/* It begins with a submitted operation. */
SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(on_io_uring_submit_req, void *request)
{
	struct thread *t = in_ring();

	if (t)
		t->entered = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_sock_recv_length, struct sock *sk, int result, int flags)
{
	struct config *config = settings();
	struct thread *t = in_ring();
	__u64 socket, now;

	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
	if (result > 0 && config && is_port(config, sk->__sk_common.skc_num)) {
		socket = number_of(t, sk);
		finish(socket);
		was_read(t, socket, now);
	}
	t->entered = now;
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_sock_send_length, struct sock *sk, int result, int flags)
{
	struct config *config = settings();
	struct thread *t = in_ring();
	__u64 now;

	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
	if (result > 0 && config && is_port(config, sk->__sk_common.skc_num))
		was_sent(t, number_of(t, sk), now);
	t->entered = now;
	return 0;
}

/* The server reports that it begins with the data that it has read from a connection. */
SEC("usdt")
int BPF_USDT(on_turn, int fd)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u64 socket, now;
	struct connection *c;

	if (!is_watched((struct task_struct *)bpf_get_current_task(), id >> 32))
		return 0;
	socket = socket_of(fd);
	c = bpf_map_lookup_elem(&connections, &socket);
	if (!c)
		return 0;
	now = bpf_ktime_get_ns();
	/* Some messages were answered without a report. */
	if ((__s32)(c->turned - c->tail) < 0)
		c->turned = c->tail;
	for (int i = 0; i < RING; i++) {
		if (c->turned == c->read)
			break;
		c->ring[c->turned & (RING - 1)].turn = now;
		c->turned += 1;
	}
	return 0;
}

#endif
