//! When the kernel received a packet, on `CLOCK_MONOTONIC`.
//!
//! A socket with `SO_TIMESTAMPING` gets a stamp of the wall clock with each receive: the stamp of the last packet
//! with bytes in it. On loopback, a virtual pair and a bridge the sender's system call makes the stamp, on a card the
//! driver's poll. A reader that comes late gets the same stamp.
//!
//! Source: the kernel's `Documentation/networking/timestamping.rst`; `tcp_update_recv_tstamps` for which packet of several.

use std::io::IoSliceMut;
use std::mem::size_of;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::null_mut;

use nix::libc;
use nix::sys::socket::{TimestampingFlag, setsockopt, sockopt};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use units::{Nanos, Time};

use crate::WallClock;

/// How often the two clocks are compared: after a step of the wall clock, stamps are wrong for at most this long.
const COMPARE_EVERY: Nanos = Nanos::from_millis(1);
/// A change of the wall clock's lead by more than the errors of two comparisons and this is a step, not an adjustment of
/// its rate, which both clocks share.
const STEP: Nanos = Nanos::from_micros(1);
/// Events of one poll from which on a thread is busy, if this continues.
///
/// Source: a quarter of the 64 connections that are the default; a thread with time left polls after each answer.
const MANY: usize = 16;
/// Consecutive busy polls after which receives go without stamps. After a stall, one poll has all answers in flight, and
/// those need their stamps.
const BUSY_POLLS: u32 = 3;
/// Room for the control message with a stamp: 64 bytes where a `timespec` has 16.
pub(crate) const CONTROL: usize = 64;

/// How well stamps are converted to `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveClock {
    /// The largest error of a comparison of the two clocks.
    pub error: Nanos,
    /// Steps of the wall clock that were seen; up to 1 ms of stamps before each is wrong by its length.
    pub steps: u32,
}

/// The stamps of a reactor's receives, if enabled.
#[derive(Debug, Default)]
pub(crate) struct ReceiveStamps {
    converter: Option<Converter>,
    /// Consecutive polls with [`MANY`] events or more.
    busy: u32,
}

impl ReceiveStamps {
    /// Has sockets stamped that are opened from now on.
    pub(crate) fn begin(&mut self) {
        self.converter = Some(Converter::new());
    }

    /// Asks for the stamps of a socket; whether it makes any.
    pub(crate) fn ask(&self, fd: &OwnedFd) -> bool {
        self.converter.is_some() && ask(fd)
    }

    /// A poll returned this number of events.
    #[inline]
    pub(crate) fn polled(&mut self, events: usize) {
        self.busy = if events >= MANY { self.busy.saturating_add(1) } else { 0 };
    }

    /// Whether to receive with stamps: not while the thread has no time left, since they cost a tenth of its throughput and
    /// its response times then describe itself.
    #[inline]
    pub(crate) fn are_wanted(&self) -> bool {
        self.busy < BUSY_POLLS
    }

    /// As [`Converter::convert`].
    #[inline]
    pub(crate) fn came(&mut self, stamp: Option<Time>, at: Time) -> Option<Time> {
        self.converter.as_mut()?.convert(stamp, at)
    }

    pub(crate) fn clock(&self) -> ReceiveClock {
        self.converter.as_ref().map_or_else(ReceiveClock::default, |converter| converter.quality)
    }
}

/// Converts a thread's stamps.
#[derive(Debug)]
struct Converter {
    clock: WallClock,
    quality: ReceiveClock,
}

impl Converter {
    fn new() -> Converter {
        let clock = WallClock::sample();
        Converter { clock, quality: ReceiveClock { error: clock.error, steps: 0 } }
    }

    /// The moment of a stamp of something that was read at `at`; `None` for a stamp that the kernel did not make, and where
    /// the wall clock stepped.
    #[inline]
    fn convert(&mut self, stamp: Option<Time>, at: Time) -> Option<Time> {
        let stamp = stamp?;
        if at.since(self.clock.at) >= COMPARE_EVERY {
            self.compare();
        }
        let came = self.clock.monotonic(stamp);
        if came > at + self.quality.error + STEP {
            return None;
        }
        Some(came.min(at))
    }

    fn compare(&mut self) {
        let clock = WallClock::glance();
        let allowed = (clock.error + self.clock.error + STEP).0;
        // A torn comparison is useless; the next one will do.
        if clock.error <= STEP {
            self.quality.steps += u32::from(clock.ahead_ns.abs_diff(self.clock.ahead_ns) > allowed);
            self.quality.error = self.quality.error.max(clock.error);
            self.clock = clock;
        } else {
            self.clock.at = clock.at;
        }
    }
}

/// Enables stamps of the socket's receives. A socket that makes none goes on without.
fn ask(fd: &OwnedFd) -> bool {
    let flags = TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE;
    setsockopt(fd, sockopt::Timestamping, &flags).is_ok()
}

/// Receives as `recv` does without waiting; from a `stamped` socket with the stamp on the wall clock.
#[inline]
pub(crate) fn receive(
    fd: &OwnedFd,
    buffer: &mut [u8],
    stamped: bool,
) -> Result<(usize, Option<Time>), Errno> {
    if stamped {
        receive_stamped(fd, buffer)
    } else {
        recv(fd, buffer, RecvFlags::DONTWAIT).map(|(n, _)| (n, None))
    }
}

