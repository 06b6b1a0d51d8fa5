//! An experiment as a person writes it: what is measured, under which load, with everything that may be left out
//! filled in.

mod target;

use std::collections::BTreeMap;
use std::time::Duration;

use knobs::Setting;
use probes::ProbeSet;
use serde_json::{Value, json};
use toml::Table;
use units::{CpuList, Nanos, Qos, Rate};

use super::DefinitionError;
use super::section::{Section, unknown};
use crate::{Files, Span, TargetName};

pub use target::{Cpus, Target};

/// The names of the generator's options, so that a wrong one is refused before anything starts.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// Of what is asked for of a cache: `key-size`.
    pub cache: Vec<String>,
    /// Of what is asked for of a web server: `popularity`.
    pub web: Vec<String>,
    /// Of how it is sent: `connections`.
    pub generator: Vec<String>,
}

impl Vocabulary {
    fn of(&self, kind: Workload) -> &[String] {
        match kind {
            Workload::Cache => &self.cache,
            Workload::Web => &self.web,
        }
    }
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Gets and sets.
    Cache,
    /// Requests for files.
    Web,
}

impl Workload {
    const WORDS: [(&str, Workload); 2] = [("cache", Workload::Cache), ("web", Workload::Web)];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Cache => "cache",
            Workload::Web => "web",
        }
    }
}

/// A whole experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The server.
    pub target: Target,
    /// What is sent to it.
    pub kind: Workload,
    /// What is asked for: option and value, as on the command line.
    pub workload: BTreeMap<String, String>,
    /// How it is sent: option and value, as on the command line.
    pub generator: BTreeMap<String, String>,
    /// The generator's processors; `None` for the last one.
    pub generator_cpus: Option<CpuList>,
    /// What is changed on the host meanwhile, as `name=value`.
    pub knobs: Vec<String>,
    /// What is observed meanwhile.
    pub probes: ProbeSet,
    /// How much is offered.
    pub load: Offer,
    /// What response times are held to.
    pub qos: Qos,
    /// How long.
    pub time: Times,
}

/// How much is offered.
#[derive(Clone, Debug, PartialEq)]
pub enum Offer {
    /// A share of a maximum throughput.
    Share {
        /// 0 to 1.
        share: f64,
        /// The series whose maximum it is, maybe with a place behind ` @ `; `None` for the cell's own.
        of: Option<String>,
    },
    /// A rate.
    Rate(Rate),
    /// A closed loop: each connection asks again once it has its answer.
    Closed,
    /// The maximum throughput is searched.
    Maximum,
    /// The peak throughput under QoS is searched.
    Peak,
    /// None: the knobs are applied so many times, and timed.
    Apply(u32),
    /// None: the server is restarted so many times, and timed.
    Restart(u32),
}

/// How long the parts of a trial take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Load before the window.
    pub warmup: Duration,
    /// Time in which arrivals count.
    pub window: Duration,
    /// The window of a trial that searches for a maximum.
    pub search: Duration,
}

impl Times {
    /// Of a trial that measures.
    pub(super) fn span(&self) -> Span {
        Span { warmup: self.warmup, window: self.window }
    }
}

/// Options of the generator that the laboratory sets for each trial.
const SET_BY_THE_LAB: [&str; 6] = ["seed", "warmup", "window", "cpus", "rate", "closed"];
/// Options whose values are quantities: a plain number has lost its unit.
const NEEDS_UNIT: [(&str, &str); 7] = [
    ("key-size", "30B"),
    ("value-size", "200B"),
    ("body-size", "1KiB"),
    ("think", "1ms"),
    ("drain", "1s"),
    ("timeout", "2s"),
    ("target-latency", "1ms"),
];

