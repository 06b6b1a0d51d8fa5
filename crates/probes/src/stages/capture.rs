use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::libc;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, recvmsg,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

use super::packets::{Pairing, Timed, parse};

/// Bytes of a packet that are looked at: both headers with all options.
const HEADERS: usize = 160;
/// Packets wait here while this thread does not run; 4 MiB hold some 10⁴.
const ROOM: usize = 4 << 20;
/// How often the thread looks whether it is to end.
const LOOK_MS: i64 = 20;

// What the filter does. Source: `Documentation/networking/filter.rst`.
const LOAD_BYTE: u16 = 0x30;
const LOAD_HALF_X: u16 = 0x48;
const LOAD_HEADER: u16 = 0xb1;
const IF_EQUAL: u16 = 0x15;
const IF_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;

/// A packet socket at work.
pub(crate) struct Capture {
    /// The wall clock's moment after which nothing counts, in ns; `u64::MAX` while there is none.
    stop: Arc<AtomicU64>,
    /// `None` once it has ended.
    thread: Option<JoinHandle<Timed>>,
}

impl Capture {
    /// Begins to watch connections to `ports` whose client's port has the bits of `mask` clear.
    ///
    /// Errors: this user may not (CAP_NET_RAW).
    pub(crate) fn start(ports: &[u16], mask: u16) -> io::Result<Capture> {
        // Of all protocols, since only then packets that leave are seen too; from IP's header on.
        let socket =
            socket(AddressFamily::Packet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll)?;
        filter(&socket, ports, mask)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        // More than the system's limit where this user may; the rest is told as dropped.
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &ROOM);
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::milliseconds(LOOK_MS))?;
        let stop = Arc::new(AtomicU64::new(u64::MAX));
        let (ports, stopped) = (ports.to_vec(), Arc::clone(&stop));
        let thread = Some(thread::spawn(move || watch(&socket, &ports, mask, &stopped)));
        Ok(Capture { stop, thread })
    }

    /// Ends it.
    pub(crate) fn finish(mut self) -> Timed {
        self.end()
    }

    fn end(&mut self) -> Timed {
        // The clock by which the kernel stamps packets.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        self.stop.store(now, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Capture {
    /// Where the programs could not begin to see, it is never finished.
    fn drop(&mut self) {
        self.end();
    }
}

fn watch(socket: &OwnedFd, ports: &[u16], mask: u16, stop: &AtomicU64) -> Timed {
    let mut pairing = Pairing::default();
    loop {
        let (bytes, at_ns) = match receive(socket) {
            // Packets never cease under load: those that came since are not wanted.
            Some((_, at_ns)) if at_ns > stop.load(Ordering::Relaxed) => break,
            Some(packet) => packet,
            // Everything was read.
            None if stop.load(Ordering::Relaxed) < u64::MAX => break,
            None => continue,
        };
        // What came before the filter stood is looked at here.
        let packet = parse(&bytes, ports).filter(|packet| packet.client.1 & mask == 0);
        if let Some(packet) = packet {
            pairing.enter(packet, at_ns);
        }
    }
    pairing.finish(dropped(socket))
}

/// The next packet and its stamp; `None` where none has come for a while.
fn receive(socket: &OwnedFd) -> Option<([u8; HEADERS], u64)> {
    let mut bytes = [0; HEADERS];
    let mut iov = [io::IoSliceMut::new(&mut bytes)];
    let mut space = nix::cmsg_space!(libc::timespec);
    let message =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut iov, Some(&mut space), MsgFlags::empty()).ok()?;
    let stamp = message.cmsgs().ok()?.find_map(|one| match one {
        ControlMessageOwned::ScmTimestampns(at) => {
            Some(1_000_000_000 * at.tv_sec() as u64 + at.tv_nsec() as u64)
        }
        _ => None,
    })?;
    Some((bytes, stamp))
}

/// Lets the kernel pass over all but TCP over IPv4 without options with the ports that are wanted.
fn filter(socket: &OwnedFd, ports: &[u16], mask: u16) -> io::Result<()> {
    let program = program(ports, mask);
    let description = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: the description and the program that it points at outlive the call, which copies them; the length is the
    // description's own.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const description).cast(),
            size_of::<libc::sock_fprog>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The filter in the kernel's classic language, for some dozens of ports at most. Offsets are from IP's header.
fn program(ports: &[u16], mask: u16) -> Vec<libc::sock_filter> {
    let one = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let ports: Vec<u32> = ports.iter().map(|port| u32::from(*port)).collect();
    let mask = u32::from(mask);
    // A jump counts from the next line; `to` is how far behind the last of these tests it leads.
    let tests = |to: u8| {
        let count = ports.len() as u8;
        ports.iter().zip(0..).map(move |(port, i)| one(IF_EQUAL, count - 1 - i + to, 0, *port))
    };
    let sources = ports.len() as u8 + 1;
    // TCP only; X becomes the length of IP's header.
    let mut lines = vec![one(LOAD_BYTE, 0, 0, 9), one(IF_EQUAL, 1, 0, 6), one(RETURN, 0, 0, 0)];
    lines.extend([one(LOAD_HEADER, 0, 0, 0), one(LOAD_HALF_X, 0, 0, 2)]);
    // To the server, or from it; else it is dropped.
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

/// Packets that there was no room for. Source: `packet(7)`, PACKET_STATISTICS: packets, then drops.
fn dropped(socket: &OwnedFd) -> u64 {
    let mut statistics = [0_u32; 2];
    let mut length = size_of_val(&statistics) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to the array, which has so many, and the length itself.
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
    use super::super::packets::tests::ipv4;
    use super::*;

    /// What the filter says of a packet.
    fn run(program: &[libc::sock_filter], packet: &[u8]) -> u32 {
        let (mut at, mut a, mut x) = (0, 0, 0);
        loop {
            let line = program[at];
            let k = line.k as usize;
            at += 1;
            match line.code {
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
            let program = program(ports, 3);
            let check = |packet: &[u8], expect: bool| {
                assert_eq!(run(&program, packet) > 0, expect, "{ports:?}: {packet:?}");
            };
            check(&ipv4(5000, 80, 7, 10), true);
            check(&ipv4(80, 5000, 7, 10), true);
            // Others' connections, and those that are not singled out.
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
    fn one_that_is_not_finished_ends() {
        let capture = match Capture::start(&[1], 0) {
            Ok(capture) => capture,
            Err(error) => return println!("skipped: this user may not watch packets: {error}"),
        };
        let kept_by_its_thread = Arc::clone(&capture.stop);
        drop(capture);
        assert_eq!(Arc::strong_count(&kept_by_its_thread), 1);
    }
}
