//! The program in the kernel that paces accepted connections by the addresses of their clients.
//!
//! It is attached to the topmost control group of version 2, as a listening socket stays with the group that it was made in. It
//! needs no compiler: it is 27 instructions, written here.

use std::ffi::c_long;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use ebpf::{Instruction, SOCK_OPS};
use nix::libc;
use units::client_address::PACED;

/// The program's name in the kernel, by which it is found again. Bounds: 15 bytes.
const NAME: &[u8] = b"taillight_pace";
/// The highest pacing rate. Units: bytes per second. Source: the option is 32 bits wide, and an immediate operand is
/// signed; 17 Gbit/s, more than any client of a study has.
const MOST: i32 = i32::MAX;

// Commands, types and helpers. Source: include/uapi/linux/bpf.h.
const BPF_PROG_ATTACH: c_long = 8;
const BPF_PROG_DETACH: c_long = 9;
const BPF_PROG_GET_FD_BY_ID: c_long = 13;
const BPF_OBJ_GET_INFO_BY_FD: c_long = 15;
const BPF_PROG_QUERY: c_long = 16;
const BPF_CGROUP_SOCK_OPS: u32 = 3;
/// Allows other programs in the same group.
const BPF_F_ALLOW_MULTI: u32 = 2;
const BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB: i32 = 5;
const BPF_FUNC_SETSOCKOPT: i32 = 49;
/// Offsets in `struct bpf_sock_ops`: the operation, and the client's address in network byte order.
const OP: i16 = 0;
const REMOTE_IP4: i16 = 24;
/// The most programs of a control group that are read.
const PROGRAMS: usize = 64;

const fn set(to: u8, value: i32) -> Instruction {
    Instruction::new(0xb7, to, 0, 0, value)
}
const fn copy(to: u8, from: u8) -> Instruction {
    Instruction::new(0xbf, to, from, 0, 0)
}
const fn load32(to: u8, from: u8, offset: i16) -> Instruction {
    Instruction::new(0x61, to, from, offset, 0)
}

/// Sets `SO_MAX_PACING_RATE` of an accepted connection to the rate in its client's address, as
/// [`units::client_address::paced_rate`] decodes it.
const PROGRAM: [Instruction; 27] = [
    copy(6, 1),
    load32(2, 6, OP),
    // Any other operation: jump to the end.
    Instruction::new(0x55, 2, 0, 22, BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB),
    load32(2, 6, REMOTE_IP4),
    // Network to host byte order.
    Instruction::new(0xdc, 2, 0, 0, 32),
    copy(3, 2),
    Instruction::new(0x77, 3, 0, 0, 16),
    // Any other client: jump to the end.
    Instruction::new(0x55, 3, 0, 17, ((PACED[0] as i32) << 8) | PACED[1] as i32),
    Instruction::new(0x57, 2, 0, 0, 0xffff),
    copy(3, 2),
    // The power of two is the upper 5 bits, the digits are the lower 11 with a 1 before them.
    Instruction::new(0x77, 3, 0, 0, 11),
    Instruction::new(0x57, 2, 0, 0, 0x7ff),
    Instruction::new(0x47, 2, 0, 0, 0x800),
    Instruction::new(0x6f, 2, 3, 0, 0),
    // Sixteenths of a bit are bytes by 2 to the 7th.
    Instruction::new(0x77, 2, 0, 0, 7),
    // No more than the option holds, compared without a sign.
    Instruction::new(0xb5, 2, 0, 1, MOST),
    set(2, MOST),
    Instruction::new(0x63, 10, 2, -4, 0),
    copy(1, 6),
    set(2, libc::SOL_SOCKET),
    set(3, libc::SO_MAX_PACING_RATE),
    copy(4, 10),
    Instruction::new(0x07, 4, 0, 0, -4),
    set(5, 4),
    Instruction::new(0x85, 0, 0, 0, BPF_FUNC_SETSOCKOPT),
    set(0, 1),
    Instruction::new(0x95, 0, 0, 0, 0),
];

/// Whether the program is attached to the control group at `group`.
///
/// Errors: the query is denied; the group does not exist.
pub(crate) fn is_attached(group: &Path) -> io::Result<bool> {
    Ok(!attached(&File::open(group)?)?.is_empty())
}

/// Attaches it, or detaches it.
///
/// Errors: no right; a kernel without such programs.
pub(crate) fn attach(group: &Path, on: bool) -> io::Result<()> {
    let group = File::open(group)?;
    if on {
        return change(BPF_PROG_ATTACH, &group, &ebpf::load(SOCK_OPS, &PROGRAM, c"GPL", NAME)?);
    }
    attached(&group)?.iter().try_for_each(|program| change(BPF_PROG_DETACH, &group, program))
}

/// The argument of `BPF_PROG_ATTACH` and `BPF_PROG_DETACH`.
#[repr(C)]
#[derive(Default)]
struct Attach {
    target: u32,
    program: u32,
    kind: u32,
    flags: u32,
}

