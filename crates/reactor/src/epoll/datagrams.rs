//! Datagrams on `epoll`: sockets with one peer, and sockets whose peers are pseudo-connections.

use std::io;
use std::net::SocketAddr;

use rustix::event::epoll as sys;
use rustix::event::epoll::{EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{SendFlags, getsockname, send, sendto};

use crate::epoll::table::{Entry, State};
use crate::epoll::{DATAGRAMS, Epoll, LISTENER};
use crate::peers::Peers;
use crate::sockets::of_datagram_servers;
use crate::{Address, Conn, Event, Handler, monotonic_now, receive_stamps, udp};

impl Epoll {
    pub(super) fn listen_for_datagrams(&mut self, addr: SocketAddr) -> io::Result<Address> {
        let fd = udp::listen(addr)?;
        self.steering.of_datagrams(&fd)?;
        let taken = getsockname(&fd)?.try_into()?;
        let data = EventData::new_u64(LISTENER | DATAGRAMS | self.servers.len() as u64);
        sys::add(&self.epoll, &fd, data, EventFlags::IN)?;
        self.datagrams.note_receive_buffer(&fd);
        self.servers.push(udp::Server { fd, peers: Peers::new() });
        Ok(Address::Udp(taken))
    }

    pub(super) fn connect_for_datagrams(&mut self, addr: SocketAddr) -> io::Result<Conn> {
        let fd = udp::connect(addr)?;
        self.datagrams.note_receive_buffer(&fd);
        let stamped = self.receive_stamps.ask(&fd);
        let conn = self.add(fd, State::Greeting)?;
        if let Some(entry) = self.table.get_mut(conn) {
            entry.stamped = stamped;
        }
        Ok(conn)
    }

    /// Sends the output of a datagram connection, if it is one, as one datagram.
    pub(super) fn flush_datagram(&mut self, conn: Conn) {
        let Some(entry) = self.table.get_mut(conn) else { return };
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let outcome = match (entry.state, &entry.fd) {
            (State::Peer { server, peer }, _) => {
                let server = &self.servers[server as usize];
                sendto(&server.fd, &entry.out, flags, &server.peers.key(peer))
            }
            (State::Greeting | State::Datagrams, Some(fd)) => send(fd, &entry.out, flags),
            _ => return,
        };
        entry.drop_output();
        match outcome {
            Ok(_) => self.datagrams.sent += 1,
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => self.datagrams.dropped_sending += 1,
            Err(error) => self.failed.push((conn, error)),
        }
    }

    /// Takes the received datagrams of a socket with one peer.
    pub(super) fn receive_datagrams(
        &mut self,
        conn: Conn,
        flags: EventFlags,
        buffer: &mut [u8],
        handler: &mut impl Handler<Self>,
    ) {
        let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        for _ in 0..udp::PER_EVENT {
            // The handler may have closed or paused it since the last.
            let Some(entry) = self.table.get(conn) else { return };
            let Some(fd) = entry.fd.as_ref().filter(|_| !entry.paused || broken) else { return };
            match receive_stamps::receive(fd, buffer, entry.stamped) {
                // An empty datagram carries nothing and does not mean that the peer closed.
                Ok((0, _)) => {}
                Ok((n, stamp)) => {
                    let at = monotonic_now();
                    let came = self.receive_stamps.came(stamp, at);
                    self.datagrams.received += 1;
                    handler.event(self, Event::Data { conn, at, came, bytes: &buffer[..n] });
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(error) => return self.closed(conn, Some(error.into()), handler),
            }
        }
    }

    of_datagram_servers!(conn, state => Entry::new(conn, None, state));
}
