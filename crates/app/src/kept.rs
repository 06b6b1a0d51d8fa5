//! Data that services keep from start to start: their origin, which the next start must fit.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::Error;
use crate::description::{Seeded, Service};
use crate::plan::{PeopleSet, Plan};
use crate::program::VersionedProgram;
use crate::seed::{FORMAT, MARKER};

/// The origin of data that each start continues.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// The initial rows, as a hash of their inputs.
    rows: String,
    /// The first number of the version of the service that wrote them.
    version: String,
    /// How many instances share the rows.
    instances: usize,
    /// The inputs of the rows, in words.
    #[serde(default)]
    of: String,
}

impl Origin {
    /// The number of instances in words, with a verb if given.
    fn counted(&self, verb: [&str; 2]) -> String {
        match self.instances {
            1 => format!("1 instance{}", verb[0]),
            many => format!("{many} instances{}", verb[1]),
        }
    }

    /// Errors: according to `text`, the data in `kept` have a different origin.
    pub(crate) fn must_be(&self, text: &str, service: &Service, kept: &Path) -> Result<(), Error> {
        let differs = match serde_json::from_str::<Origin>(text) {
            Err(_) => {
                format!(
                    "an earlier Taillight kept them without a note of their origin; this start wants {}",
                    self.of
                )
            }
            Ok(began) if began.instances != self.instances => {
                format!(
                    "{} asked for, and {} shared them",
                    self.counted([" is", " are"]),
                    began.counted([""; 2])
                )
            }
            Ok(began) if began.version != self.version => {
                format!("version {} wrote them, and this is {}", began.version, self.version)
            }
            Ok(began) if began.rows == self.rows => return Ok(()),
            Ok(began) if began.of == self.of => {
                format!("they began with another {}, or belong to another account", began.of)
            }
            Ok(began) => format!("they began with {}, and this start wants {}", began.of, self.of),
        };
        Err(Error::Answer {
            service: service.name.clone(),
            doing: format!("go on with the data in {}", kept.display()),
            problem: format!(
                "{differs}; start it as it was then, or replace them by `up --fresh`, which removes what was written since"
            ),
        })
    }

    /// Whether `text`, the origin of other data, has the same description, or names a folder's data set, which may
    /// equal a generated one.
    fn is_described_as(&self, text: &str) -> bool {
        let began = serde_json::from_str::<Origin>(text);
        began.is_ok_and(|began| began.of == self.of || began.of.contains("data set in "))
    }
}

impl Plan {
    /// Compares the origin of kept data with the requested data set before the set is made, which takes minutes. If the
    /// set exists, the start compares the rows themselves.
    ///
    /// Errors: the kept data began with another data set.
    pub fn check_kept(&self) -> Result<(), Error> {
        let (Some(kept), Some(data), None) = (&self.kept, &self.app().data, &self.data) else {
            return Ok(());
        };
        if self.data_folder().is_some_and(|folder| folder.join(&data.whole).exists()) {
            return Ok(());
        }
        for (_, seeded, service) in self.seeded_here() {
            let kept = kept.join(format!("{}-0", service.name));
            let Ok(text) = fs::read_to_string(kept.join(MARKER)) else { continue };
            // A missing program is the start's error, which names all of them at once.
            let Ok(found) = self.find(service) else { continue };
            let people = self.people.filter(|_| seeded.needs_people());
            let asked = self.origin(seeded, service, people, &found);
            if !asked.is_described_as(&text) {
                asked.must_be(&text, service, &kept)?;
            }
        }
        Ok(())
    }

    /// Origin that kept data must have in order to be continued. It has fewer inputs than a copy's key, as another
    /// version or configuration of the service can read the data too.
    pub(crate) fn origin(
        &self,
        seeded: &Seeded,
        service: &Service,
        people: Option<PeopleSet>,
        found: &VersionedProgram,
    ) -> Origin {
        let text = format!("{FORMAT}\n{people:?}\n{}", self.rows_follow_from(seeded, service));
        let placement = self.placement(&service.name).expect("it has one");
        Origin {
            rows: format!("{:032x}", xxh3_128(text.as_bytes())),
            version: found.version.split('.').next().unwrap_or_default().into(),
            instances: placement.instances.max(1),
            of: self.told(seeded, service, people),
        }
    }

    /// The inputs of a store's rows, in the words of the options.
    fn told(&self, seeded: &Seeded, service: &Service, people: Option<PeopleSet>) -> String {
        let people = people.map(|people| format!("{} users of seed {}", people.users, people.seed));
        let data = seeded.needs_data().then(|| self.data_told());
        let settings =
            seeded.settings.iter().filter_map(|name| Some(format!("{name}={}", self.value(service, name)?)));
        let all: Vec<String> = people.into_iter().chain(data).chain(settings).collect();
        if all.is_empty() { "nothing that is set".into() } else { all.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn another_data_set_is_refused_before_it_is_made() {
        let check = |began: &str, says: &[&str]| {
            let root = tempfile::tempdir().unwrap();
            let mut plan = Plan::new(Arc::new(crate::of_name("movies").unwrap()), Path::new("/x"));
            plan.set(&["users=11", "movies=11", "seed=987654321"]).unwrap();
            plan.kept = Some(root.path().into());
            // The version of an image's program is not known, so that no program is run.
            plan.placement_mut("movies-db").unwrap().image = Some("postgres".into());
            let of = Origin { rows: "0".into(), version: String::new(), instances: 1, of: began.into() };
            fs::create_dir(root.path().join("movies-db-0")).unwrap();
            let marker = root.path().join("movies-db-0").join(MARKER);
            fs::write(marker, serde_json::to_vec(&of).unwrap()).unwrap();
            let said = plan.check_kept().err().map(|error| error.to_string());
            assert_eq!(said.is_some(), !says.is_empty(), "{said:?}");
            assert!(
                says.iter().all(|words| said.as_ref().is_some_and(|said| said.contains(words))),
                "{said:?}"
            );
        };
        let began = "they began with data set --users 10000 --movies 1000";
        let asked = "this start wants data set --users 11 --movies 11 --seed 987654321";
        check("data set --users 10000 --movies 1000", &[began, asked, "`up --fresh`"]);
        check("data set --users 11 --movies 11 --seed 987654321 --clips 4 --hash-cost 10", &[]);
        check("data set in /srv/movies", &[]);
    }
}
