use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::libc;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};

use super::filter::{Direction, HEADERS, dropped, open};
use super::{Pairing, Timed, parse};

/// Packets wait here while this thread does not run; 4 MiB hold some 10⁴.
const ROOM: usize = 4 << 20;
/// How often the thread checks whether to stop.
const LOOK_MS: i64 = 20;

pub(crate) struct Capture {
    /// The wall-clock time from which on packets are ignored, in ns; `u64::MAX` while it runs.
    stop: Arc<AtomicU64>,
    /// `None` once it has ended.
    thread: Option<JoinHandle<Timed>>,
}

impl Capture {
    /// Begins to watch connections to `ports` whose client's port has the bits of `mask` clear.
    ///
    /// Errors: missing permission (CAP_NET_RAW).
    pub(crate) fn start(ports: &[u16], mask: u16) -> io::Result<Capture> {
        let socket = open(ports, mask, Direction::Both)?;
        // More than the system's limit if this user has the privilege; otherwise losses are reported as dropped.
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &ROOM);
        setsockopt(&socket, sockopt::ReceiveTimeout, &TimeVal::milliseconds(LOOK_MS))?;
        let stop = Arc::new(AtomicU64::new(u64::MAX));
        let (ports, stopped) = (ports.to_vec(), Arc::clone(&stop));
        let thread = Some(thread::spawn(move || watch(&socket, &ports, mask, &stopped)));
        Ok(Capture { stop, thread })
    }

    pub(crate) fn finish(mut self) -> Timed {
        self.end()
    }

    fn end(&mut self) -> Timed {
        // The clock of the kernel's packet stamps.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        self.stop.store(now, Ordering::Relaxed);
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Capture {
    /// If the programs could not be attached, it is never finished.
    fn drop(&mut self) {
        self.end();
    }
}

fn watch(socket: &OwnedFd, ports: &[u16], mask: u16, stop: &AtomicU64) -> Timed {
    let mut pairing = Pairing::default();
    loop {
        let (bytes, at_ns) = match receive(socket) {
            // Packets never cease under load: later ones are ignored.
            Some((_, at_ns)) if at_ns > stop.load(Ordering::Relaxed) => break,
            Some(packet) => packet,
            // Everything was read.
            None if stop.load(Ordering::Relaxed) < u64::MAX => break,
            None => continue,
        };
        // Packets that arrived before the filter was attached are filtered here.
        let packet = parse(&bytes, ports).filter(|packet| packet.client.1 & mask == 0);
        if let Some(packet) = packet {
            pairing.enter(packet, at_ns);
        }
    }
    pairing.finish(dropped(socket))
}

/// The next packet and its stamp; `None` after a time-out.
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

#[cfg(test)]
mod tests {
    use super::*;

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
