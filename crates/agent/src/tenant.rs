use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::comparison::Pings;
use crate::coordinator::{AgentConfig, Heard, Link};
use crate::message::{Event, Order, Serve, Serving, Tune, Watch, next_number};
use crate::{Comparison, Error};

/// Capacity of the queue of received messages.
const INCOMING: usize = 64;
/// Time for the agent to confirm the end of the session: its server gets 2 s.
const CLOSE_WAIT: Duration = Duration::from_secs(5);
/// Time limit of facts; they take some ms.
const FACTS_WAIT: Duration = Duration::from_secs(30);
/// Time limit of knobs; each takes some ms, a daemon that ends or starts up to 15 s.
pub(crate) const TUNE_WAIT: Duration = Duration::from_secs(60);
/// Limit for probes to begin or to sum up, on a busy machine.
const WATCH_WAIT: Duration = Duration::from_secs(60);
const PING_WAIT: Duration = Duration::from_secs(10);
/// Time limit for a server to end, including its containers and its log.
const STOP_WAIT: Duration = Duration::from_secs(60);

/// A session with an agent in the role of a server. Dropping it ends the session and its server, and reverts its knobs.
pub struct Tenant {
    link: Option<Link>,
    heard: mpsc::Receiver<Heard>,
    label: String,
    /// Why the server ended or the agent disconnected.
    gone: Option<String>,
    runtime: Runtime,
}

impl Tenant {
    /// Opens a session with the one agent of `config`.
    ///
    /// Errors: it is unavailable, or there are several.
    pub fn open(config: &AgentConfig) -> Result<Tenant, Error> {
        let [address] = &config.agents[..] else {
            return Err(Error::Address { given: config.agents.join(",") });
        };
        // A separate thread keeps sending beats while this side is busy.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (tell, heard) = mpsc::channel(INCOMING);
        let link = runtime.block_on(Link::open(0, address, config, tell))?;
        Ok(Tenant { label: link.label(), link: Some(link), heard, gone: None, runtime })
    }

    /// Name of the agent in messages: `b (10.0.0.5:7070)`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Starts a server, and waits up to `within` until it accepts connections.
    ///
    /// Errors: the agent refuses, fails, or disconnected.
    pub fn serve(&mut self, serve: Serve, within: Duration) -> Result<Serving, Error> {
        self.gone = None;
        self.say(Order::Serve(serve));
        self.serving(within, "serving")
    }

    /// Stops the server for a while, but keeps its addresses; returns the time that this took. Units: ns.
    ///
    /// Errors: the agent runs no server, or it disconnected.
    pub fn halt(&mut self) -> Result<u64, Error> {
        self.say(Order::Halt(()));
        self.until(STOP_WAIT, "halted", |event, _| match event {
            Event::Halted(stop_ns) => Some(Ok(stop_ns)),
            Event::Failed(why) => Some(Err(why)),
            _ => None,
        })
    }

    /// Starts a halted server again; `called` as in [`Serve::called`]. Errors: the same as of [`Tenant::serve`].
    pub fn resume(&mut self, called: String, within: Duration) -> Result<Serving, Error> {
        self.say(Order::Resume(called));
        self.serving(within, "serving again")
    }

    /// Resources that the server has used so far, as JSON.
    pub fn usage(&mut self) -> Result<String, Error> {
        self.ask(Order::Usage, FACTS_WAIT, true)
    }

    /// Starts or ends an observation of the server and its machine during a trial; the window is given by this
    /// machine's `CLOCK_MONOTONIC`, which is compared with the agent's.
    ///
    /// Errors: the agent refuses, runs no server, or disconnected.
    pub fn watch(&mut self, watch: Watch) -> Result<String, Error> {
        let opened_ns = match watch.opened_ns {
            0 => 0,
            ns => self.compare()?.there(ns),
        };
        self.ask(|number| Order::Watch(Watch { opened_ns, number, ..watch }), WATCH_WAIT, true)
    }

    /// The agent's clock relative to this machine's.
    ///
    /// Errors: no reply.
    fn compare(&mut self) -> Result<Comparison, Error> {
        let mut pings = Pings::new();
        while let Some(number) = pings.ask() {
            self.say(Order::Ping(number));
            self.until(PING_WAIT, "telling the time", |event, at_ns| match event {
                Event::Pong(pong) => pings.answered(&pong, at_ns).then_some(Ok(())),
                _ => None,
            })?;
        }
        let none = || Error::Failed { agent: self.label.clone(), why: "it did not tell the time".into() };
        pings.compared().ok_or_else(none)
    }

    /// Facts about the agent's machine, as JSON.
    pub fn facts(&mut self) -> Result<String, Error> {
        self.ask(Order::Facts, FACTS_WAIT, false)
    }

