//! A program that the kernel runs for each datagram: it finds the key of the request and hands the datagram to the thread
//! that owns it, so that no thread has to ask another.
//!
//! ```text
//!   datagram ─▶ UDP ─▶ program: frame header, command, key ─▶ MurmurHash3 ─▶ number of a thread ─▶ its socket
//! ```
//!
//! It reads text requests whose key is the first argument, which is all but `gat`, `gats` and the `stats`, and requests
//! of the binary protocol. Of several keys the first counts. A datagram that it cannot parse is left to the kernel, and
//! a thread that gets a foreign key asks the owner as usual: a wrong choice costs a message and no more. A request of
//! several datagrams has its key only in the first, so all go to one thread by the request's number.

use std::io;
use std::os::fd::OwnedFd;

use ebpf::{Label, Op, Program, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10, SOCKET_FILTER, Size};
use proto_memcache::partition;

/// The kernel's helper that copies a part of a packet. Source: `linux/bpf.h`, `bpf_func_id`.
const SKB_LOAD_BYTES: i32 = 26;
/// Size of the frame header before the text of a datagram. Units: bytes. Source: memcached's `protocol.txt`, UDP
/// protocol.
const FRAME: i32 = 8;
/// The longest key. Units: bytes.
const KEY: i32 = 250;
/// The longest command before a key, with the following space: `prepend `, and some more to recognise longer words.
const COMMAND: i32 = 12;
/// The header of the binary protocol. Units: bytes.
const HEADER: i32 = 24;
/// The longest extras before a key, of `incr` and `decr`. Units: bytes.
const EXTRAS: i32 = 20;
/// The part of a datagram that is examined, after its frame header. Units: bytes; a multiple of 8.
const TEXT: i32 = 296;
const _: () = assert!(TEXT >= HEADER + EXTRAS + KEY && TEXT > COMMAND + KEY);

/// The program's return value for no choice.
const ANY: i32 = -1;

/// The program for a server of `threads` threads.
fn program(threads: usize) -> Program {
    let mut p = Program::default();
    let (any, text, hash) = (p.label(), p.label(), p.label());
    // r6: the kernel's context of the datagram. r7: start of the key. r8: bytes examined. r9: the hash.
    p.copy(R6, R1);
    p.load(Size::Word, R8, R6, 0);
    p.jump_if(Op::AtMost, R8, FRAME, any);
    let short = p.label();
    p.jump_if(Op::AtMost, R8, FRAME + TEXT, short);
    p.set(R8, FRAME + TEXT);
    p.place(short);
    // For a shorter datagram the leftover bytes on the stack must not form a command.
    for place in (0..=COMMAND).step_by(4) {
        p.store(Size::Word, R10, (place - TEXT) as i16, 0);
    }
    for (register, value) in [(R1, R6), (R3, R10), (R4, R8)] {
        p.copy(register, value);
    }
    p.set(R2, 0);
    p.add(R3, -FRAME - TEXT);
    p.call(SKB_LOAD_BYTES);
    p.jump_if(Op::Differs, R0, 0, any);
    // How many datagrams the request has, in the fifth and the sixth byte.
    let several = p.label();
    for (place, alone) in [(4, 0), (5, 1)] {
        p.load(Size::Byte, R0, R10, (place - FRAME - TEXT) as i16);
        p.jump_if(Op::Differs, R0, alone, several);
    }

    p.load(Size::Byte, R0, R10, -TEXT as i16);
    p.jump_if(Op::Differs, R0, 0x80, text);
    // Binary: the length of the key, and of the extras before it.
    p.load(Size::Byte, R0, R10, (-TEXT + 2) as i16);
    p.jump_if(Op::Differs, R0, 0, any);
    p.load(Size::Byte, R4, R10, (-TEXT + 3) as i16);
    p.jump_if(Op::Above, R4, KEY, any);
    p.load(Size::Byte, R0, R10, (-TEXT + 4) as i16);
    let binary = p.label();
    for extras in [0, 4, 8, EXTRAS] {
        p.set(R7, HEADER + extras);
        p.jump_if(Op::Is, R0, extras, binary);
    }
    p.jump(any);
    p.place(binary);
    hash_key(&mut p, hash, any, |p, done| p.jump_if_registers(Op::AtLeast, R8, R4, done));

    // Text: the key follows the first space.
    p.place(text);
    p.set(R7, 0);
    let command = p.label();
    p.place(command);
    p.add(R7, 1);
    p.jump_if(Op::Above, R7, COMMAND, any);
    p.copy(R1, R10);
    p.add_register(R1, R7);
    p.load(Size::Byte, R0, R1, -TEXT as i16);
    p.jump_if(Op::Differs, R0, i32::from(b' '), command);
    p.add(R7, 1);
    hash_key(&mut p, hash, any, |p, done| p.jump_if(Op::AtMost, R0, i32::from(b' '), done));

    // The end of MurmurHash3, whose last word is in r5, and the thread.
    p.place(hash);
    mix_in(&mut p);
    p.xor_register(R9, R8);
    for (shift, multiplier) in [(16, Some(partition::END[0])), (13, Some(partition::END[1])), (16, None)] {
        p.copy32(R1, R9);
        p.shift_right32(R1, shift);
        p.xor_register(R9, R1);
        if let Some(multiplier) = multiplier {
            p.multiply32(R9, multiplier);
        }
    }
    p.shift_right32(R9, 32 - partition::BITS as i32);
    p.multiply(R9, threads as i32);
    p.shift_right(R9, partition::BITS as i32);
    p.copy(R0, R9);
    p.exit();

    p.place(several);
    p.load(Size::Byte, R0, R10, (-FRAME - TEXT) as i16);
    p.load(Size::Byte, R1, R10, (1 - FRAME - TEXT) as i16);
    p.shift_left(R0, 8);
    p.or_register(R0, R1);
    p.multiply(R0, threads as i32);
    p.shift_right(R0, 16);
    p.exit();
    p.place(any);
    p.set(R0, ANY);
    p.exit();
    p
}

