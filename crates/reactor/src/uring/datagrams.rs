//! Datagrams in the ring: sockets with one peer, and sockets whose peers are pseudo-connections.
//!
//! The ring only reports their arrival; they are received, and sent, by system calls of their own. A datagram that
//! the kernel does not take at once is dropped, so handing sends to the ring has no advantage; and a buffer that the
//! kernel picks would have to be 64 KiB for an answer of 1400 B.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{SendFlags, getsockname, send, sendto};

use crate::peers::Peers;
use crate::sockets::of_datagram_servers;
use crate::uring::Uring;
use crate::uring::table::{Entry, Receive, State};
use crate::{Address, Conn, Event, Handler, monotonic_now, receive_stamps, udp};

impl Uring {
    pub(super) fn listen_for_datagrams(&mut self, addr: SocketAddr) -> io::Result<Address> {
        let fd = udp::listen(addr)?;
        self.steering.of_datagrams(&fd)?;
        let taken = getsockname(&fd)?.try_into()?;
        self.prepare_for_datagrams(&fd);
        self.servers.push(udp::Server { fd, peers: Peers::new() });
        self.arm_serve(self.servers.len() - 1)?;
        Ok(Address::Udp(taken))
    }

    pub(super) fn connect_for_datagrams(&mut self, addr: SocketAddr) -> io::Result<Conn> {
        let fd = udp::connect(addr)?;
        self.prepare_for_datagrams(&fd);
        let stamped = self.receive_stamps.ask(&fd);
        let conn = self.table.insert(|_| Entry { stamped, ..Entry::new(Some(fd), State::Datagrams) });
        self.greeted.push_back(conn);
        Ok(conn)
    }

    fn prepare_for_datagrams(&mut self, fd: &OwnedFd) {
        self.scratch.resize(udp::LARGEST, 0);
        self.datagrams.note_receive_buffer(fd);
    }

    /// Sends the output of a datagram connection as one datagram.
    pub(super) fn flush_datagram(&mut self, conn: Conn) {
        let Some(entry) = self.table.get_mut(conn).filter(|entry| !entry.out.is_empty()) else { return };
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let outcome = match (entry.state, &entry.fd) {
            (State::Peer { server, peer }, _) => {
                let server = &self.servers[server as usize];
                sendto(&server.fd, &entry.out, flags, &server.peers.key(peer))
            }
            (State::Datagrams, Some(fd)) => send(fd, &entry.out, flags),
            _ => return,
        };
        entry.out.clear();
        match outcome {
            Ok(_) => self.datagrams.sent += 1,
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => self.datagrams.dropped_sending += 1,
            Err(error) => self.failed.push_back((conn, error)),
        }
    }

    /// Takes the received datagrams of a socket with one peer; returns the number of events.
    pub(super) fn receive_datagrams(
        &mut self,
        conn: Conn,
        ready: Result<u32, Errno>,
        handler: &mut impl Handler<Self>,
    ) -> io::Result<usize> {
        let Some(entry) = self.table.get_mut(conn) else {
            self.table.finished(conn);
            return Ok(0);
        };
        entry.receive = Receive::Idle;
        let broken = ready.is_ok_and(|flags| flags & u32::from(PollFlags::ERR.bits()) != 0);
        let mut buffer = std::mem::take(&mut self.scratch);
        let mut events = 0;
        while events < udp::PER_EVENT {
            // The handler may have closed or paused it since the last.
            let Some(entry) = self.table.get(conn).filter(|entry| !entry.paused || broken) else { break };
            let Some(fd) = &entry.fd else { break };
            match receive_stamps::receive(fd, &mut buffer, entry.stamped) {
                // An empty datagram carries nothing and does not mean that the peer closed.
                Ok((0, _)) | Err(Errno::INTR) => {}
                Ok((n, stamp)) => {
                    let at = monotonic_now();
                    let came = self.receive_stamps.came(stamp, at);
                    self.datagrams.received += 1;
                    handler.event(self, Event::Data { conn, at, came, bytes: &buffer[..n] });
                    events += 1;
                }
                Err(Errno::AGAIN) => break,
                Err(error) => {
                    events += self.closed(conn, Some(error.into()), handler);
                    break;
                }
            }
        }
        self.scratch = buffer;
        self.arm_receive(conn)?;
        Ok(events)
    }

    /// Takes the received datagrams of a listening socket; returns the number of events.
    pub(super) fn serve_datagrams(
        &mut self,
        index: usize,
        handler: &mut impl Handler<Self>,
    ) -> io::Result<usize> {
        let mut buffer = std::mem::take(&mut self.scratch);
        let events = self.serve(index, &mut buffer, handler);
        self.scratch = buffer;
        self.arm_serve(index)?;
        Ok(events)
    }

    of_datagram_servers!(_conn, state => Entry::new(None, state));
}
