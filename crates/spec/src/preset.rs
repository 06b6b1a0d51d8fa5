//! Published loads, each as the options that repeat it.
//!
//! A preset is data: its options can be typed one by one as well, and each value names its source. A value without a
//! source is called a free choice.
//!
//! Try it: `cargo test -p spec preset`.

use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;

/// A published load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name on the command line.
    pub name: &'static str,
    /// A summary in one line.
    pub summary: &'static str,
    /// The options that it sets, in the syntax of the command line; none if a cache cannot serve it.
    pub parameters: &'static [Parameter],
    /// A caution for comparisons of its figures with the published ones, which may be empty; or why a cache cannot serve it.
    pub note: &'static str,
}

/// One option that a preset sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The option, such as `--key-size`.
    pub option: &'static str,
    /// Its value, as it is typed.
    pub value: &'static str,
    /// The source of the value.
    pub source: &'static str,
}

const fn set(option: &'static str, value: &'static str, source: &'static str) -> Parameter {
    Parameter { option, value, source }
}

const ETC: &str = "Atikoglu et al., SIGMETRICS 2012, table 5";
const YCSB: &str = "YCSB, Cooper et al., SoCC 2010";
const YCSB_RECORD: &str = "YCSB: 10 fields of 100 B";
const YCSB_KEY: &str = "YCSB: user and a hash of up to 19 digits";
const YCSB_KEYS: &str = "free choice; YCSB's files name 1 000 and leave the number to the user";
const YCSB_ZIPF: &str = "YCSB's constant; scrambled, as all ranks are here";
const ISPASS: &str = "ISPASS'16 §VI-C";
const IISWC: &str = "IISWC'17 §III-C";
const IISWC_ITEMS: &str = "IISWC'17 §III-B";
const ANCS: &str = "ANCS'19 §IV-B";
const MUTILATE: &str = "mutilate's default; the paper names none";

/// The options of a YCSB workload; the presets differ only in mix and popularity.
macro_rules! ycsb {
    ($mix:literal, $words:literal, $popularity:literal, $why:expr) => {
        &[
            set("--keys", "1000000", YCSB_KEYS),
            set("--key-size", "fixed:23", YCSB_KEY),
            set("--value-size", "fixed:1000", YCSB_RECORD),
            set("--popularity", $popularity, $why),
            set("--mix", $mix, concat!("YCSB, Cooper et al., SoCC 2010: ", $words)),
        ]
    };
}

const MEMLOADER: &[Parameter] = &[
    set("--keys", "5000000", ISPASS),
    set("--key-size", "fixed:40", ISPASS),
    set("--value-size", "fixed:500", ISPASS),
    set("--popularity", "uniform", ISPASS),
    set("--mix", "get:80,set:20", ISPASS),
    set("--connections", "600", ISPASS),
    set("--arrivals", "poisson", "free choice; the paper names none"),
];

const ANCS_NOTE: &str = "the paper's generator is a closed loop at depth 1, with 24 to 384 connections, 50 s five times; its \
     response times leave out what a closed loop omits";

/// Parameters that all these presets share.
macro_rules! ancs19 {
    ($mix:literal) => {
        &[
            set("--keys", "10000", MUTILATE),
            set("--key-size", "fixed:30", ANCS),
            set("--value-size", "fixed:200", ANCS),
            set("--popularity", "uniform", MUTILATE),
            set("--mix", $mix, ANCS),
            set("--connections", "384", "ANCS'19 §IV-B: 24 threads of up to 16"),
            set("--window", "50s", ANCS),
        ]
    };
}

/// How the presets differ from YCSB.
const YCSB_NOTE: &str =
    "YCSB is a closed loop with a target rate; here its operations arrive open loop, by --arrivals";

