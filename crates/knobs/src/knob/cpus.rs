use std::fmt;

use host::Host;
use serde::{Deserialize, Serialize};
use units::CpuList;

use crate::{Error, Subject};

/// Processors, by number or by their role for the subject, so that a profile fits every machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cpus {
    /// `0-3,8`.
    List(CpuList),
    /// `all`: all online processors.
    All,
    /// `subject`: the subject's processors.
    Subject,
    /// `others`: the online processors that are not the subject's.
    Others,
    /// `cores:4`: one logical processor of each of the first 4 physical cores.
    Cores(usize),
    /// `siblings:4`: the first 4 logical processors, counted core by core, so that siblings are used up first.
    Siblings(usize),
}

impl Cpus {
    pub(super) fn read(text: &str) -> Option<Cpus> {
        let count = |text: &str| text.parse().ok().filter(|n| *n > 0);
        match (text, text.split_once(':')) {
            ("all", _) => Some(Cpus::All),
            ("subject", _) => Some(Cpus::Subject),
            ("others", _) => Some(Cpus::Others),
            (_, Some(("cores", n))) => count(n).map(Cpus::Cores),
            (_, Some(("siblings", n))) => count(n).map(Cpus::Siblings),
            _ => text.parse().ok().map(Cpus::List),
        }
    }

    /// The numbers of these processors on `host`.
    ///
    /// Errors: the host has too few, the list names one that is not online, or the subject's processors were not given.
    pub(crate) fn resolve(&self, what: &str, host: &Host, subject: &Subject) -> Result<CpuList, Error> {
        let online = &host.cpu.online;
        let cores = || -> Vec<&[usize]> { host.cpu.cores.iter().map(CpuList::as_slice).collect() };
        let listed: CpuList = match self {
            Cpus::List(list) => list.clone(),
            Cpus::All => online.clone(),
            Cpus::Subject | Cpus::Others if subject.cpus.is_empty() => {
                return Err(Error::usage(
                    what,
                    "the processors of the subject were not given",
                    "give them: --cpus 0-3",
                ));
            }
            Cpus::Subject => subject.cpus.clone(),
            Cpus::Others => {
                online.as_slice().iter().copied().filter(|cpu| !subject.cpus.contains(*cpu)).collect()
            }
            Cpus::Cores(n) => cores().iter().filter_map(|core| core.first().copied()).take(*n).collect(),
            Cpus::Siblings(n) => cores().concat().into_iter().take(*n).collect(),
        };
        let wanted = match self {
            Cpus::Cores(n) | Cpus::Siblings(n) => *n,
            _ => 1,
        };
        if listed.len() < wanted {
            let limit = format!("there are {} such processors here, of {online}", listed.len());
            return Err(Error::unsupported(what, limit, "choose fewer, or list them"));
        }
        if let Some(missing) = listed.as_slice().iter().find(|cpu| !online.contains(**cpu)) {
            let limit = format!("processor {missing} is not online; {online} are");
            return Err(Error::unsupported(what, limit, "choose among those"));
        }
        Ok(listed)
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cpus::List(list) => write!(f, "{list}"),
            Cpus::All => f.write_str("all"),
            Cpus::Subject => f.write_str("subject"),
            Cpus::Others => f.write_str("others"),
            Cpus::Cores(n) => write!(f, "cores:{n}"),
            Cpus::Siblings(n) => write!(f, "siblings:{n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_processors_of_the_host() {
        let mut host = Host::default();
        host.cpu.online = "0-7".parse().unwrap();
        host.cpu.cores = ["0,4", "1,5", "2,6", "3,7"].iter().map(|core| core.parse().unwrap()).collect();
        let subject = Subject { cpus: "0-1".parse().unwrap(), ..Subject::default() };
        let check = |text: &str, expect: &str| {
            let cpus = Cpus::read(text).unwrap();
            assert_eq!(cpus.to_string(), text);
            let found = cpus.resolve("x", &host, &subject).map_or_else(|e| e.to_string(), |l| l.to_string());
            assert!(found.starts_with(expect), "{text}: {found}");
        };
        check("0-3,7", "0-3,7");
        check("all", "0-7");
        check("subject", "0-1");
        check("others", "2-7");
        check("cores:3", "0-2");
        check("siblings:3", "0-1,4");
        check("siblings:4", "0-1,4-5");
        check("cores:5", "x: there are 4 such processors here");
        check("8", "x: processor 8 is not online");
        let unknown = Cpus::Others.resolve("x", &host, &Subject::default());
        assert!(matches!(unknown, Err(Error::Usage(_))));
        for text in ["", "cores:0", "cores:x", "each", "3-1"] {
            assert!(Cpus::read(text).is_none(), "{text}");
        }
    }
}
