//! Plain English: comments and documents name things instead of circling around them.
//!
//! A phrase such as `what it does` or `where there is none` makes a reader guess the noun. One is fine; a folder full of
//! them is not. The phrases are hints, so that the rule is a share of the blocks and not each of them.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::markdown::unfenced;
use crate::metadata::Package;
use crate::repository::Repository;

/// Phrases, word by word; alternatives are separated by bars.
const PHRASES: [&str; 12] = [
    "what it|is|was|has|had|they|goes|comes|came|stands|the|of|does|did|makes|made|takes|took|lies|follows|each|no|one|others",
    "where it|they|there|that|none|one|no|nothing|these|those",
    "those|that of the|an|a|its|their|all|each|one|others",
    "so many|much|few|long|often",
    "none|nothing|neither of|is|that|but|else",
    "beside|besides|nobody|whatever|thereof|therein|hereby|likewise|anew",
    "is none|no",
    "is|are|was|were told|asked|had|held|said",
    "is|are|was|were given up|done|taken",
    "has|have to do with",
    "as long|far|soon as it|they|there",
    "thus far",
];
/// A block is a riddle from one phrase in this number of words on.
const WORDS: usize = 45;
/// The largest share of riddles in a folder...
const OF_FOLDER: f64 = 0.03;
/// ...of at least this number of blocks...
const BLOCKS: usize = 50;
/// ...and in all folders together.
const OF_ALL: f64 = 0.02;

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let phrases: Vec<Vec<Vec<&str>>> = PHRASES
        .iter()
        .map(|phrase| phrase.split(' ').map(|word| word.split('|').collect()).collect())
        .collect();
    let mut folders: BTreeMap<String, Counted> = BTreeMap::new();
    let sources =
        repository.ending(".rs").flat_map(|(file, text)| comments(text).map(move |block| (file, block)));
    let documents = repository.ending(".md").filter(|(file, _)| !is_left_out(file));
    let documents = documents.flat_map(|(file, text)| paragraphs(text).map(move |block| (file, block)));
    for (file, block) in sources.chain(documents) {
        let words = words(&block);
        if words.len() < 4 {
            continue;
        }
        let count = count(&words, &phrases);
        let counted = folders.entry(folder(file)).or_default();
        counted.blocks += 1;
        if count * WORDS > words.len() {
            counted.riddles += 1;
            counted.worst = counted.worst.take().max(Some((count, file.to_owned(), block)));
        }
    }
    let all = folders.values().fold(Counted::default(), |mut all, one| {
        (all.blocks, all.riddles) = (all.blocks + one.blocks, all.riddles + one.riddles);
        all.worst = all.worst.take().max(one.worst.clone());
        all
    });
    let bad = folders.into_iter().filter(|(_, one)| one.blocks >= BLOCKS && one.share() > OF_FOLDER);
    let bad = bad.chain((all.blocks >= BLOCKS && all.share() > OF_ALL).then(|| (".".to_owned(), all)));
    bad.map(|(folder, counted)| counted.finding(&folder)).collect()
}

/// Results and generated lists are not written by hand; the changelog quotes.
fn is_left_out(file: &str) -> bool {
    file == "CHANGELOG.md" || file.contains("/results/")
}

/// Its folder of the second level.
fn folder(file: &str) -> String {
    file.split('/').take(2).collect::<Vec<_>>().join("/")
}

#[derive(Clone, Debug, Default)]
struct Counted {
    blocks: usize,
    riddles: usize,
    /// The block with the most phrases: how many, its file, its text.
    worst: Option<(usize, String, String)>,
}

impl Counted {
    fn share(&self) -> f64 {
        self.riddles as f64 / self.blocks.max(1) as f64
    }

    fn finding(self, folder: &str) -> Finding {
        let Counted { blocks, riddles, worst } = self;
        let (_, file, text) = worst.unwrap_or_default();
        let begin: String = text.chars().take(80).collect();
        let problem = format!("{riddles} of {blocks} comments and paragraphs circle around the noun");
        let remedy = format!("say what is meant by its name, first in {file}: \"{begin}…\"");
        Finding::file(folder, problem, remedy)
    }
}