impl Experiment {
    /// Reads one. `place` is where the table stands in its file.
    ///
    /// Errors: a key that is not known, with the nearest one; a quantity without unit; parts that do not go
    /// together.
    pub fn read(table: Table, place: &str, known: &Vocabulary) -> Result<Experiment, DefinitionError> {
        let mut section = Section::new(place, table);
        let target = Target::read(section.below("target")?)?;
        let mut of_workload = section.below("workload")?;
        let kind = of_workload.choice("kind", &Workload::WORDS, "write \"cache\" or \"web\"")?;
        let kind = kind.unwrap_or(match target.server.workload() {
            Some("web") => Workload::Web,
            _ => Workload::Cache,
        });
        if target.server.workload().is_some_and(|answers| answers != kind.name()) {
            return Err(DefinitionError(format!(
                "{}: {} answers no '{}'; leave it out, or choose another target.server",
                of_workload.at("kind"),
                target.server,
                kind.name()
            )));
        }
        let workload = options(of_workload, known.of(kind))?;
        let mut of_generator = section.below("generator")?;
        let generator_cpus = of_generator.text("cpus")?.map(|text| text.parse()).transpose();
        let generator_cpus =
            generator_cpus.map_err(|e| DefinitionError(format!("{}: {e}", of_generator.at("cpus"))))?;
        let generator = options(of_generator, &known.generator)?;
        let knobs = section.texts("knobs")?;
        if let Some(error) = knobs.iter().find_map(|knob| knob.parse::<Setting>().err()) {
            return Err(DefinitionError(format!("{}: {error}", section.at("knobs"))));
        }
        let probes = section.texts("probes")?.join(",");
        let probes = match probes.as_str() {
            "" => ProbeSet::default(),
            names => names.parse().map_err(|e| DefinitionError(format!("{}: {e}", section.at("probes"))))?,
        };
        let load = Offer::read(section.below("load")?)?;
        let mut qos = section.below("qos")?;
        let target_qos = qos.text("target")?.map_or(Ok(Qos::default()), |text| text.parse());
        let target_qos = target_qos.map_err(|e| DefinitionError(format!("{}: {e}", qos.at("target"))))?;
        qos.end()?;
        let time = Times::read(section.below("time")?)?;
        section.end()?;
        Ok(Experiment {
            target,
            kind,
            workload,
            generator,
            generator_cpus,
            knobs,
            probes,
            load,
            qos: target_qos,
            time,
        })
    }

    /// Everything about it, for the record.
    pub fn to_json(&self) -> Value {
        let Experiment { target, .. } = self;
        json!({
            "target": {
                "server": target.server.to_string(),
                "form": target.form.name(),
                "threads": target.threads,
                "instances": target.instances,
                "cpus": target.cpus.to_string(),
                "device": target.device,
                "memory": target.memory.to_string(),
                "args": target.args,
                "binary": target.binary,
                "files-in": target.files_in.to_string(),
            },
            "kind": self.kind.name(),
            "workload": self.workload,
            "generator": self.generator,
            "generator_cpus": self.generator_cpus.as_ref().map(ToString::to_string),
            "knobs": self.knobs,
            "probes": self.probes.to_string(),
            "load": self.load.to_string(),
            "qos": self.qos.to_string(),
            "time": {
                "warmup_s": self.time.warmup.as_secs_f64(),
                "window_s": self.time.window.as_secs_f64(),
                "search_s": self.time.search.as_secs_f64(),
            },
        })
    }

    /// What a server, its generator and the host must have in common to be one bench: all but the load, the target
    /// and the times.
    pub(super) fn bench_key(&self) -> String {
        let mut whole = self.to_json();
        for part in ["load", "qos", "time"] {
            whole.as_object_mut().and_then(|object| object.remove(part));
        }
        whole["loop"] = json!(self.load == Offer::Closed);
        whole.to_string()
    }

    /// The words that the generator gets, without those that the laboratory sets.
    pub(super) fn generator_words(&self) -> Vec<String> {
        let words = self.workload.iter().chain(&self.generator);
        let mut words: Vec<String> = words
            .flat_map(|(name, value)| match value.as_str() {
                "true" => vec![format!("--{name}")],
                "false" => Vec::new(),
                value => vec![format!("--{name}"), value.to_owned()],
            })
            .collect();
        if self.load == Offer::Closed {
            words.push("--closed".into());
        }
        words
    }

    /// What its server serves, and the words that say so to the generator where nobody did; `None` where a server of
    /// ours serves no files.
    pub(super) fn files(&self, words: &mut Vec<String>) -> Result<Option<Files>, crate::Error> {
        match self.target.server {
            TargetName::Nginx => Ok(Some(Files::asked_for(words, &self.target.files_in)?)),
            _ => Ok(None),
        }
    }
}

