use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::link::{Heard, Link};
use crate::comparison::Pings;
use crate::message::{Event, Order, Ping, Tune};
use crate::tenant::TUNE_WAIT;
use crate::{Comparison, Error};

/// Time limit of all comparisons; beyond it, the agent is reachable but does not reply.
const COMPARE_WAIT: Duration = Duration::from_secs(20);

/// The agents of a load, and the queue of their messages.
pub(super) struct Members<'a> {
    pub(super) links: &'a [Link],
    pub(super) heard: &'a mut mpsc::Receiver<Heard>,
    /// For each disconnected agent, the reason.
    pub(super) gone: &'a mut [Option<String>],
}

impl Members<'_> {
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
        match self.links.iter().zip(&*self.gone).find_map(gone) {
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
        self.links[agent].say(Order::Tune(tune.clone())).await;
        let deadline = Instant::now() + TUNE_WAIT;
        loop {
            if let Some(why) = &self.gone[agent] {
                return Err(why.clone());
            }
            let heard = self.next(deadline).await;
            let heard = heard.ok_or_else(|| format!("it did not answer within {TUNE_WAIT:?}"))?;
            match heard.what {
                Ok(Event::Answer(answer)) if heard.agent == agent => {
                    return if answer.refused { Err(answer.text) } else { Ok(answer.text) };
                }
                _ => {}
            }
        }
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

    /// Compares the clock of one agent; `None` if it disconnected or does not reply.
    ///
    /// Ignores messages of other agents, since this runs only before and after a load.
    pub(super) async fn compare(&mut self, agent: usize) -> Option<Comparison> {
        let deadline = Instant::now() + COMPARE_WAIT;
        let mut pings = Pings::new();
        while let Some(number) = pings.ask() {
            self.links[agent].say(Order::Ping(Ping { number })).await;
            loop {
                if self.gone[agent].is_some() {
                    return None;
                }
                let heard = self.next(deadline).await?;
                match heard.what {
                    Ok(Event::Pong(pong)) if heard.agent == agent && pings.answered(&pong, heard.at_ns) => {
                        break;
                    }
                    _ => {}
                }
            }
        }
        pings.compared()
    }
}
