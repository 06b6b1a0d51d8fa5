use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::ioctl::{Opcode, Updater, ioctl};
use rustix::net::{AddressFamily, SocketType, socket};

use super::Ethtool;
use super::request::{self, Request};

/// Source: `linux/sockios.h`.
const SIOCETHTOOL: Opcode = 0x8946;

/// A device's name has at most 15 bytes and a zero. Source: `IFNAMSIZ` in `linux/if.h`.
const NAME: usize = 16;

/// The kernel's `struct ifreq`, as far as this call reads it: a name, and an address in a union of 24 bytes.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; NAME],
    data: *mut u32,
    rest: [u64; 2],
}

/// Queries a device's driver.
///
/// Errors: a socket cannot be opened. Facts that the driver does not know are left out.
pub(super) fn ethtool(device: &str) -> io::Result<Ethtool> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let ask = |request: Request| Device { socket: &socket, name: device }.ask(request);
    Ok(request::answers(ask))
}

struct Device<'a> {
    socket: &'a OwnedFd,
    name: &'a str,
}

impl Device<'_> {
    /// The kernel's answer to `request`, in the request's own words; `None` if refused.
    fn ask(&self, request: Request) -> Option<Vec<u32>> {
        let mut words = request.into_words();
        let mut name = [0; NAME];
        // The last byte stays zero.
        name[..NAME - 1].get_mut(..self.name.len())?.copy_from_slice(self.name.as_bytes());
        let mut asked = InterfaceRequest { name, data: words.as_mut_ptr(), rest: [0; 2] };
        // SAFETY: SIOCETHTOOL reads and writes the given `ifreq`, which has a name that ends in zero and lives until
        // after the call, and the structure behind `data`. That structure is `words`: only `request.rs` makes a
        // `Request`, at least as long as the kernel's structure of its command plus the room that the command names. A
        // `u32` has the alignment of the structures' fields for the kernel, which copies them byte by byte.
        unsafe { ioctl(self.socket.as_fd(), Updater::<SIOCETHTOOL, _>::new(&mut asked)) }.ok()?;
        Some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_answers() {
        let lo = ethtool("lo").unwrap();
        // Every kernel segments loopback packets in software, and lets no queues be set.
        assert!(lo.has_on("tx-tcp-segmentation"), "{lo:?}");
        assert_eq!((lo.channels, lo.indirection.len()), (None, 0));
    }

    #[test]
    fn what_is_no_device_says_nothing() {
        for name in ["no-such-device", "", "a-name-that-is-longer-than-any", "lo\0x"] {
            let answer = ethtool(name).unwrap();
            assert!(name == "lo\0x" || answer == Ethtool::default(), "{name}: {answer:?}");
        }
    }
}
