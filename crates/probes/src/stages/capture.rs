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

/// A packet socket at work.
pub(crate) struct Capture {
    /// The wall clock's moment after which nothing counts, in ns; `u64::MAX` while there is none.
    stop: Arc<AtomicU64>,
    thread: JoinHandle<Timed>,
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
        let thread = thread::spawn(move || watch(&socket, &ports, mask, &stopped));
        Ok(Capture { stop, thread })
    }

    /// Ends it.
    pub(crate) fn finish(self) -> Timed {
        // The clock by which the kernel stamps packets.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        self.stop.store(now, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
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

/// The filter in the kernel's classic language. Offsets are from IP's header. Source: `Documentation/networking/filter.rst`.
fn program(ports: &[u16], mask: u16) -> Vec<libc::sock_filter> {
    const LOAD_BYTE: u16 = 0x30;
    const LOAD_HALF_X: u16 = 0x48;
    const LOAD_HEADER: u16 = 0xb1;
    const IF_EQUAL: u16 = 0x15;
    const IF_BITS: u16 = 0x45;
    const RETURN: u16 = 0x06;
    let one = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mask = u32::from(mask);
    // Further ports are sorted out by whoever receives.
    let port = u32::from(ports[0]);
    if ports.len() > 1 {
        return vec![one(RETURN, 0, 0, HEADERS as u32)];
    }
    vec![
        // TCP only; X becomes the length of IP's header. A jump counts from the next line; the last drops.
        one(LOAD_BYTE, 0, 0, 9),
        one(IF_EQUAL, 0, 10, 6),
        one(LOAD_HEADER, 0, 0, 0),
        // To the server: the source is the client's port.
        one(LOAD_HALF_X, 0, 0, 2),
        one(IF_EQUAL, 0, 2, port),
        one(LOAD_HALF_X, 0, 0, 0),
        one(IF_BITS, 5, 4, mask),
        // From it: the destination is.
        one(LOAD_HALF_X, 0, 0, 0),
        one(IF_EQUAL, 0, 3, port),
        one(LOAD_HALF_X, 0, 0, 2),
        one(IF_BITS, 1, 0, mask),
        one(RETURN, 0, 0, HEADERS as u32),
        one(RETURN, 0, 0, 0),
    ]
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
