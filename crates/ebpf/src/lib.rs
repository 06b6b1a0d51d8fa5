//! Writes programs of eBPF, the kernel's own machine language, and loads them into the kernel: a few dozen instructions
//! do not justify a compiler, nor a library that loads its object files.
//!
//! A program is an array of [`Instruction`]s, or a [`Program`] if it has jumps.
//!
//! Try it: `cargo test -p ebpf`.

mod program;

use std::ffi::{CStr, c_long};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use nix::libc;

pub use program::{Label, Op, Program, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10, Register, Size};

/// Programs that are shown a packet of a socket. Source: `linux/bpf.h`, `bpf_prog_type`.
pub const SOCKET_FILTER: u32 = 1;
/// Programs that receive the events of TCP sockets. Source: the same.
pub const SOCK_OPS: u32 = 13;

/// Source: `linux/bpf.h`, `bpf_cmd`.
const BPF_PROG_LOAD: c_long = 5;

/// An instruction. Source: RFC 9669, §3.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub code: u8,
    /// The destination in the lower four bits, the source in the upper; on a machine that stores the upper byte first the
    /// other way round.
    pub registers: u8,
    /// Of a jump or a place in memory.
    pub offset: i16,
    /// The second operand, unless it is a register.
    pub immediate: i32,
}

impl Instruction {
    /// One with these registers. Bounds: registers up to 10.
    pub const fn new(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
        let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
        Instruction { code, registers, offset, immediate }
    }
}

/// `union bpf_attr` of `BPF_PROG_LOAD`, its used part; the kernel treats the rest as 0. Source: `linux/bpf.h`.
#[repr(C)]
#[derive(Default)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    version: u32,
    flags: u32,
    name: [u8; 16],
}

/// How often loading a program is tried: the kernel fails with EAGAIN if a signal, or work of io_uring, is pending for
/// the thread. Source: `signal_pending` in `kernel/bpf/verifier.c`; libbpf tries five times.
const ATTEMPTS: u32 = 20;

/// Gives a program of a kind to the kernel, under a name of letters, digits and `_`. The license decides which of the kernel's
/// helpers it may call.
///
/// Bounds: a name is cut after 15 bytes.
/// Errors: the process may not, the kernel knows no such programs, or refuses this one.
pub fn load(kind: u32, instructions: &[Instruction], license: &CStr, name: &[u8]) -> io::Result<OwnedFd> {
    let mut attr = Load {
        kind,
        count: instructions.len() as u32,
        instructions: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
        ..Load::default()
    };
    attr.name.iter_mut().take(15).zip(name).for_each(|(to, byte)| *to = *byte);
    // SAFETY: the structure is the argument of this command, and its pointers outlive the call.
    let mut attempt = || unsafe { call(BPF_PROG_LOAD, &mut attr) };
    let is_interrupted = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
    let mut fd = attempt();
    for _ in 1..ATTEMPTS {
        if !fd.as_ref().is_err_and(is_interrupted) {
            break;
        }
        fd = attempt();
    }
    let fd = fd?;
    // SAFETY: the kernel has just made it for this process, and it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// `bpf(2)`.
///
/// # Safety
///
/// `attr` is the beginning of the kernel's union for this command. All its pointers lead to memory that outlives the
/// call and has the length given in the neighbouring fields.
pub unsafe fn call<T>(command: c_long, attr: &mut T) -> io::Result<c_long> {
    // SAFETY: as the caller promises; the length is the structure's own.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attr as *mut T, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