/// Options with their values.
fn options(section: Section, known: &[String]) -> Result<BTreeMap<String, String>, DefinitionError> {
    let place = section.place().to_owned();
    let mut options = BTreeMap::new();
    for (name, value) in section.rest() {
        let at = format!("{place}.{name}");
        // As the command line has it; a reader of TOML may prefer underscores.
        let name = name.replace('_', "-");
        if SET_BY_THE_LAB.contains(&name.as_str()) {
            let hint = "it is set for each trial; see the sections [load] and [time]";
            return Err(DefinitionError(format!("{at}: {hint}")));
        }
        if !known.contains(&name) {
            return Err(unknown(&at, &name, known.iter().map(String::as_str)));
        }
        let text = match &value {
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(flag) => flag.to_string(),
            toml::Value::Float(number) => number.to_string(),
            _ => return Err(DefinitionError(format!("{at}: write a text, a number, true or false"))),
        };
        if let Some((_, example)) = NEEDS_UNIT.iter().find(|(option, _)| *option == name)
            && text.chars().all(|c| c.is_ascii_digit() || c == '.')
        {
            return Err(DefinitionError(format!("{at}: {text} has no unit; write it as \"{example}\"")));
        }
        options.insert(name, text);
    }
    Ok(options)
}

impl Offer {
    fn read(mut section: Section) -> Result<Offer, DefinitionError> {
        let share = section.share("share")?;
        let of = section.text("of")?;
        let rate: Option<Rate> = section.quantity("rate", "50krps")?;
        let closed = section.flag("closed")?;
        let find = section.text("find")?;
        let (apply, restart) = (section.count("apply")?, section.count("restart")?);
        let place = section.place().to_owned();
        section.end()?;
        let wrong = |problem: &str| Err(DefinitionError(format!("{place}: {problem}")));
        // A form may say how often what is applied is applied; what is restarted is none of it.
        let cost = restart.map(Offer::Restart).or(apply.map(Offer::Apply));
        let given = [share.is_some(), rate.is_some(), closed, find.is_some(), cost.is_some()];
        if given.iter().filter(|given| **given).count() > 1 {
            return wrong("only one of share, rate, closed, find, apply and restart can be meant");
        }
        if of.is_some() && share.is_none() {
            return wrong("'of' says whose maximum a share refers to; there is no share");
        }
        if let Some(cost) = cost {
            return Ok(cost);
        }
        match (share, rate, closed, find.as_deref()) {
            (Some(share), ..) => Ok(Offer::Share { share, of }),
            (_, Some(rate), ..) => Ok(Offer::Rate(rate)),
            (_, _, true, _) => Ok(Offer::Closed),
            (.., Some("maximum")) => Ok(Offer::Maximum),
            (.., Some("peak")) => Ok(Offer::Peak),
            (.., Some(_)) => wrong("find is \"maximum\" or \"peak\""),
            // What the axis sets, or half of what can be had.
            (None, None, false, None) => Ok(Offer::Share { share: 0.5, of: None }),
        }
    }
}

impl std::fmt::Display for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Offer::Share { share, of: None } => write!(f, "{} % of its own maximum", percent(*share)),
            Offer::Share { share, of: Some(of) } => write!(f, "{} % of the maximum of {of}", percent(*share)),
            Offer::Rate(rate) => rate.fmt(f),
            Offer::Closed => f.write_str("closed loop"),
            Offer::Maximum => f.write_str("maximum throughput"),
            Offer::Peak => f.write_str("peak throughput under QoS"),
            Offer::Apply(times) => write!(f, "{times} applications of the knobs"),
            Offer::Restart(times) => write!(f, "{times} restarts of the server"),
        }
    }
}

/// A share in per cent without the noise of binary fractions.
fn percent(share: f64) -> f64 {
    (1e4 * share).round() / 1e2
}

impl Times {
    fn read(mut section: Section) -> Result<Times, DefinitionError> {
        let mut time = |key, default: Duration| -> Result<Duration, DefinitionError> {
            Ok(section.quantity::<Nanos>(key, "2s")?.map_or(default, Duration::from))
        };
        let warmup = time("warmup", Duration::from_millis(500))?;
        let window = time("window", Duration::from_secs(5))?;
        let search = time("search", Duration::from_secs(1))?;
        section.end()?;
        Ok(Times { warmup, window, search })
    }
}

#[cfg(test)]
mod tests;
