use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tonic::{Status, Streaming};

use super::child::{Child, ChildEvent};
use super::keeper;
use crate::clock::Clock;
use crate::message::{Event, FromAgent, Generate, Order, Piece, Pong, Serve, ToAgent};
use crate::{Generators, Servers};

/// Bytes of a recording in one message, well below the coordinator's limit.
const PIECE: usize = 256 << 10;
/// Beats in each lease, so that one or two may be late.
pub(crate) const BEATS_PER_LEASE: u32 = 4;

const NO_SERVER: &str = "it generates load only; start the agent with --role server";

/// One coordinator's use of the agent, from its first message to its end.
pub(super) struct Session {
    pub(super) clock: Clock,
    pub(super) generators: Option<Arc<dyn Generators>>,
    pub(super) servers: Option<Arc<dyn Servers>>,
    pub(super) to: mpsc::Sender<Result<FromAgent, Status>>,
    pub(super) lease: Duration,
    /// Number of the session, unique in this agent.
    pub(super) number: u64,
    pub(super) loads: u32,
    /// The number of the coordinator's pending request, and the thread that works on it.
    pub(super) asked: Option<(u64, JoinHandle<Said>)>,
}

/// A reply, or an error.
type Said = Result<String, String>;

/// Why a session ended.
type End = String;

impl Session {
    /// Serves until the coordinator disconnects, is silent for the lease, or the agent is stopped; returns the reason.
    /// All children have ended then.
    pub(super) async fn run(
        &mut self,
        mut orders: Streaming<ToAgent>,
        mut stop: watch::Receiver<bool>,
    ) -> End {
        let mut child: Option<Child> = None;
        let end = loop {
            let done = self.turn(&mut orders, &mut stop, &mut child).await;
            if let Err(end) = done {
                break end;
            }
        };
        if let Some(child) = child {
            child.gone().await;
        }
        // Finish it before the knobs are undone.
        if let Some((_, asked)) = self.asked.take() {
            let _ = asked.await;
        }
        let (servers, generators, number) = (self.servers.clone(), self.generators.clone(), self.number);
        let leave = move || {
            servers.iter().for_each(|servers| servers.leave(number));
            generators.iter().for_each(|generators| generators.leave(number));
        };
        let _ = spawn_blocking(leave).await;
        end
    }

    /// Serves until a child has ended, or the session (then it is an error).
    async fn turn(
        &mut self,
        orders: &mut Streaming<ToAgent>,
        stop: &mut watch::Receiver<bool>,
        child: &mut Option<Child>,
    ) -> Result<(), End> {
        let mut beat = interval(self.lease / BEATS_PER_LEASE);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut silent_until = Instant::now() + self.lease;
        loop {
            // In this order, so that received messages are read before a silence is detected.
            tokio::select! {
                biased;
                order = orders.message() => {
                    let received_ns = self.clock.now_ns();
                    silent_until = Instant::now() + self.lease;
                    match order {
                        Ok(Some(ToAgent { order: Some(order) })) => self.order(order, received_ns, child).await?,
                        Ok(Some(ToAgent { order: None })) => {
                            return Err("the coordinator sent an order that this agent does not know".into());
                        }
                        Ok(None) => return Err("the coordinator closed it".into()),
                        Err(status) => return Err(format!("the connection broke: {}", status.message())),
                    }
                }
                told = next(child) => {
                    let ended = matches!(told, None | Some(ChildEvent::Ended(_)));
                    self.tell(told).await?;
                    if ended {
                        *child = None;
                        return Ok(());
                    }
                }
                answer = answer_to(&mut self.asked) => {
                    self.asked = None;
                    self.send(answer).await?;
                }
                _ = stop.changed() => return Err("the agent was asked to end".into()),
                () = self.to.closed() => return Err("the coordinator disconnected".into()),
                () = sleep_until(silent_until) => {
                    return Err(format!("the coordinator was silent for {:?}", self.lease));
                }
                _ = beat.tick() => self.send(Event::Beat(())).await?,
            }
        }
    }

