//! The studies included in the program, and the user's in folders.

use std::fs;
use std::path::{Path, PathBuf};

use host::Host;
use results::Study;
use spec::nearest;

use super::machine::{LoadFrom, Machine};
use super::parameter::{self, Overrides};
use super::{Definition, DefinitionError};

/// A study that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// The name of its folder in `studies/`: `01-latency-vs-load`.
    pub folder: &'static str,
    study: &'static str,
    claims: &'static str,
    /// Background for the reader.
    pub readme: &'static str,
}

/// All of them, in their order.
pub const STUDIES: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/studies.rs"));

impl Embedded {
    /// Its name: the folder's without the number.
    pub fn name(&self) -> &'static str {
        name_of(self.folder)
    }

    /// Reads it for a machine, with keys set by hand.
    ///
    /// Errors: only mistakes in keys set by hand, if the program passed its tests.
    pub fn read(&self, machine: &Machine, overrides: &Overrides) -> Result<Definition, DefinitionError> {
        Definition::read(self.name(), self.study, self.claims, machine, overrides)
    }
}

/// Source of a study's definition.
#[derive(Clone, Debug)]
pub enum Source {
    /// In the program.
    Embedded(&'static Embedded),
    /// In a folder with `study.toml` and `claims.toml`.
    Folder(PathBuf),
}

impl Source {
    /// The study that a person means: its name, its number, or the path of a folder.
    ///
    /// Errors: there is none, with the name that was perhaps meant.
    pub fn find(text: &str) -> Result<Source, DefinitionError> {
        let named = |study: &&Embedded| {
            let number = study.folder.split('-').next().unwrap_or_default();
            [study.folder, study.name(), number, number.trim_start_matches('0')].contains(&text)
        };
        if let Some(study) = STUDIES.iter().find(named) {
            return Ok(Source::Embedded(study));
        }
        let path = Path::new(text);
        if path.join("study.toml").is_file() {
            return Ok(Source::Folder(path.into()));
        }
        let near =
            nearest(text, STUDIES.iter().map(Embedded::name)).map(|near| format!("did you mean '{near}'? "));
        Err(DefinitionError(format!(
            "there is no study '{text}'; {}taillight study list names those that there are, and a folder with study.toml \
             and claims.toml is one as well",
            near.unwrap_or_default()
        )))
    }

    /// Reads it for a machine, with keys set by hand.
    ///
    /// Errors: a file is missing or wrong; a key set by hand does not exist.
    pub fn read(&self, machine: &Machine, overrides: &Overrides) -> Result<Definition, DefinitionError> {
        match self {
            Source::Embedded(study) => study.read(machine, overrides),
            Source::Folder(path) => {
                let file = |name: &str| {
                    let path = path.join(name);
                    fs::read_to_string(&path)
                        .map_err(|e| DefinitionError(format!("cannot read {}: {e}", path.display())))
                };
                let folder = path.canonicalize().unwrap_or_else(|_| path.clone());
                let folder = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let name = name_of(&folder);
                Definition::read(name, &file("study.toml")?, &file("claims.toml")?, machine, overrides)
            }
        }
    }

    /// Reads it as it was when `record` was measured: for that machine, with its parameters.
    ///
    /// Errors: as [`Source::read`].
    pub fn read_as(&self, record: &Study) -> Result<Definition, DefinitionError> {
        // Facts missing in a record of another version count as unknown.
        let host: Host = serde_json::from_value(record.host.clone()).unwrap_or_default();
        let elsewhere = record.remote_host.is_some() || !record.agents.agents.is_empty();
        let load = if elsewhere { LoadFrom::Elsewhere } else { LoadFrom::Here };
        self.read(&Machine::of(&host, load), &parameter::as_overrides(&record.parameters))
    }

    /// Background for the reader.
    pub fn readme(&self) -> String {
        match self {
            Source::Embedded(study) => study.readme.to_owned(),
            Source::Folder(path) => fs::read_to_string(path.join("README.md")).unwrap_or_default(),
        }
    }
}

/// A folder's name without the number before it.
fn name_of(folder: &str) -> &str {
    match folder.split_once('-') {
        Some((number, rest)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => rest,
        _ => folder,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use results::study::Effort;

    use super::*;

    #[test]
    fn a_study_is_found_by_name_number_and_path() {
        let check = |text: &str| {
            let source = Source::find(text).unwrap();
            assert!(
                matches!(&source, Source::Embedded(study) if study.name() == "latency-vs-load"),
                "{text}"
            );
        };
        check("latency-vs-load");
        check("01-latency-vs-load");
        check("01");
        check("1");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/01-latency-vs-load");
        assert!(matches!(Source::find(folder.to_str().unwrap()).unwrap(), Source::Folder(_)));
        let error = Source::find("latency-vs-laod").unwrap_err().to_string();
        assert!(error.contains("did you mean 'latency-vs-load'?"), "{error}");
        assert!(Source::find("/no/such").unwrap_err().to_string().contains("study list"));
    }

    #[test]
    fn every_folder_is_in_the_program() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
        let mut folders: Vec<String> = fs::read_dir(&root)
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        folders.sort();
        let embedded: Vec<&str> = STUDIES.iter().map(|study| study.folder).collect();
        assert_eq!(embedded, folders);
    }

    #[test]
    fn every_claim_of_the_program_can_hold_and_can_fail() {
        let papers = host::records::ALL.iter().map(|(_, text)| serde_json::from_str(text).unwrap());
        let elsewhere = papers.map(|host: Host| Machine::of(&host, LoadFrom::Elsewhere));
        let machines: Vec<Machine> = [Machine::two_cores()].into_iter().chain(elsewhere).collect();
        for study in STUDIES {
            let (mut all, mut judged) = (BTreeSet::new(), BTreeSet::new());
            for machine in &machines {
                // Reading judges the made-up figures.
                let read = study.read(machine, &[]).unwrap_or_else(|error| panic!("{error}"));
                for claim in read.claims {
                    let [reproduced, differs] = [&claim.reproduced_by, &claim.differs_by];
                    let has_both = !reproduced.is_empty() && !differs.is_empty();
                    assert!(has_both, "{}: claim '{}' lacks made-up figures", study.folder, claim.id);
                    if claim.absent.is_empty() {
                        judged.insert(claim.id.clone());
                    }
                    all.insert(claim.id);
                }
            }
            assert_eq!(judged, all, "{}: claims that no known machine can judge", study.folder);
        }
    }

    #[test]
    fn every_study_of_the_program_is_in_order() {
        for study in STUDIES {
            let read = study.read(&Machine::two_cores(), &[]).unwrap_or_else(|error| panic!("{error}"));
            assert!(!read.claims.is_empty(), "{}: a study without a claim", study.folder);
            // Blocks that all agree must settle all claims of the study.
            let most = 0.05 * 2f64.powi(read.effort(Effort::Quick).blocks as i32 - 1);
            let claims = read.claims.iter().filter(|claim| claim.is_for(Effort::Quick)).count();
            let few = read.effort(Effort::Quick).blocks < stats::MIN_TO_JUDGE as u32;
            assert!(few || claims as f64 <= most, "{}: too few blocks in a quick run", study.folder);
            for part in ["**Question.**", "**Method.**", "**The paper", "**Limits.**"] {
                assert!(study.readme.contains(part), "{}: its README lacks {part}", study.folder);
            }
        }
    }
}