/// The blocks of line comments.
fn comments(text: &str) -> impl Iterator<Item = String> {
    let comment = |line: &str| {
        line.trim_start().strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']).to_owned())
    };
    joined(text.lines().map(comment).collect())
}

/// The paragraphs and rows of a document, without generated parts.
fn paragraphs(text: &str) -> impl Iterator<Item = String> {
    let mut generated = false;
    let line = |(_, line): (usize, &str)| {
        generated |= line.starts_with("<!-- generated:");
        let is_text = !generated && !line.trim().is_empty();
        generated &= !line.starts_with("<!-- end generated");
        // Each row of a table is a paragraph.
        let row = line.starts_with('|').then_some(None);
        std::iter::once(is_text.then(|| line.to_owned())).chain(row).collect::<Vec<_>>()
    };
    joined(unfenced(text).flat_map(line).collect())
}

/// Lines that follow each other, joined.
fn joined(lines: Vec<Option<String>>) -> impl Iterator<Item = String> {
    let blocks: Vec<String> = lines
        .split(Option::is_none)
        .map(|block| block.iter().flatten().cloned().collect::<Vec<_>>().join(" "))
        .collect();
    blocks.into_iter().filter(|block| !block.is_empty())
}

fn words(text: &str) -> Vec<String> {
    let letters = |c: char| !c.is_alphanumeric() && c != '\'' && c != '’';
    text.split(letters).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

fn count(words: &[String], phrases: &[Vec<Vec<&str>>]) -> usize {
    let is_at = |at: usize, phrase: &Vec<Vec<&str>>| {
        phrase
            .iter()
            .enumerate()
            .all(|(i, any)| words.get(at + i).is_some_and(|word| any.contains(&word.as_str())))
    };
    (0..words.len()).map(|at| phrases.iter().filter(|phrase| is_at(at, phrase)).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    #[test]
    fn a_folder_of_riddles_is_found() {
        let plain = "// Returns the number of requests per second.\n\n";
        let riddle = "// What it tells itself it tells before it gets here.\n\n";
        let check_share = |riddles: usize, blocks: usize, expect: &[&str]| {
            let text = riddle.repeat(riddles) + &plain.repeat(blocks - riddles);
            // Other folders are plain.
            let other = plain.repeat(500);
            let found =
                check(&Repository::of(&[("crates/a/src/b.rs", &text), ("crates/c/d.rs", &other)]), &[]);
            assert_eq!(places(&found), expect, "{riddles} of {blocks}: {found:?}");
        };
        check_share(0, 100, &[]);
        check_share(3, 100, &[]);
        check_share(4, 100, &["crates/a:0"]);
        check_share(4, 40, &[]);
        check_share(13, 100, &["crates/a:0", ".:0"]);
    }

    #[test]
    fn phrases_are_counted_by_words() {
        let phrases: Vec<Vec<Vec<&str>>> = PHRASES
            .iter()
            .map(|phrase| phrase.split(' ').map(|word| word.split('|').collect()).collect())
            .collect();
        let check_line =
            |text: &str, expect: usize| assert_eq!(count(&words(text), &phrases), expect, "{text}");
        check_line("What is said to what was asked; never, where nothing was.", 5);
        check_line("Reply to a request; `None` for one-way messages.", 0);
        check_line("Somewhat of a whatnot", 0);
        check_line("AS LONG AS THEY like", 1);
    }

    #[test]
    fn blocks_are_comments_paragraphs_and_rows() {
        let of_source: Vec<String> =
            comments("//! One\n//! two.\n\nlet x = 1; // no\n/// Three.\n").collect();
        assert_eq!(of_source, [" One  two.", " Three."]);
        let text =
            "# A\n\nb\nc\n\n```\nd\n```\n| e |\n| f |\n<!-- generated: x -->\ng\n<!-- end generated -->\n";
        assert_eq!(paragraphs(text).collect::<Vec<_>>(), ["# A", "b c", "| e |", "| f |"]);
    }
}
