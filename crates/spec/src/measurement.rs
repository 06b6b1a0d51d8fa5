use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use units::Qos;

use crate::text::exact;
use crate::{Generator, Knob, Load, Preset, ProbeSet, SpecError, Target, Time, Workload};

/// One measurement.
///
/// Shape: in a file one section for each field, with the names of the command line's options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Spec {
    /// The server.
    pub target: Target,
    /// The requests that are sent to it.
    pub workload: Workload,
    /// The offered load.
    pub load: Load,
    /// How the load is generated.
    pub generator: Generator,
    /// Knobs of the server's machine, set during the load.
    #[schemars(extend("x-source" = "ours, because nothing on a machine is changed unless it is asked for"))]
    pub knobs: Vec<Knob>,
    /// Knobs of the generators' machines (the agents' machines, or this one), set during the load.
    #[schemars(extend("x-source" = "ours, because nothing on a machine is changed unless it is asked for"))]
    pub client_knobs: Vec<Knob>,
    /// Probes that observe the load.
    #[schemars(extend("x-source" = "ours, because looking costs the server processor time (docs/reference/probes.md)"))]
    pub probes: ProbeSet,
    /// The QoS target that response times are judged by.
    pub qos: QosTarget,
    /// The durations of a trial's parts.
    pub time: Time,
    /// The seed of arrivals, keys, sizes and operations; the same seed gives the same requests.
    #[schemars(extend("x-source" = "ours, because any number does, and the same one repeats the requests"))]
    pub seed: u64,
}

impl Default for Spec {
    fn default() -> Spec {
        Spec {
            target: Target::default(),
            workload: Workload::default(),
            load: Load::default(),
            generator: Generator::default(),
            knobs: Vec::new(),
            client_knobs: Vec::new(),
            probes: ProbeSet::default(),
            qos: QosTarget::default(),
            time: Time::default(),
            seed: 1,
        }
    }
}

/// The QoS target that response times are judged by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct QosTarget {
    /// The quality-of-service target: `p99<1ms`; of viewers `startup<2s,rebuffer<1%,misses<1%`; of users of a social network `within>=95%`; of visitors of movies the p99 of each query.
    #[serde(with = "exact")]
    #[schemars(with = "String")]
    #[schemars(extend("x-source" = "IISWC'17 §III-B: 1 ms for the 99th percentile of Memcached, 20 ms for NGINX's; ISPASS'16 §IV-C.1: 1 to 2 ms; of sessions, from a start-up delay of 2 s on viewers begin to leave (Krishnan and Sitaraman, IMC'12), and 1 % is ours, because a p99 leaves as much; of users, ISPASS'16 §IV-B3 has 95 % of all operations within their limits"))]
    pub target: Qos,
}

impl From<Qos> for QosTarget {
    fn from(target: Qos) -> QosTarget {
        QosTarget { target }
    }
}

impl Spec {
    /// The form written to a file, without absent fields.
    pub fn to_json(&self) -> Value {
        // Every part of it is a text, a number, a flag or a list of them.
        without_null(serde_json::to_value(self).expect("a specification is always JSON"))
    }

    /// Connections that a server must accept at once: the generator's, or one for each session.
    pub fn connections(&self) -> usize {
        self.workload.connections(&self.load).unwrap_or(self.generator.connections) as usize
    }

    /// Sets the fields that a preset names to their published values, except those for which `is_given` is true. It
    /// takes the name of the option, such as `key-size`.
    ///
    /// Errors: a value that its field does not take.
    pub fn apply(&mut self, preset: &Preset, is_given: impl Fn(&str) -> bool) -> Result<(), SpecError> {
        let mut whole = self.to_json();
        for parameter in preset.parameters {
            let name = parameter.option.trim_start_matches('-');
            if is_given(name) {
                continue;
            }
            let section = match name {
                "warmup" | "window" => "time",
                "connections" | "arrivals" => "generator",
                _ => "workload",
            };
            whole[section][name] = parameter.value.into();
        }
        // The workload is named, and the target is not looked at again.
        *self = Spec::read(whole, &|_| Ok(Vec::new()))?;
        Ok(())
    }