    /// Plans, applies, shows or undoes knobs of the agent's machine; returns its reply.
    pub fn tune(&mut self, tune: Tune) -> Result<String, Error> {
        self.ask(|number| Order::Tune(Tune { number, ..tune }), TUNE_WAIT, false)
    }

    /// Why the server ended unexpectedly, or the agent disconnected; `None` while both run.
    pub fn gone(&mut self) -> Option<String> {
        while let Ok(heard) = self.heard.try_recv() {
            self.note(&heard);
        }
        self.gone.clone()
    }

    /// Stops the server and returns its log. The session stays open.
    pub fn stop(&mut self) -> Result<String, Error> {
        self.say(Order::Stop(()));
        let mut log = Vec::new();
        self.until(STOP_WAIT, "gone", |event, _| match event {
            Event::Recording(piece) => {
                log.extend_from_slice(&piece.bytes);
                piece.last.then_some(Ok(()))
            }
            Event::Failed(why) => Some(Err(why)),
            _ => None,
        })?;
        Ok(String::from_utf8_lossy(&log).into_owned())
    }

    fn say(&self, order: Order) {
        if let Some(link) = &self.link {
            self.runtime.block_on(link.say(order));
        }
    }

    fn serving(&mut self, within: Duration, what: &'static str) -> Result<Serving, Error> {
        self.until(within, what, |event, _| match event {
            Event::Serving(serving) => Some(Ok(serving)),
            Event::Failed(why) => Some(Err(why)),
            _ => None,
        })
    }

    /// Gives the order that `order` makes of its number, and returns the reply of the agent or of the server's keeper
    /// thread: an error if the server has ended.
    fn ask(
        &mut self,
        order: impl FnOnce(u64) -> Order,
        within: Duration,
        is_of_server: bool,
    ) -> Result<String, Error> {
        let number = next_number();
        self.say(order(number));
        self.until(within, "answering", |event, _| match event {
            // Another number belongs to an earlier order, whose reply comes too late.
            Event::Answer(answer) if answer.number == number => Some(answer.said()),
            Event::Failed(why) if is_of_server => Some(Err(why)),
            _ => None,
        })
    }

    /// Waits up to `within` for an event that `take` accepts, and passes it the time of arrival.
    fn until<T>(
        &mut self,
        within: Duration,
        what: &'static str,
        mut take: impl FnMut(Event, u64) -> Option<Result<T, String>>,
    ) -> Result<T, Error> {
        let deadline = Instant::now() + within;
        loop {
            let queue = &mut self.heard;
            // A time-out must be created within the runtime whose timer it uses.
            let heard = self.runtime.block_on(async { timeout_at(deadline, queue.recv()).await });
            let Ok(heard) = heard else {
                return Err(Error::Late { agent: self.label.clone(), what, within_s: within.as_secs() });
            };
            let Some(heard) = heard else {
                let why = self.gone.clone().unwrap_or_else(|| "its session is over".into());
                return Err(Error::Failed { agent: self.label.clone(), why });
            };
            self.note(&heard);
            match heard.what {
                Err(why) => return Err(Error::Failed { agent: self.label.clone(), why }),
                Ok(event) => match take(event, heard.at_ns) {
                    Some(Ok(taken)) => return Ok(taken),
                    Some(Err(why)) => return Err(Error::Failed { agent: self.label.clone(), why }),
                    None => {}
                },
            }
        }
    }

    fn note(&mut self, heard: &Heard) {
        if let Err(why) | Ok(Event::Failed(why)) = &heard.what {
            self.gone.get_or_insert_with(|| why.clone());
        }
    }
}

impl Drop for Tenant {
    fn drop(&mut self) {
        // The reader stops waiting for room in the channel.
        self.heard.close();
        while self.heard.try_recv().is_ok() {}
        if let Some(link) = self.link.take() {
            self.runtime.block_on(link.close(CLOSE_WAIT));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_reply_is_not_that_to_a_later_order() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (tell, heard) = mpsc::channel(INCOMING);
        let mut tenant = Tenant { link: None, heard, label: "s".into(), gone: None, runtime };
        let reply = |number: u64, text: &str| {
            let what = Ok(Event::answer(number, Ok(text.into())));
            assert!(tell.try_send(Heard { agent: 0, at_ns: 0, what }).is_ok());
        };
        let mut first = 0;
        let order = |number: u64| {
            first = number;
            Order::Usage(number)
        };
        let late = tenant.ask(order, Duration::from_millis(1), true);
        assert!(matches!(late, Err(Error::Late { .. })), "{late:?}");
        reply(first, "to the first order");
        let order = |number: u64| {
            reply(number, "to the last order");
            Order::Facts(number)
        };
        assert_eq!(tenant.ask(order, FACTS_WAIT, false).unwrap(), "to the last order");
    }
}
