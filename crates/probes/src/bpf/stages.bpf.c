// SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause)
/*
 * Where each request of a server with a loop of epoll or io_uring spends its time.
 *
 * A message is the data that a client wrote in one go: its last segment has PSH. It is followed by three keys, none of
 * which is a processor: its socket buffer until it reaches the socket, its place in the byte stream (the sequence number)
 * until a read has copied it, and its connection until the response is in transit.
 *
 *   arrived    netif_rx or netif_receive_skb, whichever sees the buffer first
 *   at_socket  tcp_probe: TCP takes it for an established connection
 *   returned   the thread that will read it returns from epoll_wait
 *   read_from  that thread enters read on its connection
 *   read_to    it returns, and the connection's copied_seq has passed the message's end
 *   sent       the last packet of the last send on the connection before the thread waits again is queued at the device
 *
 *   turn       the server begins with the data that it read (its static probe `reactor:turn`), if it does not read in turn
 *
 * The reads and sends of a thread with a ring run inside io_uring_enter, one after the other: there `returned` is the
 * moment at which it enters the call, or wakes up in it, and an operation begins when the previous one has ended.
 *
 * A connection's ring of messages has one writer of `head` (TCP, under the socket's lock) and one of all other fields (the
 * thread that serves the connection), so it needs no lock, which a program on a tracepoint could not take.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/usdt.bpf.h>
#include "calls.h"
#include "watched.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#include "followed.h"

/* The response to the data read from a connection is in transit: records every message that it answers. */
__noinline int finish(__u64 socket)
{
	struct connection *c = bpf_map_lookup_elem(&connections, &socket);

	if (!c || !c->sends)
		return 0;
	/* Data held back by the peer's window left after the call. */
	if (c->packet > c->sent) {
		c->sending += c->packet - c->sent;
		c->sent = c->packet;
	}
	for (int i = 0; i < RING; i++) {
		struct message *m;
		__u64 after, rest, total, request, turn;

		if (c->tail == c->read)
			break;
		m = &c->ring[c->tail & (RING - 1)];
		c->tail += 1;
		if (!m->known) {
			count(NO_WAIT);
			continue;
		}
		after = c->sent > m->read_to ? c->sent - m->read_to : 0;
		turn = m->turn > m->read_to && m->turn - m->read_to <= after ? m->turn - m->read_to : 0;
		rest = c->sending + c->opening + turn;
		enter(NETWORK, m->at_socket - m->arrived);
		enter(EPOLL, m->returned - m->at_socket);
		enter(EVENTS, m->read_from - m->returned + turn);
		enter(READ, m->read_to - m->read_from);
		enter(OPEN, c->opening);
		enter(APPLICATION, after > rest ? after - rest : 0);
		enter(SEND, c->sending);
		total = m->read_to - m->arrived + after;
		enter(TOTAL, total);
		if (c->checked) {
			request = (__u64)c->checked << 32 | m->end;
			bpf_map_update_elem(&checked, &request, &total, BPF_NOEXIST);
		}
		count(FINISHED);
	}
	c->sends = 0;
	c->sending = 0;
	c->opening = 0;
	return 0;
}

/* -- from the device to the socket ------------------------------------------------------------------------------ */

/* Records when a buffer for one of the ports was first seen. */
static __always_inline int buffer_arrived(struct sk_buff *skb)
{
	struct config *config = settings();
	__u8 header[56];
	__u8 *tcp;
	__u64 key = (__u64)skb;
	struct arrival *known, arrival = {};
	__u32 length, offset;

	/* IP's header: both callers run after the link layer's header was removed. */
	if (!config || bpf_probe_read_kernel(header, sizeof(header), skb->data))
		return 0;
	if (header[0] >> 4 == 4) {
		if (header[9] != 6)
			return 0;
		offset = (header[0] & 15) * 4;
		/* 0 for a packet of more than 64 KiB, which has data. */
		length = header[2] << 8 | header[3];
	} else if (header[0] >> 4 == 6) {
		if (header[6] != 6)
			return 0;
		offset = 40;
		length = header[4] << 8 | header[5];
		length = length ? length + 40 : 0;
	} else {
		return 0;
	}
	if (offset == 20) {
		tcp = header + 20;
	} else if (offset == 40) {
		tcp = header + 40;
	} else {
		if (bpf_probe_read_kernel(header, 16, skb->data + offset))
			return 0;
		tcp = header;
	}
	if (!is_port(config, tcp[2] << 8 | tcp[3]))
		return 0;
	if (length && length <= offset + (tcp[12] >> 4) * 4)
		return 0; /* an acknowledgement */
	arrival.seq = (__u32)tcp[4] << 24 | (__u32)tcp[5] << 16 | (__u32)tcp[6] << 8 | tcp[7];
	known = bpf_map_lookup_elem(&arrivals, &key);
	if (known && known->seq == arrival.seq)
		return 0;
	arrival.at = bpf_ktime_get_ns();
	bpf_map_update_elem(&arrivals, &key, &arrival, BPF_ANY);
	return 0;
}

