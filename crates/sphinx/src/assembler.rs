//! Writes programs of eBPF, the kernel's own machine language, of which a few dozen instructions do not call for a compiler.
//!
//! Source: RFC 9669, *BPF Instruction Set Architecture*.

use std::ffi::CStr;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use nix::libc;

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Register(u8);

/// What a call returns.
pub(crate) const R0: Register = Register(0);
/// Arguments of calls, and what the program is shown; lost by a call, up to r5.
pub(crate) const R1: Register = Register(1);
pub(crate) const R2: Register = Register(2);
pub(crate) const R3: Register = Register(3);
pub(crate) const R4: Register = Register(4);
pub(crate) const R5: Register = Register(5);
/// Kept by calls, as the following ones.
pub(crate) const R6: Register = Register(6);
pub(crate) const R7: Register = Register(7);
pub(crate) const R8: Register = Register(8);
pub(crate) const R9: Register = Register(9);
/// The end of the stack, which has 512 B below it.
pub(crate) const R10: Register = Register(10);

/// The kind of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Size {
    Word = 0x00,
    Byte = 0x10,
}

/// A comparison, of numbers without sign.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Is = 0x10,
    Above = 0x20,
    AtLeast = 0x30,
    Differs = 0x50,
    AtMost = 0xb0,
}

/// A place to jump to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label(usize);

/// An instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    code: u8,
    /// The destination in the lower half, the source in the upper, on a machine that stores the lower byte first.
    registers: u8,
    offset: i16,
    number: i32,
}

/// Classes of instructions.
const LOAD: u8 = 0x61;
const ALU32: u8 = 0x04;
const JUMP: u8 = 0x05;
const ALU64: u8 = 0x07;
/// The second operand is a register.
const OF_REGISTER: u8 = 0x08;

/// Operations of the arithmetic classes.
const ADD: u8 = 0x00;
const MULTIPLY: u8 = 0x20;
const OR: u8 = 0x40;
const AND: u8 = 0x50;
const SHIFT_LEFT: u8 = 0x60;
const SHIFT_RIGHT: u8 = 0x70;
const XOR: u8 = 0xa0;
const MOVE: u8 = 0xb0;
/// Operations of the jumps.
const ALWAYS: u8 = 0x00;
const CALL: u8 = 0x80;
const EXIT: u8 = 0x90;

/// Helpers. Source: `linux/bpf.h`, `bpf_func_id`.
pub(crate) const SKB_LOAD_BYTES: i32 = 26;

/// Commands and kinds of programs. Source: `linux/bpf.h`.
const BPF_PROG_LOAD: i64 = 5;
const BPF_PROG_TYPE_SOCKET_FILTER: u32 = 1;

/// What `bpf(BPF_PROG_LOAD)` takes, as far as it is used; what is behind it counts as 0. Source: `linux/bpf.h`, `union bpf_attr`.
#[repr(C)]
#[derive(Debug, Default)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
}

/// A program that is being written.
#[derive(Debug, Default)]
pub(crate) struct Program {
    instructions: Vec<Instruction>,
    /// Where each label was placed.
    labels: Vec<Option<usize>>,
    /// Instructions that jump, and where to.
    jumps: Vec<(usize, Label)>,
}

/// Methods that append one instruction each.
macro_rules! arithmetic {
    ($($name:ident = $class:ident, $operation:ident;)*) => {
        $(pub(crate) fn $name(&mut self, to: Register, number: i32) {
            self.push($class | $operation, to, R0, 0, number);
        })*
    };
}

macro_rules! arithmetic_of_registers {
    ($($name:ident = $class:ident, $operation:ident;)*) => {
        $(pub(crate) fn $name(&mut self, to: Register, from: Register) {
            self.push($class | $operation | OF_REGISTER, to, from, 0, 0);
        })*
    };
}

impl Program {
    arithmetic! {
        set = ALU64, MOVE;
        add = ALU64, ADD;
        and = ALU64, AND;
        multiply = ALU64, MULTIPLY;
        shift_left = ALU64, SHIFT_LEFT;
        shift_right = ALU64, SHIFT_RIGHT;
        shift_left32 = ALU32, SHIFT_LEFT;
        shift_right32 = ALU32, SHIFT_RIGHT;
    }

    arithmetic_of_registers! {
        copy = ALU64, MOVE;
        copy32 = ALU32, MOVE;
        add_register = ALU64, ADD;
        or_register = ALU64, OR;
        xor_register = ALU64, XOR;
        shift_left_register = ALU64, SHIFT_LEFT;
    }

    pub(crate) fn add32(&mut self, to: Register, number: u32) {
        self.push(ALU32 | ADD, to, R0, 0, number as i32);
    }

    pub(crate) fn multiply32(&mut self, to: Register, number: u32) {
        self.push(ALU32 | MULTIPLY, to, R0, 0, number as i32);
    }

    /// Rotates a number of 32 bits; `spare` is lost.
    pub(crate) fn rotate_left32(&mut self, of: Register, spare: Register, bits: i32) {
        self.copy32(spare, of);
        self.shift_left32(spare, bits);
        self.shift_right32(of, 32 - bits);
        self.or_register(of, spare);
    }

    /// Loads what lies at `at` and `offset`.
    pub(crate) fn load(&mut self, size: Size, to: Register, at: Register, offset: i16) {
        self.push(LOAD | size as u8, to, at, offset, 0);
    }

