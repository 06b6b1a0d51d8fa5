//! The smaller parts of a service in `app.toml`: its program, arguments and files, its counters, checks and stores.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::seeded::Seeded;

/// The program of a service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Program {
    /// Its file name, which is looked up in `PATH` and in an image.
    pub name: String,
    /// Whether it is built from the application's sources: it is looked up in the folders of built programs.
    #[serde(default)]
    pub built: bool,
    /// Further folders that it is looked up in.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
    /// A server that this program brings along: it is started as `taillight serve NAME`. A build of the user's whose file
    /// name begins with `name` takes the arguments without those two words.
    pub embedded: Option<String>,
    /// The Debian package that has it.
    pub package: Option<String>,
    /// Further programs and files that it needs, with their packages.
    #[serde(default)]
    pub also: Vec<Beside>,
    /// The image that podman and docker run in place of the program that is found here.
    pub image: Option<String>,
    /// How its version is read.
    pub version: Option<Version>,
}

/// A file or a program that another program needs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Beside {
    /// The path of a file, or a name to look up in `PATH`.
    pub file: String,
    /// The Debian package that has it.
    pub package: String,
    /// Whether it is needed, as an expression over the settings of the application; without it it is.
    pub when: Option<String>,
}

/// How a program tells its version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Version {
    /// The arguments that ask for it.
    pub args: Vec<String>,
    /// A regular expression whose first group is the version, matched against each output line.
    pub pattern: String,
    /// A regular expression whose first group holds the words that say how it was built.
    pub build: Option<String>,
}

/// One or several arguments.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    /// One, as a template.
    One(String),
    /// Several, under a condition.
    When(WhenArguments),
}

/// Arguments under a condition.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhenArguments {
    /// The condition, as an expression.
    pub when: String,
    /// The arguments, as templates.
    pub args: Vec<String>,
}

/// The account of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Account {
    /// The unprivileged account, `nobody`.
    Nobody,
}

/// A resource that a service must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// A folder of files to serve.
    Files,
    /// The description of a set of videos, whose files are computed.
    Videos,
    /// The users of a social network, whose data fill a store.
    People,
    /// The data set of the application.
    Data,
}

/// A file, or a folder of files, in the folder of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    /// Its path in the folder.
    pub path: String,
    /// The template that it is made of, in the folder of the application.
    pub template: Option<String>,
    /// The file of an npm package to copy, `hls.js/dist/hls.min.js`; left out if the package is not installed.
    pub npm: Option<String>,
    /// The folder of the description to copy, with all its content.
    pub folder: Option<String>,
    /// Whether only its service may read it.
    #[serde(default)]
    pub private: bool,
    /// Whether the result records it as the configuration.
    #[serde(default)]
    pub record: bool,
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Command {
    /// The program: a path, or a name to look up in `PATH`; a template.
    pub program: String,
    /// Its arguments, as templates.
    #[serde(default)]
    pub args: Vec<String>,
}

/// Counters of a service, and how they are read: one of `send`, `http`, `command` and `thrift`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Counters {
    /// Bytes that are sent to its first address.
    pub send: Option<Send>,
    /// A path at its first address, as a template, read by a GET.
    pub http: Option<String>,
    /// A program that prints them.
    pub command: Option<Command>,
    /// The method that returns them at its first address, in Thrift's framed binary protocol; it answers a map of
    /// numbers.
    pub thrift: Option<String>,
    /// Regular expressions that are looked for in the answer, everywhere: the groups `name` and `value` give one counter
    /// for each match; other named groups are counters of their names. Without any the answer is JSON, whose numbers are
    /// counters by their paths.
    #[serde(default)]
    pub patterns: Vec<String>,
    /// Names of counters that are gauges: no growth is recorded for them.
    #[serde(default)]
    pub gauges: Vec<String>,
}

/// Bytes that a service answers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Send {
    /// The bytes, as text.
    pub text: String,
    /// The line that ends the answer.
    pub until: String,
}

