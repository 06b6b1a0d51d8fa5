/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* Maps system calls to the stages of a request. Source: arch/x86/entry/syscalls/syscall_64.tbl and
 * include/uapi/asm-generic/unistd.h of the kernel. */
#ifndef TAILLIGHT_CALLS_H
#define TAILLIGHT_CALLS_H

#include "kernel.h"

enum call { CALL_NONE, CALL_WAIT, CALL_READ, CALL_SEND, CALL_OPEN, CALL_RING };

static __always_inline enum call call_of(long number)
{
	switch (number) {
	case 426: /* io_uring_enter, on both */
		return CALL_RING;
#if defined(__TARGET_ARCH_x86)
	case 232: /* epoll_wait */
	case 281: /* epoll_pwait */
	case 441: /* epoll_pwait2 */
		return CALL_WAIT;
	case 0: /* read */
	case 19: /* readv */
	case 45: /* recvfrom */
	case 47: /* recvmsg */
		return CALL_READ;
	case 1: /* write */
	case 20: /* writev */
	case 40: /* sendfile */
	case 44: /* sendto */
	case 46: /* sendmsg */
		return CALL_SEND;
	case 2: /* open */
	case 257: /* openat */
	case 437: /* openat2 */
		return CALL_OPEN;
#else
	case 22: /* epoll_pwait */
	case 441: /* epoll_pwait2 */
		return CALL_WAIT;
	case 63: /* read */
	case 65: /* readv */
	case 207: /* recvfrom */
	case 212: /* recvmsg */
		return CALL_READ;
	case 64: /* write */
	case 66: /* writev */
	case 71: /* sendfile */
	case 206: /* sendto */
	case 211: /* sendmsg */
		return CALL_SEND;
	case 56: /* openat */
	case 437: /* openat2 */
		return CALL_OPEN;
#endif
	}
	return CALL_NONE;
}

#if defined(__TARGET_ARCH_x86)
#define FUTEX_CALL 202
#else
#define FUTEX_CALL 98
#endif

/*
 * Whether a call waits for a futex: futex with FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI or
 * FUTEX_LOCK_PI2; futex_waitv and futex_wait, on both. Source: include/uapi/linux/futex.h
 */
static __always_inline bool waits_for_futex(struct pt_regs *regs, long number)
{
	int operation;

	if (number == 449 || number == 455)
		return 1;
	if (number != FUTEX_CALL)
		return 0;
#if defined(__TARGET_ARCH_x86)
	operation = (int)regs->si & 127;
#else
	operation = (int)regs->regs[1] & 127;
#endif
	return operation == 0 || operation == 6 || operation == 9 || operation == 11 || operation == 13;
}

/* The first argument, which is the socket in all calls that read or send. */
static __always_inline int first_argument(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (int)regs->di;
#else
	return (int)regs->regs[0];
#endif
}

#endif
