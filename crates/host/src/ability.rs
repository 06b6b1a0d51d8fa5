//! The experiments that a machine supports, those that it does not, and how to change that.

mod isolation;
mod load;
mod network;
mod observe;
mod processors;

use serde::{Deserialize, Serialize};

use crate::Host;

pub(crate) use isolation::bytes;

/// One thing that an experiment may need of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ability {
    /// Its name: `cache ways`.
    pub name: String,
    /// The experiment that needs it, with its source: `Fig. 12`. Figures and tables without a name are IISWC'17's.
    pub shows: String,
    /// Whether the machine has it.
    pub answer: Answer,
    /// The facts behind the answer.
    pub why: String,
    /// How to change the answer; `None` with [`Answer::Yes`].
    pub hint: Option<String>,
}

/// Whether a machine has an ability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Sufficient for a study.
    Yes,
    /// Yes, with a limit that must be shown next to the result.
    Partly,
    /// Not at all.
    No,
}

impl Answer {
    /// `yes`, `partly`, `no`.
    pub fn as_str(self) -> &'static str {
        match self {
            Answer::Yes => "yes",
            Answer::Partly => "partly",
            Answer::No => "no",
        }
    }
}

impl Host {
    /// Every ability that an experiment of Taillight may need, in the order of a study: processors, network, isolation,
    /// observation, generators and servers.
    pub fn abilities(&self) -> Vec<Ability> {
        let parts: [fn(&Host) -> Vec<Ability>; 5] = [
            processors::abilities,
            network::abilities,
            isolation::abilities,
            observe::abilities,
            load::abilities,
        ];
        parts.iter().flat_map(|part| part(self)).collect()
    }
}

/// An ability's answer, before the caller adds its name and purpose.
struct AbilityAnswer {
    answer: Answer,
    why: String,
    hint: Option<String>,
}

fn yes(why: impl Into<String>) -> AbilityAnswer {
    AbilityAnswer { answer: Answer::Yes, why: why.into(), hint: None }
}

fn partly(why: impl Into<String>, hint: impl Into<String>) -> AbilityAnswer {
    AbilityAnswer { answer: Answer::Partly, why: why.into(), hint: Some(hint.into()) }
}

fn no(why: impl Into<String>, hint: impl Into<String>) -> AbilityAnswer {
    AbilityAnswer { answer: Answer::No, why: why.into(), hint: Some(hint.into()) }
}

impl AbilityAnswer {
    fn named(self, name: &str, shows: &str) -> Ability {
        let AbilityAnswer { answer, why, hint } = self;
        Ability { name: name.into(), shows: shows.into(), answer, why, hint }
    }

    /// The same answer if this process holds `capability`; otherwise no, since it could not use the ability.
    fn needing(self, host: &Host, capability: &str) -> AbilityAnswer {
        if self.answer == Answer::No || host.privileges.can(capability) {
            return self;
        }
        no(
            format!("{}, but not for this user", self.why),
            format!("run as root, or with CAP_{}", capability.to_uppercase()),
        )
    }
}

/// `1 queue`, `8 queues`.
fn count(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}
