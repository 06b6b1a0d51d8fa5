use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::ParseError;

use crate::text::list;

macro_rules! probes {
    ($($probe:ident: $name:literal, $summary:literal, $source:literal;)+) => {
        /// A kind of probe.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Probe {
            $(#[doc = $summary] $probe,)+
        }

        impl Probe {
            /// All, the most expensive first.
            pub const ALL: [Probe; [$($name),+].len()] = [$(Probe::$probe),+];

            const HINT: &str = concat!("write some of ", $($name, ", ",)+ "with commas between, or all");

            /// Name on the command line and in records.
            pub fn name(self) -> &'static str {
                match self { $(Probe::$probe => $name),+ }
            }

            /// Description in a sentence.
            pub fn summary(self) -> &'static str {
                match self { $(Probe::$probe => $summary),+ }
            }

            /// Publication or interface that the measurement comes from.
            pub fn source(self) -> &'static str {
                match self { $(Probe::$probe => $source),+ }
            }
        }
    };
}

// The name, the summary and the source of each probe, the most expensive first.
probes! {
    Stages: "stages", "Where a request spends its time in the server.", "IISWC'17 §IV-A, Tables II and III: by Systemtap";
    Cpu: "cpu", "Whose code uses the processors: kernel, program, each library.", "CAL'18 §4.2, Fig. 6: kernel, user and libraries";
    RunQueue: "runqueue", "How the server's threads come to run: waits, switches, migrations.", "Linux, schedstat; IISWC'17 §V-B.1 names context switches as the cause of the tail";
    Sockets: "sockets", "How long requests stand unread at the server's sockets.", "Linux, sock_diag(7); the mean by Little's law";
    Server: "server", "The server's own counters.", "memcached's stats, nginx's stub_status";
    Client: "client", "What of the response time is the client's own; recorded by the generator throughout.", "Linux, timestamping.rst: the kernel's stamps of what leaves and arrives";
    Counters: "counters", "Instructions, misses and faults.", "CAL'18 §4.2, Fig. 5; ISPASS'16 §VI-D";
    Io: "io", "Disks and the page cache.", "ISPASS'16 §VI-B: the share of time that waits for I/O";
}

/// The requested probes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Names", into = "Names")]
#[schemars(with = "Vec<String>")]
pub struct ProbeSet(Vec<Probe>);

impl ProbeSet {
    /// The probes, the most expensive first.
    pub fn probes(&self) -> &[Probe] {
        &self.0
    }

    /// Whether this one is selected.
    pub fn has(&self, probe: Probe) -> bool {
        self.0.contains(&probe)
    }

    /// The probes that run in slots, the most expensive first.
    pub fn in_slots(&self) -> Vec<Probe> {
        self.0.iter().copied().filter(|probe| *probe != Probe::Client).collect()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for ProbeSet {
    type Err = ParseError;

    /// Reads names with commas between, or `all`.
    fn from_str(text: &str) -> Result<ProbeSet, ParseError> {
        if text == "all" {
            return Ok(ProbeSet(Probe::ALL.to_vec()));
        }
        let probe = |name: &str| {
            let found = Probe::ALL.into_iter().find(|probe| probe.name() == name);
            found.ok_or_else(|| ParseError {
                what: "probe",
                given: name.into(),
                problem: "there is none of that name".into(),
                hint: Probe::HINT,
            })
        };
        let mut probes: Vec<Probe> = text.split(',').map(probe).collect::<Result<_, _>>()?;
        probes.sort_unstable();
        probes.dedup();
        Ok(ProbeSet(probes))
    }
}

impl fmt::Display for ProbeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|probe| probe.name()).collect();
        f.pad(&names.join(","))
    }
}

/// Probes as they are written: a list of names, or one text as on the command line.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Names(#[serde(with = "list")] Vec<String>);

impl TryFrom<Names> for ProbeSet {
    type Error = ParseError;

    fn try_from(Names(names): Names) -> Result<ProbeSet, ParseError> {
        match names.join(",").as_str() {
            "" => Ok(ProbeSet::default()),
            names => names.parse(),
        }
    }
}

impl From<ProbeSet> for Names {
    fn from(set: ProbeSet) -> Names {
        Names(set.0.iter().map(|probe| probe.name().to_owned()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names() {
        let check =
            |text: &str, expect: &str| assert_eq!(text.parse::<ProbeSet>().unwrap().to_string(), expect);
        check("stages", "stages");
        check("io,stages,io", "stages,io");
        check("all", "stages,cpu,runqueue,sockets,server,client,counters,io");
        for text in ["", "stage", "all,io", "stages,"] {
            let error = text.parse::<ProbeSet>().unwrap_err().to_string();
            assert!(error.contains("stages, cpu, runqueue"), "{text}: {error}");
        }
    }
}