fn change(command: c_long, group: &File, program: &OwnedFd) -> io::Result<()> {
    let flags = if command == BPF_PROG_ATTACH { BPF_F_ALLOW_MULTI } else { 0 };
    let mut attr = Attach {
        target: group.as_raw_fd() as u32,
        program: program.as_raw_fd() as u32,
        kind: BPF_CGROUP_SOCK_OPS,
        flags,
    };
    bpf(command, &mut attr).map(|_| ())
}

/// The arguments of `BPF_PROG_QUERY`, `BPF_PROG_GET_FD_BY_ID` and `BPF_OBJ_GET_INFO_BY_FD`.
#[repr(C)]
#[derive(Default)]
struct Query {
    target: u32,
    kind: u32,
    query_flags: u32,
    attach_flags: u32,
    ids: u64,
    count: u32,
    _padding: u32,
}

#[repr(C)]
#[derive(Default)]
struct ById {
    id: u32,
    next: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct Info {
    program: u32,
    length: u32,
    info: u64,
}

/// `struct bpf_prog_info` up to its name. Source: include/uapi/linux/bpf.h: `name` is behind kind, id, tag, two lengths, two
/// pointers, a time, a user, the number of maps and their pointer.
#[repr(C)]
#[derive(Default)]
struct About {
    _kind: u32,
    _id: u32,
    _tag: [u8; 8],
    _lengths: [u32; 2],
    _pointers: [u64; 2],
    _time: u64,
    _user: u32,
    _maps: u32,
    _map_ids: u64,
    name: [u8; 16],
}

/// The attached programs of the group that are this one.
fn attached(group: &File) -> io::Result<Vec<OwnedFd>> {
    let mut ids = [0u32; PROGRAMS];
    let mut query = Query {
        target: group.as_raw_fd() as u32,
        kind: BPF_CGROUP_SOCK_OPS,
        ids: ids.as_mut_ptr() as u64,
        count: PROGRAMS as u32,
        ..Query::default()
    };
    bpf(BPF_PROG_QUERY, &mut query)?;
    let mut found = Vec::new();
    for id in &ids[..(query.count as usize).min(PROGRAMS)] {
        let fd = match bpf(BPF_PROG_GET_FD_BY_ID, &mut ById { id: *id, ..ById::default() }) {
            // It was detached since the query.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        // SAFETY: the kernel has just returned this descriptor, which has no other owner.
        let program = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        let mut about = About::default();
        let mut info = Info {
            program: program.as_raw_fd() as u32,
            length: size_of::<About>() as u32,
            info: &raw mut about as u64,
        };
        bpf(BPF_OBJ_GET_INFO_BY_FD, &mut info)?;
        if about.name.starts_with(NAME) && about.name[NAME.len()] == 0 {
            found.push(program);
        }
    }
    Ok(found)
}

/// `bpf(2)` with one of this file's structures.
fn bpf<T>(command: c_long, attr: &mut T) -> io::Result<c_long> {
    // SAFETY: `attr` is the beginning of the kernel's union for this command, and all pointers in it lead to memory
    // that outlives the call and has the length given in the same structure.
    unsafe { ebpf::call(command, attr) }
}

#[cfg(test)]
mod tests {
    use units::client_address::paced_rate;

    use super::*;

    /// The program's result for a code: interprets the instructions between the two jumps and the store.
    fn computed(code: u64) -> u64 {
        let mut registers = [0u64; 11];
        registers[2] = code;
        let mut at = 8;
        while at < 17 {
            let Instruction { code, registers: both, offset, immediate } = PROGRAM[at];
            let (to, from) = (usize::from(both & 15), usize::from(both >> 4));
            let value = immediate as u64;
            match code {
                0xbf => registers[to] = registers[from],
                0xb7 => registers[to] = value,
                0x57 => registers[to] &= value,
                0x47 => registers[to] |= value,
                0x77 => registers[to] >>= value,
                0x6f => registers[to] <<= registers[from],
                0xb5 if registers[to] <= value => at += offset as usize,
                0xb5 => {}
                other => panic!("{other:#x}"),
            }
            at += 1;
        }
        registers[2]
    }

    #[test]
    fn the_program_reads_an_address_as_clients_write_it() {
        for code in (0..=0xffffu64).step_by(7).chain([0xffff]) {
            let address = [PACED[0], PACED[1], (code >> 8) as u8, code as u8];
            let bits = paced_rate(address.into()).unwrap();
            let expect = (bits / 8).min(MOST as u64);
            assert!(computed(code).abs_diff(expect) <= 1, "{code:#x}: {} {expect}", computed(code));
        }
    }

    #[test]
    fn jumps_lead_to_the_end() {
        for (at, instruction) in PROGRAM.iter().enumerate().filter(|(_, one)| one.code == 0x55) {
            assert_eq!(PROGRAM[(at as i16 + 1 + instruction.offset) as usize], set(0, 1), "{at}");
        }
        assert_eq!(size_of::<Instruction>(), 8);
    }
}
