//! `taillight explain`: the meaning of a word, its value, and the value's source.

mod commands;
mod fields;
mod file;
mod knobs;
mod limits;
mod probes;
mod studies;
mod verdicts;

use std::path::Path;

use anyhow::Result;
use clap::Args;
use clap::error::ErrorKind;
use serde_json::json;
use spec::{Chapter, Entry, Form, Section};
use workloads::{cache, movies, null, social, video, web};

use crate::terminal::say;

/// Explain a word: what it means, its value, and the paper, program or reason that the value comes from.
///
/// Covers every number: fields of a specification, operations, distributions, presets, knobs, probes, forms, verdicts
/// and their limits, searches, and what Sphinx does without options. Of a specification in a file, each value with its
/// source.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// A topic (cache, qos, verdicts, knobs, ...), a field (load.rate, generator.connections), any other word that one of
    /// the topics has (zipf, irq.affinity, generator_lag, lxc), or a file with a specification, TOML or JSON [default: lists
    /// the topics].
    #[arg(value_name = "WORD|FILE")]
    what: Option<String>,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

/// A topic: its name, its subject, and its chapter.
type Topic = (&'static str, &'static str, fn() -> Result<Chapter>);

const TOPICS: [Topic; 24] = [
    ("cache", "the object-caching workload: fields, operations, distributions, presets", || {
        Ok(cache_chapter())
    }),
    ("operations", "what a request to a cache can do", || Ok(Chapter::of([cache::explain::operations()]))),
    ("distributions", "sizes, popularities, arrivals, load profiles, data sets", || {
        Ok(Chapter::of(cache::explain::distributions()))
    }),
    ("presets", "published loads, each value with its source", || Ok(Chapter::of(cache::explain::presets()))),
    ("web", "load on web servers: from when to when it is measured, what counts, fields", || {
        Ok(with_fields(web::explain::chapter(), "web"))
    }),
    ("video", "sessions of viewers: what is asked for and when, what they see, fields", || {
        Ok(with_fields(video::explain::chapter(), "video"))
    }),
    (
        "social",
        "sessions of users of a social network: operations, limits, what is within them, fields",
        || Ok(with_fields(social::explain::chapter(), "social")),
    ),
    (
        "movies",
        "visitors of a site of films: queries, how films are watched, what is checked, fields",
        || Ok(with_fields(movies::explain::chapter(), "movies")),
    ),
    ("null", "load on the null server, which validates the generator", || Ok(null::chapter())),
    ("target", "the server under test: fields, forms, settings of applications", target),
    ("targets", "the settings of each application", || Ok(Chapter::of(app::explain()?))),
    ("forms", "what a server can run in", || Ok(Chapter::of([Form::explain()]))),
    ("load", "how much is offered", || Ok(of_section("load"))),
    ("generator", "how the load is generated", || Ok(of_section("generator"))),
    ("time", "how long the parts of a trial take", || Ok(of_section("time"))),
    ("seed", "what repeats the same requests", || Ok(of_section("seed"))),
    ("qos", "what response times are judged by: target, windows, percentiles", || Ok(qos())),
    ("verdicts", "verdicts, the reasons against a trial, and their limits", || Ok(verdicts::chapter())),
    ("search", "how a maximum and a peak are searched; defaults of commands", || {
        Ok(Chapter::of([commands::section(), limits::searches()]))
    }),
    ("claims", "how differences and the claims of studies are judged", || {
        Ok(Chapter::of([limits::claims()]))
    }),
    ("knobs", "what can be changed on a host, and profiles", knobs::chapter),
    ("probes", "what can be observed, and what it may cost", || Ok(probes::chapter())),
    ("sphinx", "what sphinxd does here without options", ::sphinx::explain),
    ("studies", "published figures that are measured again", studies::chapter),
];

/// The most words that are suggested for one that is not known.
const SUGGESTED: usize = 3;

pub(crate) fn run(args: &ExplainArgs) -> Result<()> {
    let Some(what) = &args.what else {
        let list = if args.json { topics_json() } else { topics() };
        return say(&list);
    };
    let chapter = match TOPICS.iter().find(|(name, ..)| name == what) {
        Some((.., chapter)) => chapter()?,
        None if is_file(what) => file::chapter(Path::new(what))?,
        None => looked_up(what)?.unwrap_or_else(|message| {
            clap::Command::new("taillight explain").error(ErrorKind::InvalidValue, message).exit()
        }),
    };
    let text = if args.json {
        format!("{:#}\n", json!({ "word": what, "explained": chapter }))
    } else {
        chapter.to_string()
    };
    say(&text)
}

fn fields_of(workload: &str) -> Section {
    fields::section(&format!("Fields of the workload {workload}"), "workload", Some(workload))
}

fn with_fields(mut chapter: Chapter, workload: &str) -> Chapter {
    chapter.sections.push(fields_of(workload));
    chapter
}

fn cache_chapter() -> Chapter {
    Chapter::of([vec![fields_of("cache")], cache::explain::chapter().sections].concat())
}

fn target() -> Result<Chapter> {
    let fields = fields::section("Fields of the target", "target", None);
    Ok(Chapter::of([vec![fields, Form::explain()], app::explain()?].concat()))
}

fn of_section(name: &str) -> Chapter {
    Chapter::of([fields::section(&format!("Fields: {name}"), name, None)])
}

fn qos() -> Chapter {
    let target = fields::section("The target", "qos", None);
    Chapter::of([target, limits::sessions(), limits::windows()])
}

