//! TLS as a layer on any backend: a [`Tls`] is a [`Reactor`] whose connections are encrypted.
//!
//! The cryptography is rustls' with ring; the integration is ours. While the backend polls, received bytes are
//! decrypted, and handshakes go on; the handler gets the events afterwards, with the moments at which the backend
//! received.
//!
//! Try it: `cargo test -p reactor --features tls --test tls`.

mod config;
mod files;
mod incoming;
#[cfg(feature = "made-up")]
mod made_up;
mod p521;
mod session;
mod verify;
mod words;
mod x509;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use units::{Nanos, Time};

pub use config::{Clients, Identity, Oldest, Renewable, Trust, client_config, offering, server_config};
#[cfg(feature = "made-up")]
pub use made_up::MadeUp;
pub use words::{Failure, Peer};

use crate::loans::{self, Loan};
use crate::tls::incoming::{Happened, Incoming};
use crate::tls::session::Session;
use crate::{Address, Conn, Datagrams, Event, Handler, Reactor, ReceiveClock, Steering, Via, Wait};

enum Role {
    Client(Arc<ClientConfig>, ServerName<'static>),
    Server(Arc<Renewable>),
}

/// A reactor whose streams carry TLS.
///
/// [`Event::Connected`] comes when the handshake is complete; [`Event::Accepted`] comes before it, so that the
/// handler can bound the number of clients and the time of their handshakes. [`Event::Closed`] has an error also if
/// the peer leaves without a farewell, since its data may then be truncated; one of the kind `InvalidData` if the
/// handshake fails or a record is bad.
///
/// Bounds: per poll and connection as much plaintext as the backend received, and one step of a handshake, which may
/// cost as much as a thousand small messages; ciphertext waits in the backend's output. Cost: the backend's, encryption, and one copy each way.
pub struct Tls<R: Reactor> {
    inner: R,
    role: Role,
    /// The listeners whose clients speak without TLS, and how many listeners there are.
    plain: Vec<u32>,
    listeners: u32,
    /// By the connection's slot; `None` for one without TLS.
    sessions: Vec<Option<Session>>,
    /// Events of the backend's last poll, and their decrypted bytes.
    incoming: Incoming,
    /// Connections that the handler closed while it was being told of others.
    gone: Vec<Conn>,
    /// Connections that may be read again and have withheld bytes.
    resumed: Vec<Conn>,
    half_closes: bool,
    /// Clients whose handshakes wait for their turn.
    greeting: VecDeque<Conn>,
}

fn unsupported(addr: &Address, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("the address {addr} cannot be used: {why}"))
}

fn find(sessions: &mut [Option<Session>], conn: Conn) -> Option<&mut Session> {
    sessions.get_mut(conn.slot as usize)?.as_mut().filter(|session| session.conn == conn)
}

fn keep(sessions: &mut Vec<Option<Session>>, session: Session) {
    let slot = session.conn.slot as usize;
    if sessions.len() <= slot {
        sessions.resize_with(slot + 1, || None);
    }
    sessions[slot] = Some(session);
}

impl<R: Reactor> Tls<R> {
    /// A reactor that connects as a client; `server` is the name that the servers' certificates must bear.
    pub fn client(inner: R, config: Arc<ClientConfig>, server: ServerName<'static>) -> Tls<R> {
        Tls::new(inner, Role::Client(config, server))
    }

    /// A reactor that listens as a server, with the configuration that is current when a connection comes.
    pub fn server(inner: R, config: Arc<Renewable>) -> Tls<R> {
        Tls::new(inner, Role::Server(config))
    }

    fn new(inner: R, role: Role) -> Tls<R> {
        let (sessions, gone, resumed) = (Vec::new(), Vec::new(), Vec::new());
        let (plain, listeners) = (Vec::new(), 0);
        Tls {
            inner,
            role,
            plain,
            listeners,
            sessions,
            incoming: Incoming::default(),
            gone,
            resumed,
            half_closes: false,
            greeting: VecDeque::new(),
        }
    }

    /// The backend.
    pub fn inner(&self) -> &R {
        &self.inner
    }

    fn check_address(addr: &Address) -> io::Result<()> {
        if addr.is_datagram() {
            return Err(unsupported(addr, "TLS needs a stream"));
        }
        Ok(())
    }

