//! The names of the generator's options, for files that use them as keys.

use clap::{Args, Command};
use lab::study::Vocabulary;

use crate::args::{CacheOptions, LoadOptions, SharedOptions, WebOptions};

pub(crate) fn vocabulary() -> Vocabulary {
    let names = |command: Command| -> Vec<String> {
        command.get_arguments().filter_map(|arg| arg.get_long()).map(str::to_owned).collect()
    };
    let shared = |workload: &'static str| SharedOptions::augment_args(Command::new(workload));
    Vocabulary {
        cache: names(CacheOptions::augment_args(shared("cache"))),
        web: names(WebOptions::augment_args(shared("web"))),
        generator: names(LoadOptions::augment_args(Command::new("generator"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::study::STUDIES;

    #[test]
    fn options_are_known_by_their_long_names() {
        let known = vocabulary();
        assert!(["keys", "key-size", "mix"].iter().all(|name| known.cache.iter().any(|k| k == name)));
        assert!(["files", "popularity", "verify"].iter().all(|name| known.web.iter().any(|k| k == name)));
        assert!(["connections", "depth"].iter().all(|name| known.generator.iter().any(|k| k == name)));
    }

    #[test]
    fn every_study_of_the_program_is_in_order() {
        for study in STUDIES {
            let read = study.read(&vocabulary()).unwrap_or_else(|error| panic!("{error}"));
            assert!(!read.claims.is_empty(), "{}: a study without a claim", study.folder);
            for part in ["**Question.**", "**Method.**", "**The paper", "**Limits.**"] {
                assert!(study.readme.contains(part), "{}: its README lacks {part}", study.folder);
            }
        }
    }
}