    async fn order(&mut self, order: Order, received_ns: u64, child: &mut Option<Child>) -> Result<(), End> {
        match order {
            Order::Ping(number) => {
                let replied_ns = self.clock.now_ns();
                self.send(Event::Pong(Pong { number, received_ns, replied_ns })).await
            }
            Order::Generate(_) | Order::Serve(_) if child.is_some() => {
                self.send(Event::Failed("a task is under way; stop it first".into())).await
            }
            Order::Generate(generate) => self.begin(self.generate(generate), child).await,
            Order::Serve(serve) => self.begin(self.serve(serve), child).await,
            Order::Start(at_ns) => {
                let late = received_ns.saturating_sub(at_ns);
                match child.take() {
                    None => self.send(Event::Failed("nothing is prepared that could start".into())).await,
                    Some(late_child) if late > 0 => {
                        late_child.gone().await;
                        let late = Duration::from_nanos(late);
                        self.send(Event::Failed(format!("the order to start came {late:?} too late"))).await
                    }
                    Some(ready) => {
                        ready.order(Order::Start(self.clock.to_monotonic(at_ns)));
                        *child = Some(ready);
                        Ok(())
                    }
                }
            }
            Order::Stop(()) => {
                if let Some(child) = child {
                    child.order(Order::Stop(()));
                }
                Ok(())
            }
            Order::Halt(()) | Order::Resume(_) | Order::Usage(_) => self.have(child, order).await,
            Order::Watch(mut watch) => {
                if watch.opened_ns > 0 {
                    watch.opened_ns = self.clock.to_monotonic(watch.opened_ns);
                }
                self.have(child, Order::Watch(watch)).await
            }
            Order::Facts(number) => match self.servers.clone() {
                Some(servers) => self.ask(number, move || servers.facts()).await,
                None => self.send(Event::answer(number, Err(NO_SERVER.to_owned()))).await,
            },
            Order::Tune(tune) => {
                let (session, number) = (self.number, tune.number);
                match (self.servers.clone(), self.generators.clone()) {
                    (Some(servers), _) => self.ask(number, move || servers.tune(session, &tune)).await,
                    (None, Some(generators)) => {
                        self.ask(number, move || generators.tune(session, &tune)).await
                    }
                    (None, None) => self.send(Event::answer(number, Err("it has no role".to_owned()))).await,
                }
            }
            Order::Beat(()) => Ok(()),
            Order::Hello(_) => Err("the coordinator introduced itself twice".into()),
        }
    }

    fn generate(&self, generate: Generate) -> Result<Child, String> {
        if generate.shares == 0 || generate.share >= generate.shares {
            return Err(format!("share {} of {} is none", generate.share, generate.shares));
        }
        let generators =
            self.generators.as_ref().ok_or("it has the role of a server and generates no load")?;
        Child::start(|file| generators.spec(&generate, file))
    }

    fn serve(&self, serve: Serve) -> Result<Child, String> {
        let servers = self.servers.as_ref().ok_or(NO_SERVER)?;
        keeper::keep(Arc::clone(servers), self.number, serve)
    }

    /// Keeps the child of a task that was started, or reports why it was not.
    async fn begin(&self, started: Result<Child, String>, child: &mut Option<Child>) -> Result<(), End> {
        match started {
            Ok(started) => {
                *child = Some(started);
                Ok(())
            }
            Err(why) => self.send(Event::Failed(why)).await,
        }
    }

    /// Sends the order to the child.
    async fn have(&self, child: &Option<Child>, order: Order) -> Result<(), End> {
        match child {
            Some(child) => {
                child.order(order);
                Ok(())
            }
            None => self.send(Event::Failed("there is no server that could do so".into())).await,
        }
    }

    /// Runs `work`, which may block, in another thread while the session goes on; the reply to the order of this number
    /// is sent later.
    async fn ask(&mut self, number: u64, work: impl FnOnce() -> Said + Send + 'static) -> Result<(), End> {
        if self.asked.is_some() {
            let busy = "it is busy with an earlier order";
            return self.send(Event::answer(number, Err(busy.to_owned()))).await;
        }
        self.asked = Some((number, spawn_blocking(work)));
        Ok(())
    }

    async fn tell(&mut self, told: Option<ChildEvent>) -> Result<(), End> {
        match told {
            Some(ChildEvent::Told(event)) => self.send(event).await,
            Some(ChildEvent::Ended(Ok(recording))) => {
                self.loads += 1;
                let pieces = recording.len().div_ceil(PIECE).max(1);
                for i in 0..pieces {
                    let bytes = recording[i * PIECE..recording.len().min((i + 1) * PIECE)].to_vec();
                    self.send(Event::Recording(Piece { bytes, last: i + 1 == pieces })).await?;
                }
                Ok(())
            }
            Some(ChildEvent::Ended(Err(why))) => self.send(Event::Failed(why)).await,
            None => self.send(Event::Failed("what was started went without a word".into())).await,
        }
    }

    /// Errors: the coordinator did not receive it within the lease.
    async fn send(&self, event: Event) -> Result<(), End> {
        let sent = self.to.send_timeout(Ok(event.into()), self.lease).await;
        sent.map_err(|_| format!("the coordinator did not read for {:?}", self.lease))
    }
}

/// Reply to the pending request; without a request, never completes.
async fn answer_to(asked: &mut Option<(u64, JoinHandle<Said>)>) -> Event {
    match asked {
        Some((number, work)) => {
            let said =
                work.await.unwrap_or_else(|_| Err("the agent itself failed at it; see its log".into()));
            Event::answer(*number, said)
        }
        None => std::future::pending().await,
    }
}

/// Next event of the child; without a child, never completes.
async fn next(child: &mut Option<Child>) -> Option<ChildEvent> {
    match child {
        Some(child) => child.next().await,
        None => std::future::pending().await,
    }
}