    /// Passes new events to the handler; returns their number.
    fn tell(&mut self, handler: &mut impl Handler<Self>) -> usize {
        let Incoming { mut happened, mut plain } = std::mem::take(&mut self.incoming);
        let mut told = 0;
        for event in happened.drain(..) {
            if event.conn().is_some_and(|conn| self.gone.contains(&conn)) {
                continue;
            }
            let event = match event {
                Happened::Connected(conn) => Event::Connected { conn },
                Happened::Accepted(conn) => Event::Accepted { conn },
                Happened::AcceptFailed(error) => Event::AcceptFailed { error },
                Happened::Data { conn, at, came, from, to } => {
                    let bytes = &plain[from..to];
                    match find(&mut self.sessions, conn) {
                        // The handler has paused it during an earlier event; or resumed it, and bytes that came before wait for
                        // the next poll.
                        Some(session) if session.withholds() => {
                            session.hold(at, bytes);
                            continue;
                        }
                        _ => Event::Data { conn, at, came, bytes },
                    }
                }
                Happened::Drained(conn) => Event::Drained { conn },
                Happened::ReadClosed(conn) => match find(&mut self.sessions, conn) {
                    // Its earlier bytes are withheld, too.
                    Some(session) if session.withholds() => {
                        session.held_end = true;
                        continue;
                    }
                    _ => Event::ReadClosed { conn },
                },
                Happened::Closed(conn, error) => Event::Closed { conn, error },
                Happened::Woken => Event::Woken,
            };
            told += 1;
            handler.event(self, event);
        }
        self.gone.clear();
        plain.clear();
        // Both are kept for the next poll, unless a burst has made them large.
        plain.shrink_to(1 << 20);
        self.incoming = Incoming { happened, plain };
        told
    }
}

impl<R: Reactor> Reactor for Tls<R> {
    type Waker = R::Waker;
    const NAME: &'static str = R::NAME;

    fn now(&self) -> Time {
        self.inner.now()
    }

    fn waited(&self) -> Nanos {
        self.inner.waited()
    }

    fn thread_time(&self) -> Option<Nanos> {
        self.inner.thread_time()
    }

    fn set_backlog(&mut self, clients: u32) {
        self.inner.set_backlog(clients);
    }

    fn steer(&mut self, steering: Steering) {
        self.inner.steer(steering);
    }

    fn incoming_cpu(&self, conn: Conn) -> Option<usize> {
        self.inner.incoming_cpu(conn)
    }

    fn wake(&mut self, peer: &R::Waker) {
        self.inner.wake(peer);
    }

    fn listen_in_plain(&mut self, addr: &Address) -> io::Result<Address> {
        let taken = self.inner.listen(addr)?;
        if !addr.is_datagram() {
            self.plain.push(self.listeners);
            self.listeners += 1;
        }
        Ok(taken)
    }

    fn listen(&mut self, addr: &Address) -> io::Result<Address> {
        Self::check_address(addr)?;
        match &self.role {
            Role::Server(_) => {
                let taken = self.inner.listen(addr)?;
                self.listeners += 1;
                Ok(taken)
            }
            Role::Client(..) => Err(unsupported(addr, "this TLS is a client and cannot listen")),
        }
    }

    fn connect_via(&mut self, addr: &Address, via: &Via) -> io::Result<Conn> {
        Self::check_address(addr)?;
        let Role::Client(config, server) = &self.role else {
            return Err(unsupported(addr, "this TLS is a server and cannot connect"));
        };
        let tls = ClientConnection::new(Arc::clone(config), server.clone()).map_err(io::Error::other)?;
        let conn = self.inner.connect_via(addr, via)?;
        keep(&mut self.sessions, Session::new(conn, tls.into()));
        Ok(conn)
    }

    fn stamp_receives(&mut self) {
        self.inner.stamp_receives();
    }

    fn receive_clock(&self) -> ReceiveClock {
        self.inner.receive_clock()
    }

    fn output(&mut self, conn: Conn) -> &mut Vec<u8> {
        match find(&mut self.sessions, conn) {
            Some(session) => &mut session.out,
            // Without TLS, or closed, which the backend knows.
            None => self.inner.output(conn),
        }
    }

    fn lend(&mut self, conn: Conn, loans: &mut Vec<Loan>) {
        match find(&mut self.sessions, conn) {
            Some(session) => loans::copy_in(&mut session.out, loans),
            None => self.inner.lend(conn, loans),
        }
    }

    fn lends(&self, conn: Conn) -> bool {
        let session = self.sessions.get(conn.slot as usize).and_then(Option::as_ref);
        session.is_none_or(|session| session.conn != conn) && self.inner.lends(conn)
    }

    fn memory(&self, conn: Conn) -> usize {
        let session = self.sessions.get(conn.slot as usize).and_then(Option::as_ref);
        let session = session.filter(|session| session.conn == conn);
        let buffers = session.map_or(0, |session| session.memory());
        buffers + self.inner.memory(conn)
    }

    fn flush(&mut self, conn: Conn) -> Time {
        let Some(session) = find(&mut self.sessions, conn) else { return self.inner.flush(conn) };
        if !session.stands {
            session.early |= !session.out.is_empty();
            return self.inner.now();
        }
        if self.inner.is_broken(conn) {
            session.out = Vec::new();
            return self.inner.now();
        }
        session.encrypt(self.inner.output(conn));
        self.inner.flush(conn)
    }