fn topics() -> String {
    let mut text = String::from("Topics\n\n");
    for (name, about, _) in &TOPICS {
        text += &format!("  {name:<15}{about}\n");
    }
    text + "\ntaillight explain TOPIC, FIELD such as generator.connections, any other word of a topic, or FILE of a \
            specification (load … --resolve). JSON: --json.\n"
}

fn topics_json() -> String {
    let all = TOPICS.iter().map(|(name, about, _)| json!({ "name": name, "meaning": about }));
    format!("{:#}\n", json!({ "topics": all.collect::<Vec<_>>() }))
}

/// Whether a word names a file rather than something to explain.
fn is_file(word: &str) -> bool {
    let path = Path::new(word);
    let is_named = path.extension().is_some_and(|extension| extension == "json" || extension == "toml");
    is_named || word.contains('/') || path.is_file()
}

/// The chapters of the topics that `of` accepts, by topic.
fn chapters(of: impl Fn(&str) -> bool) -> Result<Vec<(&'static str, Chapter)>> {
    TOPICS.iter().filter(|(name, ..)| of(name)).map(|(name, _, chapter)| Ok((*name, chapter()?))).collect()
}

/// The chapter for a word that is not a topic, as [`found`]. The studies, which take longer to read than all else, are not read
/// for a whole name of another topic, such as `target.threads`.
fn looked_up(word: &str) -> Result<Result<Chapter, String>> {
    if word.contains('.') {
        let without = found(&chapters(|name| name != "studies")?, word);
        if without.is_ok() {
            return Ok(without);
        }
    }
    Ok(found(&chapters(|_| true)?, word))
}

/// The chapter for a word that is not a topic.
///
/// Errors: no entry has this name; the message lists the most similar names.
fn found(chapters: &[(&'static str, Chapter)], word: &str) -> Result<Chapter, String> {
    let mut sections: Vec<Section> = Vec::new();
    for section in chapters.iter().flat_map(|(_, chapter)| &chapter.sections) {
        let is_named = |entry: &&Entry| entry.is_called(word);
        let entries: Vec<Entry> = section.entries.iter().filter(is_named).cloned().collect();
        // Some topics are parts of others.
        if !entries.is_empty() && !sections.iter().any(|known| known.title == section.title) {
            sections.push(Section { title: section.title.clone(), entries });
        }
    }
    if !sections.is_empty() {
        return Ok(Chapter::of(sections));
    }
    let names = chapters.iter().flat_map(|(topic, chapter)| {
        std::iter::once((*topic).to_owned()).chain(chapter.entries().flat_map(Entry::names))
    });
    let near = nearest(word, &names.collect::<Vec<_>>());
    let hint = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(", ")) };
    Err(format!("nothing is called '{word}'; {hint}taillight explain lists the topics\n"))
}

/// The known words that are most like `word`, the nearest first.
fn nearest(word: &str, names: &[String]) -> Vec<String> {
    let mut left: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut near = Vec::new();
    while let Some(next) = spec::nearest(word, left.iter().copied()).map(str::to_owned) {
        left.retain(|name| *name != next);
        near.push(next);
        if near.len() == SUGGESTED {
            break;
        }
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_entries_with_sources() {
        for (name, _, chapter) in &TOPICS {
            let chapter = chapter().unwrap();
            let text = chapter.to_string();
            assert!(!text.is_empty() && !text.contains("\n\n\n"), "{name}: {text}");
            for entry in chapter.entries().filter(|entry| entry.value.is_some()) {
                assert!(!entry.source.is_empty(), "{name}: {entry:?}");
            }
        }
    }

    #[test]
    fn every_field_of_a_specification_is_found() {
        let chapters = chapters(|_| true).unwrap();
        for field in spec::Spec::fields() {
            let chapter = found(&chapters, &field.path).unwrap();
            assert!(chapter.entries().any(|entry| entry.source == field.source), "{}", field.path);
        }
    }

    #[test]
    fn words_of_all_kinds_are_found() {
        let chapters = chapters(|_| true).unwrap();
        let check = |word: &str, name: &str| {
            let chapter = found(&chapters, word).unwrap();
            assert!(chapter.entries().any(|entry| entry.name == name), "{word}: {chapter}");
        };
        check("generator.connections", "generator.connections");
        check("connections", "generator.connections");
        check("key-size", "workload.key-size");
        check("key_size", "workload.key-size");
        check("workload", "workload.files");
        check("zipf", "zipf:ALPHA");
        check("mget", "mget(KEYS)");
        check("etc", "etc.key-size");
        check("irq.affinity", "irq.affinity");
        check("generator_lag", "generator_lag");
        check("lag-share", "verdicts.lag-share");
        check("lxc", "lxc");
        check("stages", "stages");
        check("nginx", "nginx.gzip");
        check("sweep", "sweep.repeats");
        check("sphinx.drain", "sphinx.drain");
    }

    #[test]
    fn a_word_that_is_not_known_has_near_ones() {
        let names: Vec<String> = ["connections", "conn-limit", "zipf", "window"].map(str::to_owned).into();
        assert_eq!(nearest("conections", &names), ["connections"]);
        assert_eq!(nearest("windwo", &names), ["window"]);
        assert!(nearest("abcdefgh", &names).is_empty());
        let error = found(&chapters(|_| true).unwrap(), "conections").unwrap_err();
        assert!(error.contains("did you mean connections"), "{error}");
    }

    #[test]
    fn files_are_told_from_words() {
        let check = |word: &str, expect: bool| assert_eq!(is_file(word), expect, "{word}");
        check("load.rate", false);
        check("t.json", true);
        check("experiments/t", true);
        check("a.toml", true);
    }
}