impl Preset {
    /// Every preset.
    pub const ALL: [Preset; 13] = [
        Preset {
            name: "etc",
            summary: "Facebook's ETC pool: small keys, values with a long tail, uneven gaps",
            parameters: &[
                set("--keys", "1000000", "free choice; the study names none"),
                set("--key-size", "etc-key", ETC),
                set("--value-size", "etc-value", ETC),
                set(
                    "--popularity",
                    "zipf:0.99",
                    "free choice: the study shows a skew without a formula; YCSB's constant",
                ),
                set(
                    "--mix",
                    "get:96.775,set:3.225",
                    "Atikoglu et al., SIGMETRICS 2012: 30 GETs for each SET",
                ),
                set("--arrivals", "etc", ETC),
            ],
            note: "check values: mean key 36.2 B, mean value 194 B, mean gap 18.97 µs at 52.7 krps; the gaps keep their \
                 shape at any rate. Two equal entries of table 5, for values of 9 and 10 B, look like a misprint",
        },
        Preset {
            name: "ycsb-a",
            summary: "YCSB A, update heavy: a session store",
            parameters: ycsb!("get:50,set:50", "read 50 %, update 50 %", "zipf:0.99", YCSB_ZIPF),
            note: YCSB_NOTE,
        },
        Preset {
            name: "ycsb-b",
            summary: "YCSB B, read mostly: photo tags",
            parameters: ycsb!("get:95,set:5", "read 95 %, update 5 %", "zipf:0.99", YCSB_ZIPF),
            note: YCSB_NOTE,
        },
        Preset {
            name: "ycsb-c",
            summary: "YCSB C, read only: a cache of profiles",
            parameters: ycsb!("get:100", "read 100 %", "zipf:0.99", YCSB_ZIPF),
            note: YCSB_NOTE,
        },
        Preset {
            name: "ycsb-d",
            summary: "YCSB D, read latest: status updates",
            parameters: ycsb!("get:95,insert:5", "read 95 %, insert 5 %", "latest:0.99", YCSB),
            note: YCSB_NOTE,
        },
        Preset {
            name: "ycsb-e",
            summary: "YCSB E, short ranges: threaded conversations",
            parameters: &[],
            note: "95 % of its operations scan a range of keys, and a cache keeps its keys in no order; for many keys in \
                 one request use --mix 'mget(uniform:1..100):95,insert:5', which is another load",
        },
        Preset {
            name: "ycsb-f",
            summary: "YCSB F, read-modify-write: a user database",
            parameters: ycsb!("get:50,cas:50", "read 50 %, read-modify-write 50 %", "zipf:0.99", YCSB_ZIPF),
            note: "a read-modify-write is a gets and a cas, so a value that changed in between is read again; YCSB itself \
                 writes without looking, in a closed loop with a target rate",
        },
        Preset {
            name: "twitter",
            summary: "a Twitter-like data set, as of CloudSuite's data caching",
            parameters: &[
                set("--data-set", "twitter", "made from the figures of CloudSuite's file"),
                set("--mix", "get:80,set:20", "CloudSuite's documentation: -g 0.8"),
                set("--arrivals", "poisson", "CloudSuite's loader with -e"),
            ],
            note: "CloudSuite scales it 30 times, to about 10 GB: --scale 30x,tail:0.915. Its loader sends half of all \
                 requests to one key, which this one does not",
        },
        Preset {
            name: "memloader",
            summary: "object caching as measured in ISPASS'16",
            parameters: MEMLOADER,
            note: "the paper sent 860 krps over 600 connections to 6 cores, with 1 ms as the target of each request",
        },
        Preset {
            name: "cloudsuite",
            summary: "another name for memloader",
            parameters: MEMLOADER,
            note: "the load of the paper; for the data set of CloudSuite's files see twitter",
        },
        Preset {
            name: "iiswc17",
            summary: "Memcached as measured in IISWC'17",
            parameters: &[
                set("--keys", "6400000", IISWC_ITEMS),
                set("--key-size", "fixed:30", IISWC_ITEMS),
                set("--value-size", "fixed:200", IISWC_ITEMS),
                set(
                    "--popularity",
                    "uniform",
                    "mutilate's; the paper names Zipf for NGINX and none for Memcached",
                ),
                set("--mix", "get:100", IISWC),
                set("--arrivals", "poisson", IISWC),
                set("--window", "2m", IISWC),
            ],
            note: "QoS p99 ≤ 1 ms; about 1.5 GB in memcached",
        },
        Preset {
            name: "ancs19-read",
            summary: "Sphinx against Memcached in ANCS'19, reads",
            parameters: ancs19!("get:100"),
            note: ANCS_NOTE,
        },
        Preset {
            name: "ancs19-update",
            summary: "Sphinx against Memcached in ANCS'19, updates",
            parameters: ancs19!("set:100"),
            note: ANCS_NOTE,
        },
    ];

    /// Whether a cache cannot serve it.
    pub fn is_refused(&self) -> bool {
        self.parameters.is_empty()
    }
}

impl std::fmt::Display for Preset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name)
    }
}

impl FromStr for Preset {
    type Err = ParseError;

    /// Finds a preset by its name. Errors: the name is unknown, or a cache cannot serve the preset, and why.
    fn from_str(text: &str) -> Result<Preset, ParseError> {
        let error = |problem: String| ParseError {
            what: "preset",
            given: text.into(),
            problem,
            hint: "write etc, ycsb-a to ycsb-d, ycsb-f, twitter, memloader, iiswc17, ancs19-read or ancs19-update",
        };
        match Preset::ALL.into_iter().find(|preset| preset.name == text.trim()) {
            Some(preset) if preset.is_refused() => Err(error(preset.note.into())),
            Some(preset) => Ok(preset),
            None => Err(error("there is none of this name".into())),
        }
    }
}

as_text! { Preset; }

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use units::Nanos;

    use super::*;
    use crate::workload::Mix;
    use crate::{ArrivalSpec, Popularity, Size};

    #[test]
    fn every_value_can_be_typed() {
        for preset in Preset::ALL {
            for Parameter { option, value, source } in preset.parameters {
                let reads = match *option {
                    "--key-size" | "--value-size" => value.parse::<Size>().is_ok(),
                    "--popularity" => value.parse::<Popularity>().is_ok(),
                    "--arrivals" => value.parse::<ArrivalSpec>().is_ok(),
                    "--keys" | "--connections" => value.parse::<u64>().is_ok(),
                    "--window" => value.parse::<Nanos>().is_ok(),
                    "--data-set" => *value == "twitter",
                    "--mix" => value.parse::<Mix>().is_ok(),
                    _ => false,
                };
                assert!(reads && !source.is_empty(), "{}: {option} {value}", preset.name);
            }
        }
    }

    #[test]
    fn is_found_by_its_name_or_refused() {
        let names: HashSet<&str> = Preset::ALL.iter().map(|preset| preset.name).collect();
        assert_eq!(names.len(), Preset::ALL.len());
        for preset in Preset::ALL.iter().filter(|preset| !preset.is_refused()) {
            assert_eq!(&preset.name.parse::<Preset>().unwrap(), preset);
            assert!(!preset.parameters.is_empty() && !preset.summary.is_empty());
        }
        let error = |name: &str| name.parse::<Preset>().unwrap_err().to_string();
        assert!(error("ycsb-e").contains("scan a range of keys"));
        assert!(error("ycsb-g").contains("none of this name"));
    }
}
