use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::ParseError;

/// A kind of probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Probe {
    /// The stages of a request in the server.
    Stages,
    /// Which code uses the processors.
    Cpu,
    /// How the server's threads come to run.
    RunQueue,
    /// TCP's state of the server's connections.
    Sockets,
    /// The server's own counters.
    Server,
    /// When requests left the client's machine and answers arrived there, recorded by the generator throughout.
    Client,
    /// Instructions, misses, faults.
    Counters,
    /// Disks and page cache.
    Io,
}

impl Probe {
    /// All, the most expensive first.
    pub const ALL: [Probe; 8] = [
        Probe::Stages,
        Probe::Cpu,
        Probe::RunQueue,
        Probe::Sockets,
        Probe::Server,
        Probe::Client,
        Probe::Counters,
        Probe::Io,
    ];

    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Probe::Stages => "stages",
            Probe::Cpu => "cpu",
            Probe::RunQueue => "runqueue",
            Probe::Sockets => "sockets",
            Probe::Server => "server",
            Probe::Client => "client",
            Probe::Counters => "counters",
            Probe::Io => "io",
        }
    }
}

/// The requested probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
                hint: "write some of stages, cpu, runqueue, sockets, server, client, counters and io with commas between, or all",
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

impl Serialize for ProbeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|probe| probe.name()))
    }
}

impl<'de> Deserialize<'de> for ProbeSet {
    /// Reads a list of names, or one text as on the command line.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ProbeSet, D::Error> {
        let names: Vec<String> = crate::text::list::deserialize(deserializer)?;
        match names.join(",").as_str() {
            "" => Ok(ProbeSet::default()),
            names => names.parse().map_err(serde::de::Error::custom),
        }
    }
}

impl schemars::JsonSchema for ProbeSet {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ProbeSet".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "array", "items": { "type": "string" } })
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
