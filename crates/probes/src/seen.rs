use results::probes::Missing;
use results::{Invalid, Probes, Reason, Trial, Verdict, WindowPoint};
use serde::{Deserialize, Serialize};
use spec::{Probe, ProbeSet};

/// The parts of a trial that are needed to align probe results with it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// When its window opened, by the `CLOCK_MONOTONIC` of the observed machine; `None` if unknown. Units: ns.
    pub opened_ns: Option<u64>,
    /// The length of the window. Units: s.
    pub window_s: f64,
    /// Windows of the trial, with the figures that determine a probe's overhead.
    pub windows: Vec<WindowPoint>,
    /// The mean service time. Units: µs.
    pub mean_service_us: Option<f64>,
}

impl Beside {
    /// The parts of this trial.
    pub fn of(trial: &Trial) -> Beside {
        Beside {
            opened_ns: trial.window_opened_monotonic_ns,
            window_s: trial.window_s,
            windows: trial.windows.clone(),
            mean_service_us: trial.all.service_time.mean_us,
        }
    }
}

/// Probe results of a trial. The agent of a server's machine sends it as JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub(crate) record: Probes,
    /// Lost data of probes that lost too much.
    pub(crate) lost: Vec<String>,
}

impl Seen {
    /// An empty result, because `what` is missing.
    pub fn nothing(what: String) -> Seen {
        let missing = vec![Missing { probe: "all".into(), what, disables: "everything".into() }];
        Seen { record: Probes { missing, ..Probes::default() }, lost: Vec::new() }
    }

    /// The same, seen on the machine of this agent.
    #[must_use]
    pub fn on(mut self, agent: &str) -> Seen {
        for missing in &mut self.record.missing {
            missing.what = format!("{}, on the machine of the agent {agent}", missing.what);
        }
        self
    }

    /// Writes the results into the trial, with the list of requested probes.
    pub fn enter(self, wanted: &ProbeSet, trial: &mut Trial) {
        let mut record = Probes {
            asked: wanted.probes().iter().map(|probe| probe.name().to_owned()).collect(),
            // Written by the generator.
            client: trial.probes.take().and_then(|probes| probes.client),
            ..self.record
        };
        if wanted.has(Probe::Client) && record.client.is_none() {
            record.missing.push(Missing {
                probe: Probe::Client.name().into(),
                what: "a generator on this machine with the event loop epoll, and connections over TCP without TLS on which \
                       a request waits for the answer to the one before (--depth 1)"
                    .into(),
                disables: "what of the response time is the client's own".into(),
            });
        }
        trial.probes = Some(record);
        for detail in self.lost {
            let invalid = Invalid { reason: Reason::ProbeLoss, detail };
            match &mut trial.verdict {
                Verdict::Invalid { reasons } => reasons.push(invalid),
                other => *other = Verdict::Invalid { reasons: vec![invalid] },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use results::probes::ClientTimes;

    use super::*;

    #[test]
    fn what_was_seen_elsewhere_is_entered_beside_what_the_generator_wrote() {
        let client = ClientTimes { one_in: 8, ..ClientTimes::default() };
        let written = Probes { client: Some(client.clone()), ..Probes::default() };
        let mut trial =
            Trial { probes: Some(written), verdict: Verdict::Valid, window_s: 2.0, ..Trial::default() };
        let mut seen = Seen::nothing("root".into()).on("s (10.0.0.5:7070)");
        seen.record.slots = 3;
        seen.lost.push("5 of 100 messages".into());
        // Over the network and back.
        let seen: Seen = serde_json::from_str(&serde_json::to_string(&seen).unwrap()).unwrap();
        seen.enter(&"stages,client".parse().unwrap(), &mut trial);
        let probes = trial.probes.unwrap();
        assert_eq!((probes.asked.join(","), probes.slots), ("stages,client".into(), 3));
        assert_eq!(probes.client, Some(client));
        let [missing] = &probes.missing[..] else { panic!("{:?}", probes.missing) };
        assert_eq!(missing.what, "root, on the machine of the agent s (10.0.0.5:7070)");
        let Verdict::Invalid { reasons } = trial.verdict else { panic!("{}", trial.verdict) };
        assert_eq!((reasons[0].reason, reasons[0].detail.as_str()), (Reason::ProbeLoss, "5 of 100 messages"));
    }

    #[test]
    fn a_trial_is_told_as_it_is() {
        let mut trial =
            Trial { window_opened_monotonic_ns: Some(7), window_s: 0.1 + 0.2, ..Trial::default() };
        trial.windows = vec![WindowPoint { start_ms: 100, p99_us: Some(0.1), ..WindowPoint::default() }];
        let beside = Beside::of(&trial);
        assert_eq!((beside.opened_ns, beside.window_s), (Some(7), trial.window_s));
        let back: Beside = serde_json::from_str(&serde_json::to_string(&beside).unwrap()).unwrap();
        assert_eq!(back, beside);
    }
}
