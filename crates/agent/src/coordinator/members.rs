use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::link::{Heard, Link};
use crate::comparison::Pings;
use crate::message::{Event, Order, Tune, next_number};
use crate::tenant::TUNE_WAIT;
use crate::{Comparison, Error};

/// Time limit of all comparisons; beyond it, the agent is reachable but does not reply.
const COMPARE_WAIT: Duration = Duration::from_secs(20);

/// The agents of a load, and the queue of their messages.
pub(super) struct Members {
    pub(super) links: Vec<Link>,
    pub(super) heard: mpsc::Receiver<Heard>,
    /// For each disconnected agent, the reason.
    pub(super) gone: Vec<Option<String>>,
}

impl Members {
    /// The next message, by `deadline`. An agent that disconnected is remembered.
    pub(super) async fn next(&mut self, deadline: Instant) -> Option<Heard> {
        let heard = timeout_at(deadline, self.heard.recv()).await.ok()??;
        if let Err(why) = &heard.what {
            self.gone[heard.agent].get_or_insert_with(|| why.clone());
        }
        Some(heard)
    }

    /// The first agent that disconnected, as an error of a load that had not begun.
    pub(super) fn all_there(&self) -> Result<(), Error> {
        let gone = |(link, gone): (&Link, &Option<String>)| Some((link.label(), gone.clone()?));
        match self.links.iter().zip(&self.gone).find_map(gone) {
            Some((agent, why)) => Err(Error::LostEarly { agent, why }),
            None => Ok(()),
        }
    }

    /// Plans, applies or undoes knobs on every agent's machine, one after the other; returns each agent's reply or
    /// error.
    pub(super) async fn tune_all(&mut self, tune: &Tune) -> Vec<Result<String, String>> {
        let mut said = Vec::new();
        for agent in 0..self.links.len() {
            said.push(self.tune(agent, tune).await);
        }
        said
    }

    async fn tune(&mut self, agent: usize, tune: &Tune) -> Result<String, String> {
        let number = next_number();
        self.links[agent].say(Order::Tune(Tune { number, ..tune.clone() })).await;
        let answered = self.until(agent, Instant::now() + TUNE_WAIT, |event, _| match event {
            Event::Answer(answer) if answer.number == number => Some(answer.said()),
            _ => None,
        });
        let late = || format!("it did not answer within {TUNE_WAIT:?}");
        answered.await.unwrap_or_else(|| Err(self.gone[agent].clone().unwrap_or_else(late)))
    }

    /// Waits by `deadline` for an event of one agent that `take` accepts, and passes it the time of arrival; `None` if
    /// the agent disconnected or is late. Ignores messages of other agents.
    async fn until<T>(
        &mut self,
        agent: usize,
        deadline: Instant,
        mut take: impl FnMut(Event, u64) -> Option<T>,
    ) -> Option<T> {
        while self.gone[agent].is_none() {
            let heard = self.next(deadline).await?;
            if let (true, Ok(event)) = (heard.agent == agent, heard.what)
                && let Some(taken) = take(event, heard.at_ns)
            {
                return Some(taken);
            }
        }
        None
    }

    /// Compares the clocks of all agents, one after the other so that they do not wait for each other.
    pub(super) async fn compare_all(&mut self) -> Result<Vec<Comparison>, Error> {
        let mut comparisons = Vec::new();
        for agent in 0..self.links.len() {
            let comparison = self.compare(agent).await;
            self.all_there()?;
            comparisons.push(comparison.ok_or_else(|| Error::Stuck {
                agent: self.links[agent].label(),
                what: "telling the time",
                within_s: COMPARE_WAIT.as_secs(),
            })?);
        }
        Ok(comparisons)
    }

    /// Compares the clock of one agent, before or after a load; `None` if it disconnected or does not reply.
    pub(super) async fn compare(&mut self, agent: usize) -> Option<Comparison> {
        let deadline = Instant::now() + COMPARE_WAIT;
        let mut pings = Pings::new();
        while let Some(number) = pings.ask() {
            self.links[agent].say(Order::Ping(number)).await;
            let answered = self.until(agent, deadline, |event, at_ns| match event {
                Event::Pong(pong) => pings.answered(&pong, at_ns).then_some(()),
                _ => None,
            });
            answered.await?;
        }
        pings.compared()
    }
}
