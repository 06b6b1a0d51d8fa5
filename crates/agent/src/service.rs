//! The agent: a server of one RPC, behind credentials, that starts generators and servers as children.

mod child;
mod keeper;
mod session;
mod slot;

use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};

pub(crate) use child::LARGEST_RECORDING;
pub(crate) use session::BEATS_PER_LEASE;
use session::Session;
use slot::Slot;

use crate::message::{Event, FromAgent, Hello, Order, PROGRAM, PROTOCOL, ToAgent, Welcome};
use crate::rpc::agent_server::{Agent as Rpc, AgentServer};
use crate::{Clock, Credentials, Error, Generators, Servers};

/// The longest order. Source: the windows that determine probes' overhead, 36 000 of an hour with 90 B each.
const LARGEST_ORDER: usize = 4 << 20;
/// Capacity of the queue of messages to the coordinator.
const OUTGOING: usize = 16;
/// Time limit for a coordinator's introduction.
const HELLO_WAIT: Duration = Duration::from_secs(5);
/// Time that a stopping agent waits for its sessions to end.
const END_WAIT: Duration = Duration::from_secs(10);
/// A connection without any reply for twice this time is closed; sessions have their lease, which is shorter.
const DEAD_AFTER: Duration = Duration::from_secs(30);
/// Limit of concurrent sessions of an agent that only starts servers: compared servers run side by side, each waiting
/// for its turn, and a study has one for each of its configurations, of which the largest has under 40. An agent that
/// generates load has one session, since two loads would disturb each other.
const SERVERS: usize = 64;
/// The permitted leases: a busy machine would break shorter ones; longer ones keep load running without a coordinator.
pub const LEASES: std::ops::RangeInclusive<Duration> = Duration::from_millis(200)..=Duration::from_secs(60);

/// Settings of an agent.
pub struct Settings {
    /// Name of the agent in results.
    pub name: String,
    /// Credentials that clients must match.
    pub credentials: Credentials,
    /// Whether a token is accepted without TLS from other machines.
    pub insecure_token: bool,
    /// The clock for start times.
    pub clock: Clock,
    /// Starts generators; `None` for an agent that generates no load.
    pub generators: Option<Arc<dyn Generators>>,
    /// Starts servers; `None` for an agent that starts no servers.
    pub servers: Option<Arc<dyn Servers>>,
    /// Receives a line about each session.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
}

/// A listening agent. Dropping it ends its session and the load that it generates.
pub struct Agent {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    served: Option<JoinHandle<Result<(), tonic::transport::Error>>>,
    runtime: Runtime,
}

impl Agent {
    /// Listens at `listen`; port 0 takes a free one.
    ///
    /// Errors: it cannot listen there, or must not with these credentials.
    pub fn start(listen: SocketAddr, settings: Settings) -> Result<Agent, Error> {
        settings.credentials.may_listen(listen, settings.insecure_token)?;
        let cannot = |source| Error::Listen { address: listen, source };
        let listener = StdListener::bind(listen).map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        // One thread: it has little work, and the processors are for the generators.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (stop, stopping) = watch::channel(false);
        let mut server = Server::builder()
            .http2_keepalive_interval(Some(DEAD_AFTER))
            .http2_keepalive_timeout(Some(DEAD_AFTER));
        if let Some(tls) = settings.credentials.server_tls() {
            server = server.tls_config(tls).map_err(|e| Error::Credentials(in_full(&e)))?;
        }
        let credentials = settings.credentials.clone();
        let places = if settings.generators.is_some() { 1 } else { SERVERS };
        let service = Service {
            settings,
            slot: Slot::new(places),
            sessions: AtomicU64::new(0),
            stopping: stopping.clone(),
        };
        let rpc = AgentServer::new(service).max_decoding_message_size(LARGEST_ORDER);
        let guarded = InterceptedService::new(rpc, move |request: Request<()>| {
            credentials.check(&request).map(|()| request)
        });
        let incoming = {
            let _inside = runtime.enter();
            TcpIncoming::from(TcpListener::from_std(listener).map_err(cannot)?).with_nodelay(Some(true))
        };
        let mut until = stopping;
        let end = async move {
            let _ = until.wait_for(|stop| *stop).await;
        };
        let served = runtime.spawn(server.serve_with_incoming_shutdown(guarded, incoming, end));
        Ok(Agent { address, stop, served: Some(served), runtime })
    }

