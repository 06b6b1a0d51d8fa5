use std::path::Path;

use units::Nanos;

use crate::{Generator, Load, Preset, QosTarget, Time};

/// Properties of a workload that decide how it is measured. The defaults are for stateless requests and answers.
pub trait Facts {
    /// Whether its arrivals are sessions: each owns a connection and sends one step after the other, and is judged by
    /// its user's experience.
    fn has_sessions(&self) -> bool {
        false
    }

    /// Whether its servers speak HTTP and are named by URLs.
    fn is_http(&self) -> bool {
        false
    }

    /// The protocols that TLS offers to its servers (ALPN); the server has to select the first. Empty: no negotiation.
    fn alpn(&self) -> &'static [&'static str] {
        &[]
    }

    /// The target to use if the command line names no target; `None`: the command's default. `has` tells whether a
    /// program is installed.
    fn usual_target(&self, _has: &dyn Fn(&str) -> bool) -> Option<String> {
        None
    }

    /// The published load that it names.
    fn preset(&self) -> Option<Preset> {
        None
    }

    /// Whether its requests come from a trace, which has a rate of its own.
    fn replays(&self) -> bool {
        false
    }

    /// The default QoS target.
    fn usual_qos(&self) -> QosTarget {
        QosTarget::default()
    }

    /// The default durations of a trial.
    fn usual_time(&self) -> Time {
        Time::default()
    }

    /// Why it cannot be offered by this load and generator, with a way out.
    fn refuses(&self, load: &Load, _generator: &Generator) -> Option<String> {
        let is_closed = self.has_sessions() && *load == Load::Closed;
        is_closed.then(|| {
            "--closed: sessions arrive at their own times; use --rate 2 for two a second, and see --pacing for what is closed \
             within a session"
                .into()
        })
    }

    /// Uses the protocol of the target, unless another one was given.
    fn speak(&mut self, _protocol: super::Protocol) {}

    /// Agrees to store items in the servers, which were started for the run.
    fn agree(&mut self) {}

    /// Items that are stored before a load.
    fn items(&self) -> u64 {
        0
    }

    /// Users who log in before a load at `sessions_per_s`, or of a closed loop of this generator; not a whole number, since
    /// the mean number of sessions is none.
    fn logins(&self, _sessions_per_s: Option<f64>, _generator: &Generator) -> f64 {
        0.0
    }

    /// Users whose data are read into a site's cache before a load.
    fn primed(&self) -> u32 {
        0
    }

    /// The longest that a step may take: this long after a window, the result of its last step is known.
    fn longest_step(&self) -> Nanos {
        Nanos::ZERO
    }

    /// Connections that a server must accept at once; `None`: the generator's.
    fn connections(&self, _load: &Load) -> Option<u32> {
        None
    }

    /// Whether nothing limits its sessions but the ports and descriptors of a machine.
    fn is_unlimited(&self) -> bool {
        false
    }

    /// Restricts it to the share of one of several generators: `part` is the share of a count. What only one of them may
    /// do, such as storing the data set, is left out.
    fn divide(&mut self, _part: &dyn Fn(u32) -> u32) {}

    /// A file of the generator's machine that would be sent or read.
    fn own_file(&self) -> Option<OwnFile<'_>> {
        None
    }

    /// A folder or list of the machine that its server would serve, and the option that describes a set instead; `None` if it
    /// serves no files.
    fn served_folder(&self) -> Option<(Option<&Path>, &'static str)> {
        None
    }

    /// The set of files that is made for a server that is started for it.
    fn made_files(&self) -> Option<MadeFiles> {
        None
    }

    /// Users whose data a server begins with that is started for it: how many, and the seed of their data.
    fn people(&self) -> Option<(u32, u64)> {
        None
    }

    /// The settings with which an application begins with its data: the application, and `NAME=VALUE` each.
    fn data_settings(&self) -> Option<(&'static str, Vec<String>)> {
        None
    }

    /// One request in this number is traced through the services of the site; `None`: no tracing.
    fn traced_one_in(&self) -> Option<u32> {
        None
    }

    /// The knob of the server's machine that keeps the bandwidth of clients.
    fn client_knob(&self) -> Option<ClientKnob> {
        None
    }

    /// The limit by which an operation of this name is judged, if operations have limits of their own.
    fn limit_of(&self, _operation: &str) -> Option<Nanos> {
        None
    }

    /// Its data, in a few words for the plan of a study; empty if there is nothing to say.
    fn in_words(&self) -> String {
        String::new()
    }

    /// Differences between the users that it simulates with this load and real users, for a reader of the result;
    /// `lacks` are operations that the site did not have.
    fn notes(&self, _load: &Load, _lacks: &[String]) -> Vec<String> {
        Vec::new()
    }

    /// Why no server could meet its default target, if its clients themselves are too slow for it.
    fn beyond_any_server(&self) -> Option<String> {
        None
    }

    /// Whether its steps follow from answers, so that a slow server gets requests later.
    fn is_closed_within_sessions(&self) -> bool {
        false
    }
}

/// A file of the generator's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnFile<'a> {
    /// The file.
    pub file: &'a Path,
    /// The option that names it, without dashes.
    pub option: &'static str,
    /// Whether its content is sent, and not only read.
    pub is_sent: bool,
    /// What to use instead, as part of a sentence.
    pub instead: &'static str,
}

/// A set of files that takes time to make.
#[derive(Clone, Debug, PartialEq)]
pub struct MadeFiles {
    /// Its description, as the command line takes it.
    pub set: String,
    /// Number of small files.
    pub count: u64,
    /// Bytes of large files.
    pub bytes: f64,
}

/// A knob that a workload needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientKnob {
    /// As `taillight tune` takes it.
    pub knob: String,
    /// The option that asks for it.
    pub option: String,
    /// An option that does without.
    pub instead: &'static str,
}