    /// The fields that have the preset's value: name, and source of the value.
    pub fn sources(&self) -> BTreeMap<&'static str, &'static str> {
        let Some(preset) = self.workload.preset() else { return BTreeMap::new() };
        let mut published = self.clone();
        published.apply(&preset, |_| false).expect("a test reads the values of all presets");
        let (own, published) = (self.to_json(), published.to_json());
        let same = |name: &str| {
            ["workload", "generator", "time"]
                .iter()
                .any(|section| own[section].get(name).is_some_and(|value| *value == published[section][name]))
        };
        let named = preset.parameters.iter().map(|p| (p.option.trim_start_matches('-'), p.source));
        named.filter(|(name, _)| same(name)).collect()
    }
}

fn without_null(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k, without_null(v))).collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;
    use crate::workload::{Cache, Facts, Social, Video, Web};

    fn parsed<T: Args>(line: &str) -> T {
        let command = T::augment_args(Command::new("x").no_binary_name(true));
        let matches = command.try_get_matches_from(line.split_whitespace()).unwrap();
        T::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn the_command_line_has_the_same_defaults() {
        assert_eq!(parsed::<Time>(""), Time::default());
    }

    #[test]
    fn options_and_keys_have_the_same_names() {
        let check = |command: Command, value: Value, prefix: &str, apart: &[&str]| {
            let options: Vec<String> = command
                .get_arguments()
                .filter_map(|arg| arg.get_long())
                .map(|long| long.strip_prefix(prefix).unwrap_or(long))
                // One at a time on the command line, a list in a file.
                .map(|name| if name == "arg" { "args".to_owned() } else { name.to_owned() })
                .collect();
            let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
            let missing = |name: &&String| !apart.contains(&name.as_str());
            assert!(options.iter().all(|option| keys.contains(&option)), "{options:?} {keys:?}");
            assert!(
                keys.iter().filter(|k| missing(k)).all(|key| options.contains(key)),
                "{options:?} {keys:?}"
            );
        };
        fn value<T: Serialize + Default>() -> Value {
            serde_json::to_value(T::default()).unwrap()
        }
        let command = || Command::new("x");
        check(Cache::augment_args(command()), value::<Cache>(), "", &[]);
        check(Web::augment_args(command()), value::<Web>(), "", &[]);
        check(Video::augment_args(command()), value::<Video>(), "", &[]);
        check(Social::augment_args(command()), value::<Social>(), "", &[]);
        check(Generator::augment_args(command()), value::<Generator>(), "", &[]);
        check(Target::augment_args(command()), value::<Target>(), "server-", &["server", "device"]);
        check(Time::augment_args(command()), value::<Time>(), "", &["search"]);
    }

    #[test]
    fn viewers_are_held_to_a_start_that_a_server_can_give_them() {
        let check = |line: &str, startup: &str| {
            let target = parsed::<Video>(line).usual_qos().target;
            assert_eq!(target, format!("startup<{startup},rebuffer<1%,misses<1%").parse().unwrap(), "{line}");
        };
        check("", "10s");
        check("--bandwidth off", "2s");
        check("--speed 20", "500ms");
        // Each chunk takes up to 8 s, one after the other.
        check("--resume-with 2", "18s");
        check("--resume-with 3", "26s");
        check("--resume-with 3 --pacing player", "26s");
        check("--resume-with 3 --bandwidth off", "2s");
        check("--resume-with 2 --bandwidth pace --speed 2", "9s");
        // The second is due at 10 s, and the third at 20 s; in a closed loop the third is requested 10 s after 16 s.
        check("--resume-with 2 --ahead 1", "20s");
        check("--resume-with 3 --ahead 1", "30s");
        check("--resume-with 3 --ahead 1 --bandwidth off", "22s");
        check("--resume-with 3 --ahead 1 --pacing closed", "36s");
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut spec = Spec::default();
        let check = |spec: &Spec| {
            let text = serde_json::to_string(&spec.to_json()).unwrap();
            assert_eq!(
                Spec::read(serde_json::from_str(&text).unwrap(), &|_| Ok(Vec::new())).unwrap(),
                *spec,
                "{text}"
            );
            assert_eq!(serde_json::from_value::<Spec>(spec.to_json()).unwrap(), *spec, "{text}");
        };
        check(&spec);
        let line = "--keys 5 --mix get:90,mget(uniform:2..20):10 --expiry 60 --verify --data-set f --scale 30x,tail:0.915";
        let line = line.replace("--keys 5 ", "");
        spec.workload = Workload::Cache(Box::new(parsed(&line)));
        spec.load = Load::Share { share: 0.855, of: Some("A @ 50%".into()) };
        check(&spec);
        spec.workload =
            Workload::Web(Box::new(parsed("--files 10xweb --files-seed 3 --body-size 1KiB --header a:b")));
        check(&spec);
        let line = "--videos 40x1/160 --popularity uniform --mix cloudsuite --late kill --abandon imc12 --speed 20 \
                    --chunk-timeout 1500ms --pacing player --bandwidth off --max-sessions 50 --verify";
        spec.workload = Workload::Video(Box::new(parsed(line)));
        check(&spec);
        let line = "--protocol hls --playlist http://h:8080/a/master.m3u8 --resume-with 2";
        spec.workload = Workload::Video(Box::new(parsed(line)));
        check(&spec);
        let line = "--users 10k --users-seed 7 --mix login:5,logout:5,home:10,live-feed:80 --limits home:500ms --ajax 23% \
                    --think-time 1500ms --operations 10 --site elgg --assets never --cache primed --max-sessions 50";
        spec.workload = Workload::Social(Box::new(parsed(line)));
        spec.qos = spec.workload.usual_qos();
        spec.load = Load::Rate("20k".parse().unwrap());
        spec.generator =
            parsed("--cpus 0,2-3 --arrivals etc+ramp:0..1/10s --think 1500us --agents a:1,b:2 --pace sleep");
        spec.target =
            parsed("--server-memory 64MiB --server-cpus cores:4 --form lxc --files-in /x --reset never");
        spec.target.args = vec!["-o".into(), "x".into()];
        spec.target.set = vec!["gzip=6".into()];
        spec.knobs = vec!["smt=off".parse().unwrap()];
        spec.client_knobs = vec!["profile=cache-client".parse().unwrap(), "swap=off".parse().unwrap()];
        spec.probes = "io,stages".parse().unwrap();
        spec.qos = "raw p99.9<5ms".parse::<Qos>().unwrap().into();
        spec.target.server = "nginx".parse().unwrap();
        check(&spec);
        spec.target.server = "127.0.0.1:7".parse().unwrap();
        spec.workload = Workload::Null(Box::default());
        for load in [Load::Closed, Load::Trace, Load::Maximum, Load::Peak, Load::Apply(3), Load::Restart(4)] {
            spec.load = load;
            check(&spec);
        }
    }

    #[test]
    fn a_preset_gives_what_was_not_given() {
        let mut spec = Spec::default();
        spec.apply(&"ancs19-read".parse().unwrap(), |name| name == "keys").unwrap();
        let Workload::Cache(cache) = &spec.workload else { panic!() };
        assert_eq!((cache.keys, spec.generator.connections), (100_000, 384));
        assert_eq!(spec.time.window, units::Nanos::from_secs(50));
        for preset in Preset::ALL.iter().filter(|preset| !preset.is_refused()) {
            let mut spec = Spec::default();
            if let Workload::Cache(cache) = &mut spec.workload {
                cache.preset = Some(*preset);
            }
            spec.apply(preset, |_| false).unwrap();
            let named: Vec<&str> =
                preset.parameters.iter().map(|p| p.option.trim_start_matches('-')).collect();
            assert!(named.iter().all(|name| spec.sources().contains_key(name)), "{}", preset.name);
        }
    }

    #[test]
    fn a_source_is_named_of_what_is_the_presets() {
        let mut spec =
            Spec::read(serde_json::json!({ "workload": { "preset": "ycsb-b", "keys": 7 } }), &|_| {
                Ok(Vec::new())
            })
            .unwrap();
        let sources = spec.sources();
        assert!(sources.contains_key("mix") && !sources.contains_key("keys"), "{sources:?}");
        spec.workload = Workload::default();
        assert!(spec.sources().is_empty());
    }
}
