use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};

/// Which of the reactors that share a port gets a client, instead of the kernel's choice by a hash of the addresses.
///
/// Reactors are counted in the order in which they began to listen.
#[derive(Clone, Debug, Default)]
pub struct Steering {
    /// Of connections: reactor `i` gets those whose first packet was received on processor `cpus[i]`. The kernel
    /// chooses for all others, and for all connections if `None`.
    pub cpus: Option<Vec<usize>>,
    /// Of datagrams: an eBPF program for sockets (`BPF_PROG_TYPE_SOCKET_FILTER`) that is shown each from its first byte on
    /// and returns the number of a reactor; a number that there is not leaves it to the kernel.
    pub datagrams: Option<Arc<OwnedFd>>,
}

/// Offset at which a classic program loads its processor's number. Source: `linux/filter.h`, `SKF_AD_OFF +
/// SKF_AD_CPU`.
const CPU: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_CPU) as u32;

impl Steering {
    /// Has it apply to a socket for connections that listens, and to all that share its port.
    pub(crate) fn of_streams(&self, fd: &impl AsFd) -> io::Result<()> {
        let Some(cpus) = &self.cpus else { return Ok(()) };
        let mut program = by_cpu(cpus);
        let length = u16::try_from(program.len()).expect("there are no more than 256 reactors");
        let program = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
        Ok(setsockopt(&fd.as_fd(), sockopt::AttachReusePortCbpf, &program)?)
    }

    /// Has it apply to a bound socket for datagrams, and to all that share its port.
    pub(crate) fn of_datagrams(&self, fd: &impl AsFd) -> io::Result<()> {
        let Some(program) = &self.datagrams else { return Ok(()) };
        let (socket, program) = (fd.as_fd().as_raw_fd(), program.as_raw_fd());
        // SAFETY: the option takes an int, which lives beyond the call.
        let outcome = unsafe {
            libc::setsockopt(
                socket,
                libc::SOL_SOCKET,
                libc::SO_ATTACH_REUSEPORT_EBPF,
                (&raw const program).cast(),
                size_of_val(&program) as libc::socklen_t,
            )
        };
        if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// The processor on which the last packet of a connection was received.
pub(crate) fn incoming_cpu(fd: &impl AsFd) -> Option<usize> {
    rustix::net::sockopt::socket_incoming_cpu(fd).ok().map(|cpu| cpu as usize)
}

/// A classic program that returns the index of the present processor in `cpus`, the first of duplicates.
fn by_cpu(cpus: &[usize]) -> Vec<libc::sock_filter> {
    let step = |code: u32, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let mut program = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, CPU)];
    for (number, &cpu) in cpus.iter().enumerate() {
        program.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, cpu as u32));
        program.push(step(libc::BPF_RET | libc::BPF_K, 0, number as u32));
    }
    program.push(step(libc::BPF_RET | libc::BPF_K, 0, u32::MAX));
    program
}
