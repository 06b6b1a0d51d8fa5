//! Observation of a server during a trial, on any machine.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use app::{Away, WatchOrder};
use probes::{Beside, Observer, ProbeSet, Seen, Subject};
use reactor::Address;
use results::Trial;
use serde::{Deserialize, Serialize};

use super::Server;
use crate::target;

/// The scope of an observation. As JSON, a coordinator's request to an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Looks {
    /// The probes; empty if only the machine is watched.
    pub probes: ProbeSet,
    /// Whether all of them look all the time, as in a search.
    pub throughout: bool,
    /// The length of the trial's window.
    pub window: Duration,
}

/// Active probes and watched machines during a trial. [`Watching::finish`] or [`Watching::dismiss`] ends it.
pub(crate) struct Watching {
    probes: ProbeSet,
    by: By,
}

/// Place of the probes: the machine of the server's entrance.
enum By {
    Nothing,
    Here(Observer),
    /// On the machine of an agent.
    There,
    /// The agent of this name does not, and why.
    Failed(String, String),
}

impl Server {
    /// Begins to observe it on this machine; `None` if no probe is requested.
    pub fn observe(&self, looks: &Looks) -> Option<Observer> {
        let Looks { probes, throughout, window } = looks;
        (!probes.is_empty()).then(|| match throughout {
            true => Observer::throughout(probes, self.subject()),
            false => Observer::start(probes, self.subject(), *window),
        })
    }

    /// The subject of probes: its processes, or those that listen at its address, if that is on this machine.
    fn subject(&self) -> Subject {
        let pids = self.pids();
        // A host that is not known was so to the generator, which said it.
        let servers = target::addresses(self.address()).unwrap_or_default();
        let is_here = |address: &SocketAddr| UdpSocket::bind((address.ip(), 0)).is_ok();
        let addresses = servers.iter().filter_map(Address::socket);
        let addresses: Vec<SocketAddr> =
            addresses.filter(|address| !pids.is_empty() || is_here(address)).collect();
        Subject::new(pids, &addresses).asked_at(servers).made_of(self.pids_by_service())
    }

    /// Has its machines observe their own activity during a trial, and the entrance's machine also run these probes.
    pub(crate) fn watch(&self, looks: &Looks) -> Watching {
        let mut by = None;
        for (away, is_entrance) in self.away() {
            let probes = if is_entrance { looks.probes.clone() } else { ProbeSet::default() };
            let of_it = Looks { probes, ..looks.clone() };
            let begun = away.watch(&WatchOrder::Begin(&serde_json::to_string(&of_it).unwrap_or_default()));
            if is_entrance && !looks.probes.is_empty() {
                by = Some(match begun {
                    Ok(_) => By::There,
                    Err(why) => By::Failed(away.name().into(), why),
                });
            }
        }
        let here = || self.observe(looks).map_or(By::Nothing, By::Here);
        Watching { probes: looks.probes.clone(), by: by.unwrap_or_else(here) }
    }

    /// The activity of each of its other machines in a window, as JSON: a list, with `null` for one that does not
    /// answer.
    pub(crate) fn noise_elsewhere(&self, opened_ns: u64, window_ns: u64) -> String {
        let noise = |(away, _): (&Away, bool)| away.watch(&WatchOrder::Noise { opened_ns, window_ns }).ok();
        let each: Vec<String> =
            self.away().map(|away| noise(away).unwrap_or_else(|| "null".into())).collect();
        format!("[{}]", each.join(","))
    }

    /// Ends the observation on its other machines; returns the findings of the entrance's machine for this trial.
    fn seen_elsewhere(&self, trial: &Beside) -> Option<Seen> {
        let text = serde_json::to_string(&trial).unwrap_or_default();
        let mut seen = None;
        for (away, is_entrance) in self.away() {
            let said = away.watch(&WatchOrder::End { opened_ns: trial.opened_ns, trial: &text });
            if is_entrance {
                let read = |text: String| serde_json::from_str(&text).map_err(|error| error.to_string());
                let of = said.and_then(read);
                seen = Some(of.unwrap_or_else(|why| Seen::nothing(answer(&why))).on(away.name()));
            }
        }
        seen
    }

    /// Its services on other machines, and whether its entrance is among them.
    fn away(&self) -> impl Iterator<Item = (&Away, bool)> {
        self.managed().into_iter().flat_map(|own| own.away())
    }
}

impl Watching {
    /// Ends it and writes the findings into the trial.
    pub(crate) fn finish(self, server: &Server, trial: &mut Trial) {
        let elsewhere = server.seen_elsewhere(&Beside::of(trial));
        match (self.by, elsewhere) {
            (By::Nothing, _) => {}
            (By::Here(observer), _) => observer.finish(trial),
            (By::There, Some(seen)) => seen.enter(&self.probes, trial),
            // An entrance does not move.
            (By::There, None) => {}
            (By::Failed(name, why), _) => {
                Seen::nothing(answer(&why)).on(&name).enter(&self.probes, trial);
            }
        }
    }

    /// Ends it and discards the findings.
    pub(crate) fn dismiss(self, server: &Server) {
        server.seen_elsewhere(&Beside::default());
        if let By::Here(observer) = self.by {
            observer.dismiss();
        }
    }
}

/// The missing data of a machine without findings.
fn answer(why: &str) -> String {
    format!("its agent's answer ({why})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_is_asked_reads_back() {
        let check = |probes: &str| {
            let probes = if probes.is_empty() { ProbeSet::default() } else { probes.parse().unwrap() };
            let looks = Looks { probes, throughout: true, window: Duration::from_millis(1_500) };
            let text = serde_json::to_string(&looks).unwrap();
            assert_eq!(serde_json::from_str::<Looks>(&text).unwrap(), looks, "{text}");
        };
        check("");
        check("stages,client");
    }
}
