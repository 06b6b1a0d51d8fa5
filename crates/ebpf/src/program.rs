//! Programs that jump, written instruction by instruction.
//!
//! Source: RFC 9669, *BPF Instruction Set Architecture*.

use crate::Instruction;

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(u8);

/// The return value of a call.
pub const R0: Register = Register(0);
/// Arguments of calls, and the program's context; a call overwrites r1 to r5.
pub const R1: Register = Register(1);
/// The second argument.
pub const R2: Register = Register(2);
/// The third argument.
pub const R3: Register = Register(3);
/// The fourth argument.
pub const R4: Register = Register(4);
/// The fifth argument.
pub const R5: Register = Register(5);
/// Kept by calls, as the following ones.
pub const R6: Register = Register(6);
/// Kept by calls.
pub const R7: Register = Register(7);
/// Kept by calls.
pub const R8: Register = Register(8);
/// Kept by calls.
pub const R9: Register = Register(9);
/// The end of the stack, which has 512 B below it.
pub const R10: Register = Register(10);

/// The kind of a load.
#[derive(Clone, Copy, Debug)]
pub enum Size {
    /// 4 bytes.
    Word = 0x00,
    /// One byte.
    Byte = 0x10,
}

/// A comparison, of numbers without sign.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Equal.
    Is = 0x10,
    /// Greater.
    Above = 0x20,
    /// Greater or equal.
    AtLeast = 0x30,
    /// Not equal.
    Differs = 0x50,
    /// Less or equal.
    AtMost = 0xb0,
}

/// A place to jump to.
#[derive(Clone, Copy, Debug)]
pub struct Label(usize);

/// Classes of instructions.
const LOAD: u8 = 0x61;
const STORE: u8 = 0x62;
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

/// A program that is being written.
#[derive(Debug, Default)]
pub struct Program {
    instructions: Vec<Instruction>,
    /// Position of each label.
    labels: Vec<Option<usize>>,
    /// Instructions that jump, and their targets.
    jumps: Vec<(usize, Label)>,
}

/// Methods that append one instruction each: with a number as their second operand, or with a register.
macro_rules! arithmetic {
    ($($(#[$doc:meta])* $name:ident($second:ident: $kind:ty) = $code:expr, $from:expr, $number:expr;)*) => {
        $($(#[$doc])* pub fn $name(&mut self, to: Register, $second: $kind) {
            self.push($code, to, $from, 0, $number);
        })*
    };
}

impl Program {
    arithmetic! {
        /// `to = number`
        set(number: i32) = ALU64 | MOVE, R0, number;
        /// `to += number`
        add(number: i32) = ALU64 | ADD, R0, number;
        /// `to += number`, of 32 bits
        add32(number: u32) = ALU32 | ADD, R0, number as i32;
        /// `to &= number`
        and(number: i32) = ALU64 | AND, R0, number;
        /// `to *= number`
        multiply(number: i32) = ALU64 | MULTIPLY, R0, number;
        /// `to *= number`, of 32 bits
        multiply32(number: u32) = ALU32 | MULTIPLY, R0, number as i32;
        /// `to <<= number`
        shift_left(number: i32) = ALU64 | SHIFT_LEFT, R0, number;
        /// `to <<= number`, of 32 bits
        shift_left32(number: i32) = ALU32 | SHIFT_LEFT, R0, number;
        /// `to >>= number`
        shift_right(number: i32) = ALU64 | SHIFT_RIGHT, R0, number;
        /// `to >>= number`, of 32 bits
        shift_right32(number: i32) = ALU32 | SHIFT_RIGHT, R0, number;
        /// `to = from`
        copy(from: Register) = ALU64 | MOVE | OF_REGISTER, from, 0;
        /// `to = from`, of 32 bits
        copy32(from: Register) = ALU32 | MOVE | OF_REGISTER, from, 0;
        /// `to += from`
        add_register(from: Register) = ALU64 | ADD | OF_REGISTER, from, 0;
        /// `to |= from`
        or_register(from: Register) = ALU64 | OR | OF_REGISTER, from, 0;
        /// `to ^= from`
        xor_register(from: Register) = ALU64 | XOR | OF_REGISTER, from, 0;
        /// `to <<= from`
        shift_left_register(from: Register) = ALU64 | SHIFT_LEFT | OF_REGISTER, from, 0;
    }

    /// Rotates a number of 32 bits; `spare` is lost.
    pub fn rotate_left32(&mut self, of: Register, spare: Register, bits: i32) {
        self.copy32(spare, of);
        self.shift_left32(spare, bits);
        self.shift_right32(of, 32 - bits);
        self.or_register(of, spare);
    }

    /// Loads the value at `at` plus `offset`.
    pub fn load(&mut self, size: Size, to: Register, at: Register, offset: i16) {
        self.push(LOAD | size as u8, to, at, offset, 0);
    }

    /// Stores a number at `at` and `offset`.
    pub fn store(&mut self, size: Size, at: Register, offset: i16, number: i32) {
        self.push(STORE | size as u8, at, R0, offset, number);
    }

    /// Calls one of the kernel's helpers.
    pub fn call(&mut self, helper: i32) {
        self.push(JUMP | CALL, R0, R0, 0, helper);
    }

    /// Ends the program, which returns r0.
    pub fn exit(&mut self) {
        self.push(JUMP | EXIT, R0, R0, 0, 0);
    }

    /// A place that is jumped to and will be [placed](Program::place).
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Sets the target of jumps to `label` to this position.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.instructions.len());
    }

    /// Goes on at `to`.
    pub fn jump(&mut self, to: Label) {
        self.push_jump(JUMP | ALWAYS, R0, R0, 0, to);
    }

    /// Goes on at `to` if the register compares so with the number.
    pub fn jump_if(&mut self, op: Op, left: Register, number: i32, to: Label) {
        self.push_jump(JUMP | op as u8, left, R0, number, to);
    }

    /// The same for two registers.
    pub fn jump_if_registers(&mut self, op: Op, left: Register, right: Register, to: Label) {
        self.push_jump(JUMP | op as u8 | OF_REGISTER, left, right, 0, to);
    }

    fn push_jump(&mut self, code: u8, left: Register, right: Register, number: i32, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.push(code, left, right, 0, number);
    }

    fn push(&mut self, code: u8, to: Register, from: Register, offset: i16, number: i32) {
        self.instructions.push(Instruction::new(code, to.0, from.0, offset, number));
    }

    /// The instructions, with all jumps resolved.
    ///
    /// Bounds: every label is placed.
    pub fn finish(mut self) -> Vec<Instruction> {
        for (at, Label(label)) in self.jumps {
            let to = self.labels[label].expect("every label is placed");
            let offset = to as isize - at as isize - 1;
            self.instructions[at].offset = i16::try_from(offset).expect("a program is shorter");
        }
        self.instructions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((finished[0].registers, finished[0].immediate), (0, -1));
    }
}