    /// Its listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until SIGTERM or SIGINT, then shuts down cleanly.
    ///
    /// Errors: the signals cannot be waited for, or it can no longer accept connections.
    pub fn serve(mut self) -> Result<(), Error> {
        let mut served = self.served.take();
        let over = self.runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let mut term = signal(SignalKind::terminate())?;
            let mut int = signal(SignalKind::interrupt())?;
            tokio::select! {
                _ = term.recv() => Ok(None),
                _ = int.recv() => Ok(None),
                over = async { served.as_mut().expect("it was just taken").await } => Ok(Some(over)),
            }
        });
        match over.map_err(Error::Runtime)? {
            None => {
                self.served = served;
                Ok(())
            }
            Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(Error::Runtime(std::io::Error::other(in_full(&error)))),
            Some(Err(error)) => Err(Error::Runtime(std::io::Error::other(error))),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(served) = self.served.take() {
            let _ = self.runtime.block_on(async { tokio::time::timeout(END_WAIT, served).await });
        }
    }
}

struct Service {
    settings: Settings,
    slot: Slot,
    /// Sessions so far.
    sessions: AtomicU64,
    stopping: watch::Receiver<bool>,
}

#[tonic::async_trait]
impl Rpc for Service {
    type SessionStream = ReceiverStream<Result<FromAgent, Status>>;

    async fn session(
        &self,
        request: Request<Streaming<ToAgent>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let peer = request.remote_addr().map_or("somewhere".into(), |address| address.to_string());
        let mut orders = request.into_inner();
        let hello = hello(&mut orders).await?;
        let held = self.slot.take(&format!("{} ({peer})", hello.name)).map_err(|holder| {
            Status::resource_exhausted(format!(
                "it is in use by {holder}; wait until that is done, or end it there"
            ))
        })?;
        let (to, stream) = mpsc::channel(OUTGOING);
        let welcome =
            Welcome { protocol: PROTOCOL, program: PROGRAM.into(), name: self.settings.name.clone() };
        let _ = to.send(Ok(Event::Welcome(welcome).into())).await;
        let lease = Duration::from_millis(hello.lease_ms).clamp(*LEASES.start(), *LEASES.end());
        let (generators, servers) = (self.settings.generators.clone(), self.settings.servers.clone());
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let clock = self.settings.clock;
        let mut session = Session { clock, generators, servers, to, lease, number, loads: 0, asked: None };
        let (log, stopping) = (Arc::clone(&self.settings.log), self.stopping.clone());
        tokio::spawn(async move {
            let end = session.run(orders, stopping).await;
            log(&format!("session of {} from {peer}: {} loads; {end}", hello.name, session.loads));
            // Frees the place before the coordinator sees the end of the stream.
            drop(held);
            drop(session);
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

/// The first message, which introduces the coordinator. Errors: a missing message, or different versions.
async fn hello(orders: &mut Streaming<ToAgent>) -> Result<Hello, Status> {
    let first = tokio::time::timeout(HELLO_WAIT, orders.message()).await.map_err(|_| {
        Status::deadline_exceeded(format!("the coordinator said nothing for {HELLO_WAIT:?}"))
    })??;
    let Some(ToAgent { order: Some(Order::Hello(hello)) }) = first else {
        return Err(Status::invalid_argument("the coordinator did not introduce itself"));
    };
    match mismatch(("agent", PROTOCOL, PROGRAM), ("coordinator", hello.protocol, &hello.program)) {
        Some(why) => Err(Status::failed_precondition(why)),
        None => Ok(hello),
    }
}

/// Why two sides with these names, protocols and programs are incompatible, if they are.
pub(crate) fn mismatch(one: (&str, u32, &str), other: (&str, u32, &str)) -> Option<String> {
    let text = |(name, protocol, program)| format!("the {name} is taillight {program} (protocol {protocol})");
    ((one.1, one.2) != (other.1, other.2))
        .then(|| format!("{}, {}; run the same version on all machines", text(one), text(other)))
}

/// An error of the transport with its causes, which its own text omits.
pub(crate) fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        if !text.contains(&next.to_string()) {
            text = format!("{text}: {next}");
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_must_be_the_same() {
        let check = |protocol, program: &str, expect: &[&str]| {
            let found = mismatch(("agent", 1, "0.1.0"), ("coordinator", protocol, program));
            assert_eq!(found.is_some(), !expect.is_empty());
            let text = found.unwrap_or_default();
            assert!(expect.iter().all(|part| text.contains(part)), "{text}");
        };
        check(1, "0.1.0", &[]);
        check(2, "0.1.0", &["protocol 1", "protocol 2"]);
        check(1, "0.2.0", &["0.1.0", "0.2.0", "same version"]);
    }
}