/// Hashes the key at r7 of the text, byte by byte, until `is_over` jumps to `done`, with the byte in r0 and the number
/// of bytes hashed in r8. Jumps to `any` if it is too long to be a key.
///
/// The kernel's verifier follows every path through a program before it accepts it. It needs r7 and r8 to be known
/// numbers on each path: a length read first and counted down would create unbounded paths.
fn hash_key(p: &mut Program, done: Label, any: Label, is_over: impl FnOnce(&mut Program, Label)) {
    for register in [R5, R8, R9] {
        p.set(register, 0);
    }
    let next = p.label();
    p.place(next);
    p.copy(R1, R10);
    p.add_register(R1, R7);
    p.add_register(R1, R8);
    p.load(Size::Byte, R0, R1, -TEXT as i16);
    is_over(p, done);
    p.jump_if(Op::AtLeast, R8, KEY, any);
    // The byte's place in its word.
    p.copy(R2, R8);
    p.and(R2, 3);
    p.shift_left(R2, 3);
    p.shift_left_register(R0, R2);
    p.or_register(R5, R0);
    p.add(R8, 1);
    p.copy(R2, R8);
    p.and(R2, 3);
    p.jump_if(Op::Differs, R2, 0, next);
    mix_in(p);
    p.rotate_left32(R9, R1, 13);
    p.multiply32(R9, 5);
    p.add32(R9, partition::MIX[2]);
    p.set(R5, 0);
    p.jump(next);
}

/// Mixes the word of r5 into the hash.
fn mix_in(p: &mut Program) {
    p.multiply32(R5, partition::MIX[0]);
    p.rotate_left32(R5, R1, 15);
    p.multiply32(R5, partition::MIX[1]);
    p.xor_register(R9, R5);
}

/// Gives the program for a server of `threads` threads to the kernel.
///
/// Errors: the process may not (it takes root or `CAP_BPF`), or the kernel has no eBPF or is older than Linux 5.3.
pub(crate) fn by_key(threads: usize) -> io::Result<OwnedFd> {
    // No helper is called that only programs under the GPL may call.
    ebpf::load(SOCKET_FILTER, &program(threads).finish(), c"Apache-2.0", b"sphinx_by_key")
}

#[cfg(test)]
mod tests {
    use std::ffi::c_long;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;
    use proto_memcache::client::udp::Header;

    use super::*;

    const BPF_PROG_TEST_RUN: c_long = 10;
    /// The start of a test packet, which programs for sockets do not see. Units: bytes.
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

