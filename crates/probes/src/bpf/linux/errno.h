/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* What libbpf's header of static probes wants of the file of this name, whose own includes are a host's and not the kernel's
 * virtual machine's. Source: include/uapi/asm-generic/errno-base.h */
#ifndef TAILLIGHT_ERRNO_H
#define TAILLIGHT_ERRNO_H

#define ENOENT 2
#define ESRCH 3
#define EINVAL 22

#endif
