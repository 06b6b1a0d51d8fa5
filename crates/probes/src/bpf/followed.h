/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* State of messages, connections and threads while requests are followed, and their counts. */
#ifndef TAILLIGHT_FOLLOWED_H
#define TAILLIGHT_FOLLOWED_H

/* Unanswered messages of one connection; further ones are counted as crowded. A power of two. */
#define RING 16
/* Connections answered by one thread in one round that are remembered to its end; further ones end with their send. */
#define ANSWERED 32

enum stage { NETWORK, EPOLL, EVENTS, READ, OPEN, APPLICATION, SEND, TOTAL, HISTOGRAMS };
#include "times.h"

enum count {
	MESSAGES,   /* data with PSH that reached a socket of the port */
	FINISHED,   /* followed through all stages */
	NO_BUFFER,  /* the arrival of its socket buffer was not seen */
	CROWDED,    /* its connection already had RING messages */
	NO_ROOM,    /* a table was full */
	NO_WAIT,    /* read by a thread that was not seen to return from epoll_wait since the slot began */
	NO_PACKET,  /* a send that queued no packet before it returned: counted to its return */
	EARLY,      /* a read of bytes that arrived before the slot */
	LATER,      /* a send on a connection whose requests have all ended: their thread has waited since */
	COUNTS
};

struct arrival {
	__u64 at;
	__u32 seq;
	__u32 unused;
};

struct message {
	__u64 arrived;
	__u64 at_socket;
	__u64 returned;
	__u64 read_from;
	__u64 read_to;
	__u64 turn; /* when the server began with it, if it reports it */
	__u32 end;
	__u32 known; /* whether its thread was seen to wait */
};

struct connection {
	__u32 head; /* written by TCP only */
	__u32 has_part; /* written by TCP only: the first segment of a message without PSH has arrived */
	__u64 part; /* written by TCP only: when it arrived */
	__u32 read; /* this and the rest: written only by the thread that serves the connection */
	__u32 tail;
	__u64 sent; /* the end of the last send */
	__u64 sending; /* time in sends */
	__u64 opening; /* time in opens */
	__u64 packet; /* the last packet, sent by a thread, or by TCP when the peer makes room */
	__u32 sends;
	__u32 checked; /* the client's port, if the connection's requests are validated against packets */
	__u32 turned; /* messages that the server has begun with */
	__u32 unused;
	struct message ring[RING];
};

struct thread {
	__u64 returned;
	__u64 entered;
	__u64 socket; /* of the current call */
	__u64 last_read; /* the connection of its last read */
	__u32 call;
	__u32 answered;
	__u64 connection[ANSWERED];
	__u32 asleep; /* in io_uring_enter */
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct arrival);
} arrivals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct connection);
} connections SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

/* Templates of new entries of `connections` and `threads`: they do not fit on the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct connection);
} new_connection SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread);
} new_thread SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

/*
 * The time of each request that is validated against packets. Its key, the client's port and the request's end in its
 * stream, is also available from packets. When the table is full, the rest of the slot is not validated.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, __u64);
} checked SEC(".maps");

static __always_inline void count(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&counts, &what);

	/* Atomic although it belongs to this processor: TCP may interrupt a system call between load and store. */
	if (n)
		__sync_fetch_and_add(n, 1);
}

static __always_inline bool is_port(const struct config *config, __u16 port)
{
#pragma unroll
	for (int i = 0; i < PORTS; i++)
		if (i < config->ports && config->port[i] == port)
			return 1;
	return 0;
}

#endif