    /// Calls one of the kernel's helpers.
    pub(crate) fn call(&mut self, helper: i32) {
        self.push(JUMP | CALL, R0, R0, 0, helper);
    }

    /// Ends the program; r0 is what it returns.
    pub(crate) fn exit(&mut self) {
        self.push(JUMP | EXIT, R0, R0, 0, 0);
    }

    /// A place that is jumped to and will be [placed](Program::place).
    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Here is where jumps to `label` lead.
    pub(crate) fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.instructions.len());
    }

    pub(crate) fn jump(&mut self, to: Label) {
        self.push_jump(JUMP | ALWAYS, R0, R0, 0, to);
    }

    pub(crate) fn jump_if(&mut self, op: Op, left: Register, number: i32, to: Label) {
        self.push_jump(JUMP | op as u8, left, R0, number, to);
    }

    pub(crate) fn jump_if_registers(&mut self, op: Op, left: Register, right: Register, to: Label) {
        self.push_jump(JUMP | op as u8 | OF_REGISTER, left, right, 0, to);
    }

    fn push_jump(&mut self, code: u8, left: Register, right: Register, number: i32, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(code, left, right, 0, number);
    }

    fn push(&mut self, code: u8, to: Register, from: Register, offset: i16, number: i32) {
        let registers = if cfg!(target_endian = "little") { to.0 | from.0 << 4 } else { to.0 << 4 | from.0 };
        self.instructions.push(Instruction { code, registers, offset, number });
    }

    /// The instructions, with all jumps resolved.
    ///
    /// Bounds: every label is placed.
    fn finish(mut self) -> Vec<Instruction> {
        for (at, Label(label)) in self.jumps {
            let to = self.labels[label].expect("every label is placed");
            let offset = to as isize - at as isize - 1;
            self.instructions[at].offset = i16::try_from(offset).expect("a program is shorter");
        }
        self.instructions
    }

    /// Gives it to the kernel as a program for sockets, under a name of at most 15 letters, digits and `_`.
    ///
    /// Errors: the process may not, the kernel knows no such programs, or refuses this one.
    pub(crate) fn load_as_filter(self, name: &CStr) -> io::Result<OwnedFd> {
        let instructions = self.finish();
        let mut name_of = [0; 16];
        name_of.iter_mut().take(15).zip(name.to_bytes()).for_each(|(to, byte)| *to = *byte);
        let load = Load {
            kind: BPF_PROG_TYPE_SOCKET_FILTER,
            count: instructions.len() as u32,
            instructions: instructions.as_ptr() as u64,
            // No helper is called that only programs under the GPL may call.
            license: c"Apache-2.0".as_ptr() as u64,
            name: name_of,
            ..Load::default()
        };
        // SAFETY: the structure is what the command takes, of the length that is given; what it points at outlives the call.
        let number = unsafe { bpf(BPF_PROG_LOAD, &load) }?;
        // SAFETY: the kernel has just made it for this process, and nothing else has it.
        Ok(unsafe { OwnedFd::from_raw_fd(number as i32) })
    }
}

/// The system call.
///
/// # Safety
///
/// `attributes` is what `command` takes.
unsafe fn bpf<A>(command: i64, attributes: &A) -> io::Result<i64> {
    // SAFETY: as the caller promises.
    let outcome = unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *attributes, size_of::<A>()) };
    if outcome >= 0 { Ok(outcome) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::fd::{AsRawFd, BorrowedFd};

    use super::*;

    const BPF_PROG_TEST_RUN: i64 = 10;
    /// What a packet of the test begins with, and programs for sockets are not shown. Units: bytes.
    const ETHERNET: usize = 14;

    #[repr(C)]
    #[derive(Default)]
    struct TestRun {
        program: u32,
        returned: u32,
        length: u32,
        length_out: u32,
        data: u64,
        data_out: u64,
        repeat: u32,
        duration: u32,
    }

    /// What a program for sockets returns for these bytes.
    pub(crate) fn run(program: BorrowedFd<'_>, bytes: &[u8]) -> i32 {
        let packet = [&[0; ETHERNET], bytes].concat();
        let run = TestRun {
            program: program.as_raw_fd() as u32,
            length: packet.len() as u32,
            data: packet.as_ptr() as u64,
            repeat: 1,
            ..TestRun::default()
        };
        // SAFETY: the kernel writes into the structure, which nothing reads but below.
        unsafe { bpf(BPF_PROG_TEST_RUN, &run) }.unwrap();
        // SAFETY: the place is valid; the compiler must not take it for unchanged.
        unsafe { (&raw const run.returned).read_volatile() as i32 }
    }

    #[test]
    fn jumps_lead_where_their_labels_are() {
        let mut program = Program::default();
        let (start, end) = (program.label(), program.label());
        program.place(start);
        program.set(R0, -1);
        program.jump_if(Op::Is, R0, 5, end);
        program.jump(start);
        program.place(end);
        program.exit();
        let finished = program.finish();
        let offsets: Vec<i16> = finished.iter().map(|instruction| instruction.offset).collect();
        assert_eq!(offsets, [0, 1, -3, 0]);
        let codes: Vec<u8> = finished.iter().map(|instruction| instruction.code).collect();
        // Source: RFC 9669, §4.1 and §4.3: mov of 64 bits, jeq, ja, exit.
        assert_eq!(codes, [0xb7, 0x15, 0x05, 0x95]);
        assert_eq!((finished[0].registers, finished[0].number), (0, -1));
    }
}