    /// Plaintext that was not flushed yet, and ciphertext that has not left.
    fn unsent(&self, conn: Conn) -> usize {
        let session = self.sessions.get(conn.slot as usize).and_then(Option::as_ref);
        let plain = session.filter(|session| session.conn == conn).map_or(0, |session| session.out.len());
        plain + self.inner.unsent(conn)
    }

    fn is_broken(&self, conn: Conn) -> bool {
        self.inner.is_broken(conn)
    }

    fn limit_receives(&mut self, bytes: usize) {
        self.inner.limit_receives(bytes);
    }

    fn pause_reading(&mut self, conn: Conn, pause: bool) {
        if let Some(session) = find(&mut self.sessions, conn) {
            session.paused = pause;
            if !pause && (!session.held.is_empty() || session.held_end) {
                self.resumed.push(conn);
            }
        }
        self.inner.pause_reading(conn, pause);
    }

    fn tell_half_closes(&mut self) {
        self.half_closes = true;
        self.inner.tell_half_closes();
    }

    fn close(&mut self, conn: Conn) {
        self.gone.push(conn);
        if let Some(session) = find(&mut self.sessions, conn) {
            session.end(self.inner.output(conn));
            self.sessions[conn.slot as usize] = None;
            self.inner.flush(conn);
        }
        self.inner.close(conn);
    }

    fn is_datagram(&self, conn: Conn) -> bool {
        self.inner.is_datagram(conn)
    }

    fn listener(&self, conn: Conn) -> u32 {
        self.inner.listener(conn)
    }

    fn addresses(&self, conn: Conn) -> Option<(Address, Address)> {
        self.inner.addresses(conn)
    }

    fn stop_accepting(&mut self) {
        self.inner.stop_accepting();
    }

    fn datagrams(&self) -> Datagrams {
        self.inner.datagrams()
    }

    fn poll(&mut self, wait: Wait, handler: &mut impl Handler<Self>) -> io::Result<usize> {
        for conn in std::mem::take(&mut self.resumed) {
            if let Some(session) = find(&mut self.sessions, conn).filter(|session| !session.paused) {
                self.incoming.release(session);
            }
        }
        let Tls { inner, role, plain, sessions, incoming, half_closes, greeting, .. } = self;
        let half_closes = *half_closes;
        let mut layer =
            incoming::Layer { role, plain, sessions, incoming, half_closes, greeting, greets: true };
        let is_due = layer.greet_next(inner);
        let wait = if is_due || !layer.incoming.happened.is_empty() { Wait::Spin(Time(0)) } else { wait };
        let seen = inner.poll(wait, &mut layer)?;
        // Parts of records count too, although the handler does not see them: a look that took its maximum may have
        // left some data.
        Ok(self.tell(handler).max(seen))
    }

    fn waker(&self) -> R::Waker {
        self.inner.waker()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Epoll;

    const CONN: Conn = Conn { slot: 0, generation: 0 };

    /// Pauses the connection at `one`, and resumes it when it is woken.
    struct Wavering(Vec<String>);

    impl Handler<Tls<Epoll>> for Wavering {
        fn event(&mut self, reactor: &mut Tls<Epoll>, event: Event<'_>) {
            match event {
                Event::Data { bytes, .. } => {
                    self.0.push(String::from_utf8_lossy(bytes).into());
                    reactor.pause_reading(CONN, bytes == b"one");
                }
                Event::Woken => reactor.pause_reading(CONN, false),
                Event::ReadClosed { .. } => self.0.push("end".into()),
                _ => {}
            }
        }
    }

    #[test]
    fn bytes_stay_in_order_if_reading_is_paused_and_resumed_among_them() {
        let config = client_config(Trust::AnyCertificateInsecurely, None).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let session = ClientConnection::new(Arc::clone(&config), name.clone()).unwrap();
        let mut tls = Tls::client(Epoll::new().unwrap(), config, name);
        keep(&mut tls.sessions, Session::new(CONN, session.into()));
        tls.incoming.plain.extend_from_slice(b"onetwothree");
        let data =
            |from: usize, to| Happened::Data { conn: CONN, at: Time(from as u64), came: None, from, to };
        let events = [data(0, 3), data(3, 6), Happened::Woken, data(6, 11), Happened::ReadClosed(CONN)];
        tls.incoming.happened.extend(events);
        let mut handler = Wavering(Vec::new());
        tls.tell(&mut handler);
        assert_eq!(handler.0, ["one"]);
        tls.poll(Wait::Spin(Time(0)), &mut handler).unwrap();
        assert_eq!(handler.0, ["one", "twothree", "end"]);
    }
}