fn receive_stamped(fd: &OwnedFd, buffer: &mut [u8]) -> Result<(usize, Option<Time>), Errno> {
    let mut part = [IoSliceMut::new(buffer)];
    let mut control = Control([0; CONTROL]);
    // SAFETY: all fields are numbers and pointers, for which 0 is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_name = null_mut();
    message.msg_iov = part.as_mut_ptr().cast();
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL as _;
    // SAFETY: the message points at one buffer, whose ABI is that of `iovec`, and at the control memory; both outlive the call.
    let taken = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let taken = usize::try_from(taken)
        .map_err(|_| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))?;
    // The field has 4 bytes with musl and 8 with glibc.
    let length: usize = message.msg_controllen as _;
    Ok((taken, stamp_in(&control.0[..length.min(CONTROL)])))
}

/// Control messages are aligned as a `usize`.
#[repr(align(8))]
struct Control([u8; CONTROL]);

/// The stamp among these control messages, on the wall clock.
pub(crate) fn stamp_in(mut control: &[u8]) -> Option<Time> {
    const HEADER: usize = size_of::<libc::cmsghdr>();
    const SECONDS: usize = size_of::<libc::time_t>();
    loop {
        let header = control.get(..HEADER)?;
        // SAFETY: the header has this length, and any bytes make one.
        let header = unsafe { header.as_ptr().cast::<libc::cmsghdr>().read_unaligned() };
        let length: usize = header.cmsg_len as _;
        let data = control.get(HEADER..length)?;
        if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) {
            let word = |at: usize| -> Option<u64> {
                let bytes = data.get(at..at + SECONDS)?;
                let signed = match SECONDS {
                    8 => i64::from_ne_bytes(bytes.try_into().ok()?),
                    _ => i64::from(i32::from_ne_bytes(bytes.try_into().ok()?)),
                };
                u64::try_from(signed).ok()
            };
            let (seconds, nanos) = (word(0)?, word(SECONDS)?);
            // 0 if the kernel began to stamp after this packet was received.
            return (seconds > 0).then_some(Time(seconds * 1_000_000_000 + nanos));
        }
        control = control.get(length.next_multiple_of(size_of::<usize>())..)?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use super::*;
    use crate::monotonic_now;

    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let length = size_of::<libc::cmsghdr>() + data.len();
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(length.next_multiple_of(size_of::<usize>()), 0);
        bytes
    }

    fn stamp(seconds: i64, nanos: i64) -> Vec<u8> {
        let data: Vec<u8> = [seconds, nanos, 0, 0, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
        message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &data)
    }

    #[test]
    fn a_busy_thread_receives_without_stamps_and_one_after_a_stall_with_them() {
        let mut stamps = ReceiveStamps::default();
        let check = |stamps: &mut ReceiveStamps, polls: &[usize], expect: bool| {
            polls.iter().for_each(|events| stamps.polled(*events));
            assert_eq!(stamps.are_wanted(), expect, "{polls:?}");
        };
        check(&mut stamps, &[64], true);
        check(&mut stamps, &[20, 30], false);
        check(&mut stamps, &[64, 64], false);
        check(&mut stamps, &[15], true);
        check(&mut stamps, &[64, 64, 1], true);
    }

    #[test]
    fn the_stamp_is_found_among_other_messages() {
        let other = message(libc::SOL_SOCKET, libc::SCM_RIGHTS, &[1, 2, 3]);
        let both = [other.clone(), stamp(7, 5)].concat();
        assert_eq!(stamp_in(&both), Some(Time(7_000_000_005)));
        assert_eq!(stamp_in(&stamp(0, 0)), None, "made before the kernel stamped");
        assert_eq!(stamp_in(&stamp(-1, 5)), None);
        assert_eq!(stamp_in(&other), None);
        // A truncated or wrong length ends the search.
        assert!((0..both.len() - 1).all(|length| stamp_in(&both[..length]).is_none()));
        let mut wrong = both;
        wrong[..8].copy_from_slice(&0usize.to_ne_bytes());
        assert_eq!(stamp_in(&wrong), None);
    }

    #[test]
    fn a_reader_that_is_late_gets_the_moment_of_the_send() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = OwnedFd::from(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let (mut server, _) = listener.accept().unwrap();
        if !ask(&client) {
            return println!("skipped: this kernel, or QEMU in its place, stamps no received packets");
        }
        let mut converter = Converter::new();
        let mut buffer = [0; 64];
        // The kernel begins to stamp a moment after the first socket has asked.
        for round in 0.. {
            let before = monotonic_now();
            server.write_all(b"pong").unwrap();
            let after = monotonic_now();
            std::thread::sleep(Duration::from_millis(2));
            let (n, stamp) = receive(&client, &mut buffer, true).unwrap();
            let at = monotonic_now();
            assert_eq!(&buffer[..n], b"pong");
            let Some(came) = converter.convert(stamp, at) else {
                assert!(round < 1_000, "no stamp");
                continue;
            };
            let slack = converter.quality.error + STEP;
            assert!(before - slack <= came && came <= after + slack, "{before:?} {came:?} {after:?}");
            break;
        }
        drop(server);
        assert_eq!(receive(&client, &mut buffer, true).unwrap().0, 0);
    }
}
