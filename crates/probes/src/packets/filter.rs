//! The filter of a packet socket, run by the kernel.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, setsockopt, socket, sockopt};

/// Bytes of a packet that the filter passes: both headers with all options.
pub(super) const HEADERS: usize = 160;

// Instructions of the filter. Source: `Documentation/networking/filter.rst`.
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF_X: u16 = 0x48;
const LOAD_HEADER: u16 = 0xb1;
const IF_EQUAL: u16 = 0x15;
const IF_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Offset at which a filter loads a packet's direction. Source: `linux/filter.h`, `SKF_AD_OFF + SKF_AD_PKTTYPE`.
const DIRECTION: u32 = -0x1000_i32 as u32 + 4;

/// Direction of the packets that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Sent by this machine; over loopback each packet passes once.
    Out,
    #[cfg(any(feature = "bpf", test))]
    Both,
}

/// A packet socket with stamps, which the kernel gives packets of TCP over IPv4 without options with the given ports.
///
/// Errors: missing permission (CAP_NET_RAW).
pub(super) fn open(ports: &[u16], mask: u16, direction: Direction) -> io::Result<OwnedFd> {
    // All protocols, since otherwise outgoing packets are not seen; from IP's header on.
    let socket =
        socket(AddressFamily::Packet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll)?;
    let program = program(ports, mask, direction);
    let description = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // The kernel copies the program, which the description points to.
    set(&socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &description)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    Ok(socket)
}

/// Sets an option that nix does not know.
pub(super) fn set<T>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads as many bytes as the value has.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, ptr::from_ref(value).cast(), length) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The filter in the kernel's classic language, for some dozens of ports at most. Offsets are from IP's header.
fn program(ports: &[u16], mask: u16, direction: Direction) -> Vec<libc::sock_filter> {
    let one = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let ports: Vec<u32> = ports.iter().map(|port| u32::from(*port)).collect();
    let mask = u32::from(mask);
    // A jump counts from the next line; `to` is its distance behind the last of these tests.
    let tests = |to: u8| {
        let count = ports.len() as u8;
        ports.iter().zip(0..).map(move |(port, i)| one(IF_EQUAL, count - 1 - i + to, 0, *port))
    };
    let sources = ports.len() as u8 + 1;
    let mut lines = Vec::new();
    if direction == Direction::Out {
        let out = u32::from(libc::PACKET_OUTGOING);
        lines.extend([one(LOAD_BYTE, 0, 0, DIRECTION), one(IF_EQUAL, 1, 0, out), one(RETURN, 0, 0, 0)]);
    }
    // TCP only; X becomes the length of IP's header.
    lines.extend([one(LOAD_BYTE, 0, 0, 9), one(IF_EQUAL, 1, 0, 6), one(RETURN, 0, 0, 0)]);
    lines.extend([one(LOAD_HEADER, 0, 0, 0), one(LOAD_HALF_X, 0, 0, 2)]);
    // To the server, or from it; otherwise it is dropped.
    lines.extend(tests(sources + 1));
    lines.push(one(LOAD_HALF_X, 0, 0, 0));
    lines.extend(tests(3));
    lines.push(one(RETURN, 0, 0, 0));
    // To the server: the source is the client's port. From it: the destination is.
    lines.extend([one(LOAD_HALF_X, 0, 0, 0), one(IF_BITS, 2, 3, mask)]);
    lines.extend([one(LOAD_HALF_X, 0, 0, 2), one(IF_BITS, 0, 1, mask)]);
    lines.extend([one(RETURN, 0, 0, 0), one(RETURN, 0, 0, HEADERS as u32)]);
    lines
}

/// Packets dropped for lack of room. Source: `packet(7)`, PACKET_STATISTICS: packets, then drops.
pub(super) fn dropped(socket: &OwnedFd) -> u64 {
    let mut statistics = [0_u32; 2];
    let mut length = size_of_val(&statistics) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to the array, which is that long, and the length itself.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut length,
        )
    };
    if result < 0 { 0 } else { u64::from(statistics[1]) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ipv4;
    use super::*;

    /// The filter's result for a packet.
    fn run(program: &[libc::sock_filter], direction: u8, packet: &[u8]) -> u32 {
        let (mut at, mut a, mut x) = (0, 0, 0);
        loop {
            let line = program[at];
            let k = line.k as usize;
            at += 1;
            match line.code {
                LOAD_BYTE if line.k == DIRECTION => a = u32::from(direction),
                LOAD_BYTE => a = u32::from(packet[k]),
                LOAD_HALF_X => a = u32::from(packet[x + k]) << 8 | u32::from(packet[x + k + 1]),
                LOAD_HEADER => x = usize::from(packet[k] & 15) * 4,
                IF_EQUAL => at += usize::from(if a == line.k { line.jt } else { line.jf }),
                IF_BITS => at += usize::from(if a & line.k != 0 { line.jt } else { line.jf }),
                RETURN => return line.k,
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn only_the_ports_packets_pass() {
        for ports in [&[80_u16][..], &[80, 81], &[70, 71, 72, 73, 74, 75, 76, 80]] {
            let program = program(ports, 3, Direction::Both);
            let check = |packet: &[u8], expect: bool| {
                assert_eq!(run(&program, libc::PACKET_HOST, packet) > 0, expect, "{ports:?}: {packet:?}");
            };
            check(&ipv4(5000, 80, 7, 10), true);
            check(&ipv4(80, 5000, 7, 10), true);
            // Connections of other servers, and connections outside of the sample.
            check(&ipv4(5000, 90, 7, 10), false);
            check(&ipv4(90, 5000, 7, 10), false);
            check(&ipv4(5001, 80, 7, 10), false);
            check(&ipv4(80, 5002, 7, 10), false);
            let mut datagram = ipv4(5000, 80, 7, 10);
            datagram[9] = 17;
            check(&datagram, false);
            for port in ports {
                check(&ipv4(5000, *port, 7, 10), true);
                check(&ipv4(*port, 5000, 7, 10), true);
            }
        }
    }

    #[test]
    fn packets_of_one_direction_pass() {
        let program = program(&[80], 0, Direction::Out);
        let passes = |direction: u8| run(&program, direction, &ipv4(5000, 80, 7, 10)) > 0;
        assert!(passes(libc::PACKET_OUTGOING) && !passes(libc::PACKET_HOST));
    }
}
