//! The part of the seam that is the same in each reactor on the kernel's sockets.

/// Methods of [`Reactor`](crate::Reactor) for a reactor that has these fields, whose listening sockets have these flags. The
/// table has `Entry`s, each with a `State`; these and `Listener` are names of the caller's.
macro_rules! on_sockets {
    ($flags:expr) => {
        fn listen(&mut self, addr: &crate::Address) -> std::io::Result<crate::Address> {
            let (listener, taken) = match addr {
                crate::Address::Tcp(socket) => {
                    let (fd, taken) = crate::listener::listen(*socket, self.backlog, $flags)?;
                    self.steering.of_streams(&fd)?;
                    (Listener::Tcp(fd), crate::Address::Tcp(taken))
                }
                crate::Address::Unix(path) => {
                    (Listener::Unix(crate::unix::Listener::at(path, self.backlog)?), addr.clone())
                }
                crate::Address::Udp(socket) => return self.listen_for_datagrams(*socket),
            };
            self.listeners.push(listener);
            self.watch_listener(self.listeners.len() - 1)?;
            Ok(taken)
        }

        #[inline]
        fn now(&self) -> units::Time {
            crate::monotonic_now()
        }

        fn waited(&self) -> units::Nanos {
            self.waited
        }

        fn thread_time(&self) -> Option<units::Nanos> {
            Some(crate::clock::thread_time())
        }

        fn set_backlog(&mut self, clients: u32) {
            self.backlog = clients;
        }

        fn steer(&mut self, steering: crate::Steering) {
            self.steering = steering;
        }

        fn incoming_cpu(&self, conn: crate::Conn) -> Option<usize> {
            crate::steering::incoming_cpu(self.table.get(conn)?.fd.as_ref()?)
        }

        fn stamp_receives(&mut self) {
            self.receive_stamps.begin();
        }

        fn receive_clock(&self) -> crate::ReceiveClock {
            self.receive_stamps.clock()
        }

        #[inline]
        fn output(&mut self, conn: crate::Conn) -> &mut Vec<u8> {
            self.table.output(conn)
        }

        fn lend(&mut self, conn: crate::Conn, loans: &mut Vec<crate::Loan>) {
            match self.table.get_mut(conn) {
                Some(entry) if entry.state == State::Open => entry.loans.take(loans),
                Some(entry) => crate::loans::copy_in(&mut entry.out, loans),
                // Their places are in a text that was dropped.
                None => loans.clear(),
            }
        }

        fn lends(&self, conn: crate::Conn) -> bool {
            self.table.get(conn).is_some_and(|entry| entry.state == State::Open)
        }

        fn unsent(&self, conn: crate::Conn) -> usize {
            self.table.get(conn).map_or(0, Entry::unsent)
        }

        fn is_broken(&self, conn: crate::Conn) -> bool {
            self.failed.iter().any(|(failed, _)| *failed == conn)
        }

        fn tell_half_closes(&mut self) {
            self.half_closes = true;
        }

        fn close(&mut self, conn: crate::Conn) {
            self.remove(conn);
        }

        #[inline]
        fn is_datagram(&self, conn: crate::Conn) -> bool {
            self.table.get(conn).is_some_and(|entry| !matches!(entry.state, State::Connecting | State::Open))
        }

        fn listener(&self, conn: crate::Conn) -> u32 {
            self.table.get(conn).map_or(0, |entry| entry.listener)
        }

        fn addresses(&self, conn: crate::Conn) -> Option<(crate::Address, crate::Address)> {
            if self.is_datagram(conn) {
                return None;
            }
            crate::address::of_ends(self.table.get(conn)?.fd.as_ref()?)
        }

        fn datagrams(&self) -> crate::Datagrams {
            self.datagrams
        }
    };
}

/// Methods for a reactor's datagram servers. `$entry` makes the entry of the connection `$conn` in `$state`.
macro_rules! of_datagram_servers {
    ($conn:ident, $state:ident => $entry:expr) => {
        /// Takes the received datagrams of a listening socket; returns the number of events.
        pub(super) fn serve(
            &mut self,
            index: usize,
            buffer: &mut [u8],
            handler: &mut impl crate::Handler<Self>,
        ) -> usize {
            let (mut events, flags) = (0, rustix::net::RecvFlags::DONTWAIT);
            for _ in 0..crate::udp::PER_EVENT {
                let (n, from) = match rustix::net::recvfrom(&self.servers[index].fd, &mut *buffer, flags) {
                    Ok((n, _, Some(from))) => (n, from),
                    Err(rustix::io::Errno::AGAIN) => break,
                    // Any other error (an earlier answer that could not be delivered, say) concerns one peer only.
                    Ok(_) | Err(_) => continue,
                };
                if let Some(from) = std::net::SocketAddr::try_from(from).ok().filter(|_| n > 0) {
                    events += self.heard(index, from, &buffer[..n], handler);
                }
            }
            events
        }

        /// Shows a datagram that came at a listening socket; returns the number of events.
        fn heard(
            &mut self,
            index: usize,
            from: std::net::SocketAddr,
            bytes: &[u8],
            handler: &mut impl crate::Handler<Self>,
        ) -> usize {
            let at = crate::monotonic_now();
            let (conn, accepted) = match self.servers[index].peers.heard(&from, at) {
                Some(conn) => (conn, 0),
                None => (self.add_peer(index, from, at, handler), 1),
            };
            match self.table.get(conn) {
                None => accepted,
                Some(entry) if entry.paused => {
                    self.datagrams.dropped_paused += 1;
                    accepted
                }
                Some(_) => {
                    self.datagrams.received += 1;
                    handler.event(self, crate::Event::Data { conn, at, came: None, bytes });
                    accepted + 1
                }
            }
        }

        /// Makes a pseudo-connection of a peer that is heard for the first time, and room for it first.
        fn add_peer(
            &mut self,
            index: usize,
            from: std::net::SocketAddr,
            at: units::Time,
            handler: &mut impl crate::Handler<Self>,
        ) -> crate::Conn {
            for _ in 0..crate::peers::GO_FOR_ONE {
                if let Some(silent) = self.servers[index].peers.to_end(at) {
                    self.closed(silent, Some(crate::udp::evicted()), handler);
                }
            }
            let server = index as u32;
            let conn = self.servers[index].peers.insert(from, at, |peer| {
                let $state = State::Peer { server, peer };
                self.table.insert(|$conn| $entry)
            });
            handler.event(self, crate::Event::Accepted { conn });
            conn
        }
    };
}

pub(crate) use {of_datagram_servers, on_sockets};
