use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::libc;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::filter::{Direction, dropped, open, set};
use super::{Pairing, Timed, parse};

/// Size of a frame, which holds one packet: 80 bytes of the kernel's, then the headers of IPv4 and TCP without options.
/// Two cache lines, since the sender waits while they are written.
const FRAME: usize = 128;
/// The kernel allocates the ring in blocks of this size.
const BLOCK: usize = 1 << 16;
/// Most frames of a ring: 256 MiB.
const MOST: usize = 1 << 21;

/// Packets that this machine sends over some connections, recorded by the kernel into a ring (`PACKET_RX_RING`).
///
/// No thread reads the ring while it records, so recording takes no processor from the measured programs. The kernel
/// reads its clock for each packet before the device transmits it: over loopback this stamp is independent of the
/// receiving socket's stamp.
///
/// Cost: a copy of the headers in the sender's system call; 128 bytes for each packet.
///
/// Source: the kernel's `Documentation/networking/packet_mmap.rst`; `dev_queue_xmit_nit` for the stamp.
pub struct PacketLog {
    socket: OwnedFd,
    ring: NonNull<u8>,
    frames: usize,
    port: u16,
}

impl PacketLog {
    /// Begins to record packets of connections over IPv4 to `port` whose client's port has the bits of `mask` clear.
    ///
    /// Bounds: `packets`, at most 2 million; the kernel drops and counts further ones.
    ///
    /// Errors: missing permission (CAP_NET_RAW); no memory.
    pub fn start(port: u16, mask: u16, packets: usize) -> io::Result<PacketLog> {
        let socket = open(&[port], mask, Direction::Out)?;
        let blocks = packets.min(MOST).div_ceil(BLOCK / FRAME).max(1);
        let frames = blocks * (BLOCK / FRAME);
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as libc::c_uint,
            tp_block_nr: blocks as libc::c_uint,
            tp_frame_size: FRAME as libc::c_uint,
            tp_frame_nr: frames as libc::c_uint,
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, of the ring's own length.
        let ring =
            unsafe { mmap(ptr::null_mut(), frames * FRAME, protection, MapFlags::SHARED, &socket, 0) }?;
        let ring = NonNull::new(ring.cast()).expect("a mapping is not at 0");
        Ok(PacketLog { socket, ring, frames, port })
    }

    /// Ends the recording and pairs requests with responses. The pairs are unordered.
    pub fn finish(self) -> Timed {
        let mut pairing = Pairing::default();
        for frame in (0..self.frames).map_while(|number| self.frame(number)) {
            if let Some((bytes, at_ns)) = stamped(&frame)
                && let Some(packet) = parse(bytes, &[self.port])
            {
                pairing.enter(packet, at_ns);
            }
        }
        pairing.finish(dropped(&self.socket))
    }

    /// The frame with this number, if the kernel has filled it.
    fn frame(&self, number: usize) -> Option<[u8; FRAME]> {
        assert!(number < self.frames);
        // SAFETY: the ring has this frame.
        let at = unsafe { self.ring.as_ptr().add(number * FRAME) };
        // SAFETY: a frame begins with its status, is aligned to its size, and the kernel hands it over by this word.
        let status = unsafe { &*at.cast::<AtomicU32>() }.load(Ordering::Acquire);
        let mut frame = [0; FRAME];
        // SAFETY: the frame has this length, and the kernel does not write to a frame with this status.
        (status & libc::TP_STATUS_USER != 0).then(|| unsafe {
            ptr::copy_nonoverlapping(at, frame.as_mut_ptr(), FRAME);
            frame
        })
    }
}

// SAFETY: the mapping belongs to the process, and only its owner reads it.
unsafe impl Send for PacketLog {}

impl Drop for PacketLog {
    fn drop(&mut self) {
        // SAFETY: the mapping has this length, and nothing borrows from it.
        let _ = unsafe { munmap(self.ring.as_ptr().cast(), self.frames * FRAME) };
    }
}

/// The packet in a frame from IP's header on, and its stamp. Source: `linux/if_packet.h`, `struct tpacket2_hdr`.
fn stamped(frame: &[u8]) -> Option<(&[u8], u64)> {
    let word = |at: usize| Some(u32::from_ne_bytes(frame.get(at..at + 4)?.try_into().ok()?));
    let length = word(8)? as usize;
    let from = usize::from(u16::from_ne_bytes(frame.get(14..16)?.try_into().ok()?));
    let at_ns = u64::from(word(16)?) * 1_000_000_000 + u64::from(word(20)?);
    Some((frame.get(from..from + length)?, at_ns))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_frame_holds_a_packet_and_its_stamp() {
        let mut frame = vec![0; 96];
        frame[8..12].copy_from_slice(&5_u32.to_ne_bytes());
        frame[14..16].copy_from_slice(&80_u16.to_ne_bytes());
        frame[16..20].copy_from_slice(&7_u32.to_ne_bytes());
        frame[20..24].copy_from_slice(&9_u32.to_ne_bytes());
        frame[80..85].copy_from_slice(b"bytes");
        assert_eq!(stamped(&frame), Some((&b"bytes"[..], 7_000_000_009)));
        // Truncated frames.
        assert!((0..85).all(|length| stamped(&frame[..length]).is_none()));
    }

    #[test]
    fn requests_and_answers_on_loopback_are_paired() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let log = match PacketLog::start(address.port(), 0, 1_000) {
            Ok(log) => log,
            Err(error) => return println!("skipped: this user may not watch packets: {error}"),
        };
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let mut client = TcpStream::connect(address).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut bounds = Vec::new();
        for _ in 0..100 {
            let begin = now();
            client.write_all(b"ping").unwrap();
            server.read_exact(&mut [0; 4]).unwrap();
            let between = now();
            server.write_all(b"pong").unwrap();
            client.read_exact(&mut [0; 4]).unwrap();
            bounds.push((begin, between, now()));
        }
        let timed = log.finish();
        assert_eq!((timed.requests.len(), timed.mixed, timed.dropped), (100, 0, 0));
        for (request, (begin, between, end)) in timed.requests.iter().zip(bounds) {
            assert!(begin <= request.asked_ns && request.asked_ns <= between, "{request:?} {begin}");
            assert!(between <= request.answered_ns && request.answered_ns <= end, "{request:?} {end}");
        }
    }
}