SEC("tp_btf/netif_rx")
int BPF_PROG(on_netif_rx, struct sk_buff *skb)
{
	return buffer_arrived(skb);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(on_netif_receive_skb, struct sk_buff *skb)
{
	return buffer_arrived(skb);
}

static __always_inline struct connection *connection_of(struct sock *sk, const struct config *config)
{
	__u64 key = (__u64)sk;
	struct connection *c = bpf_map_lookup_elem(&connections, &key);
	__u32 zero = 0;
	__u16 client;

	if (c)
		return c;
	c = bpf_map_lookup_elem(&new_connection, &zero);
	if (!c)
		return 0;
	bpf_map_update_elem(&connections, &key, c, BPF_NOEXIST);
	c = bpf_map_lookup_elem(&connections, &key);
	client = bpf_ntohs(sk->__sk_common.skc_dport);
	if (c && (client & config->checked_mask) == 0)
		c->checked = client;
	return c;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(on_tcp_probe, struct sock *sk, struct sk_buff *skb)
{
	struct config *config = settings();
	__u64 now, first, key = (__u64)skb;
	struct arrival *arrival;
	struct connection *c;
	struct message *m;
	__u8 tcp[16];
	__u32 seq, size, header;
	__u32 next = 0;

	if (!config || !is_port(config, sk->__sk_common.skc_num))
		return 0;
	if (bpf_probe_read_kernel(tcp, sizeof(tcp), skb->data))
		return 0;
	header = (tcp[12] >> 4) * 4;
	size = skb->len;
	if (size <= header)
		return 0;
	size -= header;
	seq = (__u32)tcp[4] << 24 | (__u32)tcp[5] << 16 | (__u32)tcp[6] << 8 | tcp[7];
	next = BPF_CORE_READ((struct tcp_sock *)sk, rcv_nxt);
	if ((__s32)(seq + size - next) <= 0)
		return 0; /* retransmitted bytes */
	now = bpf_ktime_get_ns();
	arrival = bpf_map_lookup_elem(&arrivals, &key);
	first = arrival && arrival->seq == seq ? arrival->at : 0;
	bpf_map_delete_elem(&arrivals, &key);
	c = connection_of(sk, config);
	if (!c) {
		count(MESSAGES);
		count(NO_ROOM);
		return 0;
	}
	if (!(tcp[13] & 8)) {
		if (!c->has_part) {
			c->has_part = 1;
			c->part = first;
		}
		return 0;
	}
	count(MESSAGES);
	if (c->has_part) {
		first = c->part;
		c->has_part = 0;
	}
	if (!first) {
		count(NO_BUFFER);
		return 0;
	}
	if (c->head - c->tail >= RING) {
		count(CROWDED);
		return 0;
	}
	m = &c->ring[c->head & (RING - 1)];
	m->arrived = first;
	m->at_socket = now;
	m->end = seq + size;
	/* A reader that sees the new head sees the message: TCP holds the socket's lock here, and a read takes it first. */
	__sync_fetch_and_add(&c->head, 1);
	return 0;
}

/* -- in the server ---------------------------------------------------------------------------------------------- */

/* The socket of a file descriptor of the current process, if it belongs to one of the ports. */
static __always_inline __u64 socket_of(int fd)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct config *config = settings();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *file = 0;
	struct socket *socket;
	struct sock *sk;

	if (!config || fd < 0 || (__u32)fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	if (!file)
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	/* Only a socket points back at its file. */
	if (!socket || BPF_CORE_READ(socket, file) != file)
		return 0;
	sk = BPF_CORE_READ(socket, sk);
	if (!is_port(config, BPF_CORE_READ(sk, __sk_common.skc_num)))
		return 0;
	return (__u64)sk;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long number)
{
	__u64 id = bpf_get_current_pid_tgid();
	enum call call = call_of(number);
	__u32 tid = (__u32)id, zero = 0;
	struct thread *t;
	__u64 socket = 0;

	if (call == CALL_NONE || !is_watched((struct task_struct *)bpf_get_current_task(), id >> 32))
		return 0;
	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t) {
		t = bpf_map_lookup_elem(&new_thread, &zero);
		if (!t)
			return 0;
		bpf_map_update_elem(&threads, &tid, t, BPF_NOEXIST);
		t = bpf_map_lookup_elem(&threads, &tid);
		if (!t) {
			count(NO_ROOM);
			return 0;
		}
	}
	t->call = CALL_NONE;
	if (call == CALL_WAIT || call == CALL_RING) {
		for (int i = 0; i < ANSWERED; i++) {
			if (i >= t->answered)
				break;
			finish(t->connection[i]);
		}
		t->answered = 0;
	} else if (call != CALL_OPEN) {
		socket = socket_of(first_argument(regs));
		if (!socket)
			return 0;
		if (call == CALL_READ)
			finish(socket);
	}
	t->socket = socket;
	t->call = call;
	t->entered = bpf_ktime_get_ns();
	if (call == CALL_RING)
		t->returned = t->entered;
	return 0;
}

/* A read of `socket`, begun at t->entered, copied data: stamps every message whose end it reached. */
static __always_inline void was_read(struct thread *t, __u64 socket, __u64 now)
{
	struct connection *c = bpf_map_lookup_elem(&connections, &socket);
	__u32 copied, head;

	if (!c) {
		count(EARLY);
		return;
	}
	t->last_read = socket;
	copied = BPF_CORE_READ((struct tcp_sock *)socket, copied_seq);
	head = *(volatile __u32 *)&c->head;
	for (int i = 0; i < RING; i++) {
		struct message *m = &c->ring[c->read & (RING - 1)];

		if (c->read == head || (__s32)(copied - m->end) < 0)
			break;
		/* Messages that came during the round waited neither for epoll nor for their turn. */
		m->known = t->returned != 0;
		m->returned = t->returned > m->at_socket ? t->returned : m->at_socket;
		m->read_from = t->entered > m->returned ? t->entered : m->returned;
		m->read_to = now;
		m->turn = 0;
		c->read += 1;
	}
}

/* A send on `socket`, begun at t->entered, accepted data. */
static __always_inline void was_sent(struct thread *t, __u64 socket, __u64 now)
{
	struct connection *c = bpf_map_lookup_elem(&connections, &socket);
	__u64 end;

	if (!c)
		return;
	if (c->tail == c->read) {
		count(LATER);
		return;
	}
	end = c->packet;
	if (end < t->entered) {
		end = now;
		count(NO_PACKET);
	}
	c->sent = end;
	c->sending += end - t->entered;
	c->sends += 1;
	if (c->sends > 1)
		return;
	if (t->answered < ANSWERED) {
		t->connection[t->answered & (ANSWERED - 1)] = socket;
		t->answered += 1;
	} else {
		finish(socket);
	}
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long result)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);
	struct connection *c;
	__u64 now;
	__u32 call;

	if (!t || t->call == CALL_NONE)
		return 0;
	now = bpf_ktime_get_ns();
	call = t->call;
	t->call = CALL_NONE;
	if (call == CALL_WAIT) {
		t->returned = now;
	} else if (call == CALL_READ && result > 0) {
		was_read(t, t->socket, now);
	} else if (call == CALL_SEND && result > 0) {
		was_sent(t, t->socket, now);
	} else if (call == CALL_OPEN) {
		__u64 socket = t->last_read;

		c = bpf_map_lookup_elem(&connections, &socket);
		if (c && c->tail != c->read)
			c->opening += now - t->entered;
	}
	return 0;
}

#include "ring.h"

/* -- from the server to the device -------------------------------------------------------------------------------- */

/* Whether an outgoing packet has data. */
static __always_inline bool has_data(struct sk_buff *skb)
{
	__u64 head = (__u64)skb->head, data = (__u64)skb->data;
	__u32 tcp = skb->transport_header;
	__u8 offset = 0;

	bpf_probe_read_kernel(&offset, sizeof(offset), (void *)(head + tcp + 12));
	return data - head + skb->len > tcp + (offset >> 4) * 4;
}

/*
 * A packet of the server is queued at the device. A packet without data is not part of a response: TCP acknowledges a
 * further request, or does so 40 ms later, while the thread does other work.
 */
SEC("tp_btf/net_dev_queue")
int BPF_PROG(on_net_dev_queue, struct sk_buff *skb)
{
	struct config *config = settings();
	struct sock *sk = skb->sk;
	struct connection *c;
	__u64 key = (__u64)sk;

	if (!config || !sk || !is_port(config, sk->__sk_common.skc_num) || !has_data(skb))
		return 0;
	c = bpf_map_lookup_elem(&connections, &key);
	if (c)
		c->packet = bpf_ktime_get_ns();
	return 0;
}
