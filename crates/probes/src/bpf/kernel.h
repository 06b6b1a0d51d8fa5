/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/*
 * The kernel's types, as far as the programs here read them.
 *
 * Only names matter: `preserve_access_index` makes clang record the name of each field, and the loader fills in its
 * offset in the running kernel (CO-RE). So a structure lists only the fields that are read, and one object fits
 * every kernel that describes its types (BTF).
 */
#ifndef TAILLIGHT_KERNEL_H
#define TAILLIGHT_KERNEL_H

/* Replaces that file: libbpf's headers then use the kernel's names of registers. */
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef signed short __s16;
typedef unsigned short __u16;
typedef signed int __s32;
typedef unsigned int __u32;
typedef signed long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef __u16 __sum16;
typedef _Bool bool;

/* Source: include/uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	struct ns_common ns;
};
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
};
/* PIDTYPE_TGID is 1. Source: include/linux/pid_types.h */
struct signal_struct {
	struct pid *pids[4];
};
struct file {
	void *private_data;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
struct task_struct {
	unsigned int __state;
	int pid;
	int tgid;
	struct signal_struct *signal;
	struct files_struct *files;
};
struct sock_common {
	__be16 skc_dport;
	__u16 skc_num;
};
struct sock {
	struct sock_common __sk_common;
};
struct socket {
	struct file *file;
	struct sock *sk;
};
struct tcp_sock {
	__u32 rcv_nxt;
	__u32 copied_seq;
};
struct sk_buff {
	struct sock *sk;
	unsigned int len;
	__u16 transport_header;
	unsigned char *head;
	unsigned char *data;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long si;
	unsigned long di;
	unsigned long ip;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
};
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
};
#else
#error "the numbers of system calls are known for x86-64 and aarch64 only"
#endif

#pragma clang attribute pop

#endif
