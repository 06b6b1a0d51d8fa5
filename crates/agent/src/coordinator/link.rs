use std::net::ToSocketAddrs;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};

use super::AgentConfig;
use crate::Error;
use crate::clock::monotonic_ns;
use crate::message::{Event, FromAgent, Hello, Order, PROGRAM, PROTOCOL, ToAgent, Welcome};
use crate::rpc::agent_client::AgentClient;
use crate::service::{BEATS_PER_LEASE, in_full, mismatch};

/// Time limit for a reachable machine to accept a connection.
const CONNECT_WAIT: Duration = Duration::from_secs(5);
/// How long to retry an agent that is in use, since the previous coordinator may be about to leave.
const BUSY_WAIT: Duration = Duration::from_secs(2);
const BUSY_POLL: Duration = Duration::from_millis(50);
/// The longest message of an agent. Source: results of probes, in which a server with thousands of stacks takes 2 MiB.
const LARGEST_EVENT: usize = 16 << 20;
/// Capacity of the queue of orders.
const OUTGOING: usize = 16;

/// A message of an agent, or why the stream ended, and when it was read by this machine's `CLOCK_MONOTONIC`.
pub(crate) struct Heard {
    /// Number of the agent, from 0.
    pub(crate) agent: usize,
    pub(crate) at_ns: u64,
    pub(crate) what: Result<Event, String>,
}

/// A session with one agent. Dropping it ends the session.
pub(crate) struct Link {
    /// As the user wrote it.
    pub(super) address: String,
    /// Name that the agent reports.
    pub(super) name: String,
    to: mpsc::Sender<ToAgent>,
    reader: JoinHandle<()>,
    beats: JoinHandle<()>,
}

impl Link {
    /// Opens a session with agent number `agent`, whose events go to `heard`, including ping replies.
    pub(crate) async fn open(
        agent: usize,
        address: &str,
        config: &AgentConfig,
        heard: mpsc::Sender<Heard>,
    ) -> Result<Link, Error> {
        let channel = connect(address, config).await?;
        let asked = tokio::time::Instant::now();
        let (to, mut from, welcome) = loop {
            match introduce(address, channel.clone(), config).await {
                Err(status) if status.code() == Code::ResourceExhausted && asked.elapsed() < BUSY_WAIT => {
                    tokio::time::sleep(BUSY_POLL).await;
                }
                Err(status) => {
                    return Err(Error::Refused { address: address.into(), why: said(&status) });
                }
                Ok(open) => break open,
            }
        };
        let lease = config.lease;
        let reader = tokio::spawn(async move {
            loop {
                let what = match timeout(lease, from.message()).await {
                    Err(_) => Err(format!("nothing was heard of it for {lease:?}")),
                    Ok(Err(status)) => Err(format!("the connection broke: {}", said(&status))),
                    Ok(Ok(None)) => Err("it closed the session".into()),
                    Ok(Ok(Some(FromAgent { event: Some(Event::Beat(_)) }))) => continue,
                    Ok(Ok(Some(FromAgent { event: Some(event) }))) => Ok(event),
                    Ok(Ok(Some(FromAgent { event: None }))) => {
                        Err("it said something that is not known".into())
                    }
                };
                let at_ns = monotonic_ns();
                let last = what.is_err();
                // After the receiver closed, the stream is read to its end, so that the agent is free again.
                let _ = heard.send(Heard { agent, at_ns, what }).await;
                if last {
                    return;
                }
            }
        });
        let alive = to.clone();
        let beats = tokio::spawn(async move {
            let mut beat = interval(lease / BEATS_PER_LEASE);
            beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
            while alive.send(Order::Beat(()).into()).await.is_ok() {
                beat.tick().await;
            }
        });
        Ok(Link { address: address.into(), name: welcome.name, to, reader, beats })
    }

    /// Name in messages: `b (10.0.0.5:7070)`.
    pub(crate) fn label(&self) -> String {
        format!("{} ({})", self.name, self.address)
    }

    /// Sends an order to the agent. The reader detects a disconnected agent.
    pub(crate) async fn say(&self, order: Order) {
        let _ = self.to.send(order.into()).await;
    }

    /// Ends the session and waits until the agent has ended it too, up to `within`.
    pub(crate) async fn close(self, within: Duration) {
        self.beats.abort();
        let _ = self.beats.await;
        drop(self.to);
        let mut reader = self.reader;
        if timeout(within, &mut reader).await.is_err() {
            reader.abort();
        }
    }
}

async fn connect(address: &str, config: &AgentConfig) -> Result<Channel, Error> {
    let found = tokio::task::spawn_blocking({
        let address = address.to_owned();
        move || address.to_socket_addrs().map(Iterator::collect::<Vec<_>>)
    });
    let cannot = |why: String| Error::Connect { address: address.into(), why };
    let found = found.await.map_err(|e| cannot(e.to_string()))?.map_err(|e| cannot(e.to_string()))?;
    let loopback = !found.is_empty() && found.iter().all(|address| address.ip().is_loopback());
    config.credentials.may_connect(address, loopback, config.insecure_token)?;
    let tls = config.credentials.client_tls();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let no_address = |_| Error::Address { given: address.into() };
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))
        .map_err(no_address)?
        .connect_timeout(CONNECT_WAIT);
    if let Some(tls) = tls {
        endpoint = endpoint.tls_config(tls).map_err(|e| Error::Credentials(in_full(&e)))?;
    }
    let connected = timeout(2 * CONNECT_WAIT, endpoint.connect()).await;
    connected
        .map_err(|_| cannot(format!("no answer within {:?}", 2 * CONNECT_WAIT)))?
        .map_err(|e| cannot(in_full(&e)))
}

type Open = (mpsc::Sender<ToAgent>, Streaming<FromAgent>, Welcome);

async fn introduce(address: &str, channel: Channel, config: &AgentConfig) -> Result<Open, Status> {
    let (to, orders) = mpsc::channel(OUTGOING);
    let hello = Hello {
        protocol: PROTOCOL,
        program: PROGRAM.into(),
        name: config.name.clone(),
        lease_ms: u64::try_from(config.lease.as_millis()).unwrap_or(u64::MAX),
    };
    let _ = to.send(Order::Hello(hello).into()).await;
    let mut request = Request::new(ReceiverStream::new(orders));
    config.credentials.sign(&mut request);
    let mut client = AgentClient::new(channel).max_decoding_message_size(LARGEST_EVENT);
    let silent = |_| Status::deadline_exceeded(format!("{address} did not answer within {CONNECT_WAIT:?}"));
    let mut from = timeout(CONNECT_WAIT, client.session(request)).await.map_err(silent)??.into_inner();
    let first = timeout(CONNECT_WAIT, from.message()).await.map_err(silent)??;
    let Some(FromAgent { event: Some(Event::Welcome(welcome)) }) = first else {
        return Err(Status::failed_precondition("what listens there is no agent of taillight"));
    };
    let (here, there) =
        (("coordinator", PROTOCOL, PROGRAM), ("agent", welcome.protocol, welcome.program.as_str()));
    match mismatch(here, there) {
        Some(why) => Err(Status::failed_precondition(why)),
        None => Ok((to, from, welcome)),
    }
}

/// The status message, with its cause if the transport gave one.
fn said(status: &Status) -> String {
    let message = status.message();
    if message.is_empty() {
        return status.code().description().into();
    }
    let Some(cause) = std::error::Error::source(status) else { return message.into() };
    let cause = in_full(cause);
    if cause.contains(message) { cause } else { format!("{message}: {cause}") }
}
