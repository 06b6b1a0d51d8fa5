//! Plans knobs: the actions of each knob on this host.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use host::Host;
use serde::{Deserialize, Serialize};
use units::CpuList;

use crate::action::{Action, Step};
use crate::kernel::LocalKernel;
use crate::{Cpus, Error, Kernel, Knob, Namespace, Subject, Syntax};

/// The plan of a list of knobs for one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The actions, in the order in which they are made.
    pub actions: Vec<Action>,
    /// The knobs that the host does not support.
    pub skipped: Vec<Skipped>,
}

/// A knob that the host does not support.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The knob.
    pub knob: String,
    /// The reason, and a hint.
    pub reason: String,
}

/// Plans `knobs` for `subject` on `host`, as a list of actions. Changes nothing.
///
/// Errors: the first knob that the host does not support, or that lacks its object.
pub fn plan(knobs: &[Knob], host: &Host, subject: &Subject) -> Result<Vec<Action>, Error> {
    Ok(planned(knobs, host, subject, |_| false)?.actions)
}

/// The same for a list that is meant for many hosts: knobs that this one does not support are skipped and named.
///
/// Errors: a knob lacks its object.
pub fn plan_what_can_be(knobs: &[Knob], host: &Host, subject: &Subject) -> Result<Planned, Error> {
    planned(knobs, host, subject, Error::is_unsupported)
}

fn planned(
    knobs: &[Knob],
    host: &Host,
    subject: &Subject,
    may_skip: fn(&Error) -> bool,
) -> Result<Planned, Error> {
    check_names(knobs)?;
    let mut planner = Planner::new(knobs, host, subject);
    let mut skipped = Vec::new();
    for knob in in_order(knobs) {
        let before = planner.clone();
        planner.knob = knob.to_string();
        match knob.plan(&mut planner) {
            Err(error) if may_skip(&error) => {
                skipped.push(Skipped { knob: planner.knob, reason: error.to_string() });
                planner = before;
            }
            done => done?,
        }
    }
    planner.actions.append(&mut planner.moves);
    Ok(Planned { actions: planner.actions, skipped })
}

/// The order of application: as given, but a fixed clock before a knob that lowers its bound. With turbo off, a driver
/// reports that bound as the user's setting, and the revert would restore it instead.
fn in_order(knobs: &[Knob]) -> impl Iterator<Item = &Knob> {
    let has_clock = knobs.iter().any(|knob| matches!(knob, Knob::Frequency(_)));
    let is_last = move |knob: &&Knob| has_clock && matches!(knob, Knob::Turbo(_));
    knobs.iter().filter(move |knob| !is_last(knob)).chain(knobs.iter().filter(is_last))
}

/// Knobs of one name would undo each other, unless each is for something else.
fn check_names(knobs: &[Knob]) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for knob in knobs {
        if !seen.insert(knob.name()) && !knob.repeats() {
            let limit = format!("{} is set twice", knob.name());
            return Err(Error::usage(knob, limit, "leave one of the two out"));
        }
    }
    Ok(())
}

#[derive(Clone)]
pub(crate) struct Planner<'a> {
    pub(crate) here: LocalKernel,
    pub(crate) host: &'a Host,
    pub(crate) subject: &'a Subject,
    pub(crate) knobs: &'a [Knob],
    /// The one that is being planned.
    pub(crate) knob: String,
    pub(crate) actions: Vec<Action>,
    /// Processes are moved at the end, when their groups are complete.
    pub(crate) moves: Vec<Action>,
    /// Control groups and classes of service that the plan makes.
    pub(crate) made: BTreeSet<PathBuf>,
    pub(crate) classes: u32,
}

impl<'a> Planner<'a> {
    fn new(knobs: &'a [Knob], host: &'a Host, subject: &'a Subject) -> Planner<'a> {
        Planner {
            here: LocalKernel::new(&subject.root),
            host,
            subject,
            knobs,
            knob: String::new(),
            actions: Vec::new(),
            moves: Vec::new(),
            made: BTreeSet::new(),
            classes: 0,
        }
    }

    pub(crate) fn unsupported(&self, limit: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::unsupported(&self.knob, limit, hint)
    }

    pub(crate) fn usage(&self, limit: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::usage(&self.knob, limit, hint)
    }

    /// Refuses to change `what` together with knobs whose plans depend on its present state.
    pub(crate) fn goes_before(&self, what: &str, others: &[&str]) -> Result<(), Error> {
        match self.knobs.iter().find(|other| others.contains(&other.name().as_str())) {
            None => Ok(()),
            Some(other) => {
                let limit = format!("{what} change with it, and {other} is planned by those of now");
                Err(self.usage(limit, "apply it first, by a `taillight tune apply` of its own"))
            }
        }
    }

    /// An action of the knob that is being planned.
    pub(crate) fn action(&self, step: Step, scratch: bool) -> Action {
        Action { knob: self.knob.clone(), step, scratch }
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.actions.push(self.action(step, false));
    }

    /// Adds the writing of a file, which must be there.
    ///
    /// Errors: the host lacks the file.
    pub(crate) fn write(&mut self, file: PathBuf, value: &str, syntax: Syntax) -> Result<(), Error> {
        self.write_in(file, value, syntax, None)
    }

    pub(crate) fn write_in(
        &mut self,
        file: PathBuf,
        value: &str,
        syntax: Syntax,
        namespace: Option<Namespace>,
    ) -> Result<(), Error> {
        let read = self.here.read(&file, namespace.as_ref());
        read.map_err(|e| Error::of_io(&self.knob, &format!("{} cannot be read", file.display()), &e))?;
        self.push(Step::Write { file, value: value.into(), syntax, namespace });
        Ok(())
    }

    /// Adds the writing of a file in a folder that the plan makes.
    pub(crate) fn write_inside(&mut self, folder: &Path, name: &str, value: &str, syntax: Syntax) {
        let step = Step::Write { file: folder.join(name), value: value.into(), syntax, namespace: None };
        self.actions.push(self.action(step, true));
    }

    /// The numbers of these processors on the host.
    pub(crate) fn processors(&self, cpus: &Cpus) -> Result<CpuList, Error> {
        cpus.resolve(&self.knob, self.host, self.subject)
    }

    /// The text of a file; `None` if unreadable.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.here.read(Path::new(path), None).ok().map(|text| text.trim().to_owned())
    }

    pub(crate) fn namespace(&self) -> Result<Option<Namespace>, Error> {
        let Some(file) = &self.subject.net_namespace else { return Ok(None) };
        let namespace = Namespace::of(file);
        namespace.map(Some).map_err(|e| {
            Error::of_io(&self.knob, &format!("{} is not a network namespace", file.display()), &e)
        })
    }

    /// Errors: no process is named; `hint` says how to name one.
    pub(crate) fn need_processes(&self, hint: &str) -> Result<(), Error> {
        match self.subject.pids.is_empty() {
            true => Err(self.usage("it acts on processes, and none is named", hint)),
            false => Ok(()),
        }
    }

    pub(crate) fn device(&self) -> Result<&'a str, Error> {
        let device = self.subject.net_device.as_deref();
        // The name becomes a part of paths and commands.
        let good = device
            .filter(|name| !name.is_empty() && !name.contains(['/', ' ']) && !name.starts_with(['.', '-']));
        good.ok_or_else(|| {
            let hint = "name one: --device eth0, or target.device in an experiment";
            self.usage("it acts on a network device, and none is named", hint)
        })
    }
}