/// A condition that must hold before a service is started.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Check {
    /// A condition, as an expression.
    pub holds: String,
    /// Message for a failed check: the problem and its remedy, as a template.
    pub message: String,
}

/// Further arguments of a user's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Arguments {
    /// Options with a value that change how it serves and touch no file, port or account: an agent takes them from a
    /// coordinator.
    pub harmless: Vec<String>,
    /// Options of that kind without a value. Letters behind a short one are further options, which are not taken.
    pub harmless_flags: Vec<String>,
    /// Of an option whose value is a list with commas: the names that may stand in it.
    pub lists: BTreeMap<String, Vec<String>>,
}

/// A store of an application's data.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Store {
    /// Its name.
    pub name: String,
    /// The service that keeps it.
    pub service: String,
    /// How it is filled once its service is ready.
    pub fill: Option<StoreAction>,
    /// How it is brought back to the state after the fill.
    pub reset: Option<StoreAction>,
    /// The data that it begins with, which are made once and kept.
    pub seed: Option<Seeded>,
}

/// An action on a store: one of `send` and `command`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StoreAction {
    /// Bytes that are sent to the first address of its service, and the line that it must answer.
    pub send: Option<Send>,
    /// A program that runs to its end, with arguments that are templates of its service.
    pub command: Option<Command>,
}

impl Arguments {
    /// The first of `words` that is not an option of `harmless` or its value.
    pub(crate) fn first_harmful<'a>(&self, words: &'a [String]) -> Option<&'a str> {
        let mut before = "";
        for word in words {
            let (option, value) = match word.get(..2) {
                Some("--") => word.split_once('=').unwrap_or((word, "")),
                Some(option) if word.starts_with('-') => (option, &word[2..]),
                _ => (before, word.as_str()),
            };
            if value.is_empty() && self.harmless_flags.iter().any(|flag| flag == option) {
                before = "";
                continue;
            }
            if !self.harmless.iter().any(|harmless| harmless == option) {
                return Some(word);
            }
            let of_list = |names: &Vec<String>| {
                value
                    .split(',')
                    .all(|one| names.iter().any(|name| name == one.split('=').next().unwrap_or_default()))
            };
            if !value.is_empty() && !self.lists.get(option).is_none_or(of_list) {
                return Some(word);
            }
            before = if value.is_empty() { option } else { "" };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn options_that_touch_more_than_the_server_are_found() {
        let check = |app: &str, line: &str, expect: Option<&str>| {
            let app = crate::of_name(app).unwrap();
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let arguments = app.services[0].arguments.clone().unwrap();
            assert_eq!(arguments.first_harmful(&words), expect, "{line}");
        };
        check("memcached", "", None);
        check("memcached", "-o no_lru_maintainer,hashpower=20 -R 20", None);
        check("memcached", "-ohashpower=20 -R200 -F", None);
        // getopt(3) reads further options in the same word.
        check("memcached", "-MP/etc/x", Some("-MP/etc/x"));
        check("memcached", "-M x", Some("x"));
        for word in ["-P", "-P/etc/x", "-e", "-u", "-s/tmp/x", "-l", "--pidfile", "x", "--", "-", ""] {
            check("memcached", &format!("-f 5 {word}"), Some(word).filter(|word| !word.is_empty()));
        }
        check("memcached", "-o ext_path=/x:1G", Some("ext_path=/x:1G"));
        check("memcached", "-omemory_file=/x", Some("-omemory_file=/x"));
        check("memcached", "-o ,x", Some(",x"));
        check("memcached", "-f 5 6", Some("6"));
        check("sphinx", "--sharing=read --io epoll --no-irq-cpus", None);
        for word in
            ["--pidfile=/x", "--config=/x", "-u=root", "--listen=0.0.0.0", "--metrics=0.0.0.0:1", "-p"]
        {
            check("sphinx", word, Some(word));
        }
    }
}