    /// The return value of a program for sockets on these bytes.
    fn run(program: BorrowedFd<'_>, bytes: &[u8]) -> i32 {
        let packet = [&[0; ETHERNET], bytes].concat();
        let mut run = TestRun {
            program: program.as_raw_fd() as u32,
            length: packet.len() as u32,
            data: packet.as_ptr() as u64,
            repeat: 1,
            ..TestRun::default()
        };
        // SAFETY: the structure has the command's layout, and the packet outlives the call.
        unsafe { ebpf::call(BPF_PROG_TEST_RUN, &mut run) }.unwrap();
        run.returned as i32
    }

    /// The program; `None`, with a printed reason, if this environment may not load it.
    fn loaded(threads: usize) -> Option<OwnedFd> {
        match by_key(threads) {
            Err(error) if matches!(error.raw_os_error(), Some(nix::libc::EPERM | nix::libc::ENOSYS)) => {
                eprintln!("skipped: programs of the kernel may not be loaded here: {error}");
                None
            }
            outcome => Some(outcome.expect("the kernel takes the program")),
        }
    }

    fn datagram(text: &[u8]) -> Vec<u8> {
        [&[0, 1, 0, 0, 0, 1, 0, 0], text].concat()
    }

    fn binary(opcode: u8, extras: usize, key: &[u8]) -> Vec<u8> {
        let mut header = vec![0; HEADER as usize];
        (header[0], header[1], header[4]) = (0x80, opcode, extras as u8);
        header[2..4].copy_from_slice(&(key.len() as u16).to_be_bytes());
        datagram(&[&header, &vec![0xaa; extras][..], key, b"value"].concat())
    }

    #[test]
    fn every_request_with_a_key_goes_to_its_owner() {
        for threads in [1, 2, 3, 40, 256] {
            let Some(program) = loaded(threads) else { return };
            let key = "[!-~]{1,250}";
            TestRunner::new(ProptestConfig::with_cases(200))
                .run(&(key, 0..6usize, 0..4usize), |(key, verb, extras)| {
                    let owner = partition::of(key.as_bytes(), threads) as i32;
                    let (before, behind) = [
                        ("get", "\r\n"),
                        ("gets", " another\r\n"),
                        ("set", " 0 0 1\r\nx\r\n"),
                        ("delete", "\r\n"),
                        ("prepend", " 0 0 1\r\nx\r\n"),
                        ("mg", " v\r\n"),
                    ][verb];
                    let text = format!("{before} {key}{behind}");
                    prop_assert_eq!(run(program.as_fd(), &datagram(text.as_bytes())), owner, "{}", text);
                    let extras = [0, 4, 8, 20][extras];
                    prop_assert_eq!(run(program.as_fd(), &binary(0, extras, key.as_bytes())), owner);
                    Ok(())
                })
                .unwrap();
        }
    }

    #[test]
    fn what_is_no_request_with_a_key_is_left_to_the_kernel() {
        let Some(program) = loaded(4) else { return };
        // Its text is left on the stack.
        run(program.as_fd(), &datagram(b"get key\r\n"));
        let long = format!("get {}\r\n", "k".repeat(251));
        for text in ["", "g", "version\r\n", "a_command_that_is_long key\r\n", long.as_str()] {
            assert_eq!(run(program.as_fd(), &datagram(text.as_bytes())), ANY, "{text}");
        }
        assert_eq!(run(program.as_fd(), b"short"), ANY);
        assert_eq!(run(program.as_fd(), &binary(0, 3, b"key")), ANY);
        assert_eq!(run(program.as_fd(), &binary(0, 0, &[b'k'; 251])), ANY);
    }

    #[test]
    fn the_datagrams_of_one_request_go_to_one_thread() {
        let Some(program) = loaded(3) else { return };
        for (request, expect) in [(0u16, 0), (30_000, 1), (u16::MAX, 2)] {
            for sequence in 0..3 {
                let mut bytes = Vec::new();
                Header { request, sequence, count: 3 }.append(&mut bytes);
                bytes.extend_from_slice(format!("get key{sequence}\r\n").as_bytes());
                assert_eq!(run(program.as_fd(), &bytes), expect, "{request} {sequence}");
            }
        }
    }

    #[test]
    fn any_bytes_lead_to_a_thread_or_to_none() {
        let Some(program) = loaded(3) else { return };
        TestRunner::new(ProptestConfig::with_cases(500))
            .run(&prop::collection::vec(any::<u8>(), 0..400), |bytes| {
                prop_assert!((ANY..3).contains(&run(program.as_fd(), &bytes)));
                Ok(())
            })
            .unwrap();
    }
}
