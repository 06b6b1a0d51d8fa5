//! One word for one thing, in documents, comments and help texts.
//!
//! The glossary holds the table of banned words and their replacements, which is read from there. Code spans are
//! quotations and may use any word.

use crate::finding::Finding;
use crate::markdown::{code_spans, prose, rows, without_code};
use crate::metadata::Package;
use crate::repository::Repository;
use crate::rust_text;

const GLOSSARY: &str = "docs/glossary.md";
const TITLE: &str = "Words that are not used";

struct Banned<'a> {
    word: &'a str,
    instead: &'a str,
}

pub(super) fn check(repository: &Repository, _: &[Package]) -> Vec<Finding> {
    let banned = banned(repository.text(GLOSSARY).unwrap_or_default());
    if banned.is_empty() {
        let remedy = "restore it: do not write, write, because";
        return vec![Finding::file(GLOSSARY, format!("has no table under '{TITLE}'"), remedy)];
    }
    let mut findings = Vec::new();
    for (file, text) in repository.ending(".md") {
        findings.extend(prose(text).flat_map(|(line, text)| spoken(&banned, file, line, &text)));
    }
    for (file, text) in repository.ending(".rs") {
        let product = lines_of_product(file, text);
        for (i, line) in rust_text::lines(text).iter().enumerate() {
            findings.extend(spoken(&banned, file, i + 1, &without_code(&line.comment)));
            if i < product {
                findings.extend(spoken(&banned, file, i + 1, &without_code(&line.string)));
            }
        }
    }
    findings
}

/// How many lines of a source are compiled into a program that people use: tests, benches and the readers of other
/// programs' outputs have those programs' words.
fn lines_of_product(file: &str, text: &str) -> usize {
    let helper =
        ["/tests/", "/benches/", "/tests.rs", "/audit/src/formats/"].iter().any(|part| file.contains(part));
    if helper { 0 } else { text.lines().position(|line| line == "#[cfg(test)]").unwrap_or(usize::MAX) }
}

fn banned(glossary: &str) -> Vec<Banned<'_>> {
    let mut banned = Vec::new();
    for (_, cells) in rows(glossary, TITLE) {
        if let [words, instead, _because] = cells[..] {
            banned.extend(code_spans(words).map(|word| Banned { word, instead }));
        }
    }
    banned
}

fn spoken(banned: &[Banned<'_>], file: &str, line: usize, text: &str) -> Vec<Finding> {
    let finding = |banned: &Banned<'_>| {
        let problem = format!("'{}' is not a word of this project", banned.word);
        Finding::line(file, line, problem, format!("write {} (see {GLOSSARY})", banned.instead))
    };
    banned.iter().filter(|banned| has_word(text, banned.word)).map(finding).collect()
}

/// Whether `text` holds `word`, in capitals or not, standing by itself.
fn has_word(text: &str, word: &str) -> bool {
    let (text, word) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&word).any(|(at, found)| {
        !text[..at].ends_with(part) && !text[at + found.len()..].trim_start_matches('s').starts_with(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    const TABLE: &str = "## Words that are not used\n\n| not | but | because |\n|---|---|---|\n| `QPS`, `hit rate` | rps | x |\n";

    #[test]
    fn finds_words_in_documents_comments_and_texts() {
        let check_line = |file: &str, line: &str, expect: bool| {
            let findings = check(&Repository::of(&[(GLOSSARY, TABLE), (file, line)]), &[]);
            assert_eq!(places(&findings) == [format!("{file}:1")], expect, "{line}: {findings:?}");
        };
        check_line("README.md", "at 5 qps.", true);
        check_line("README.md", "Hit rates fell", true);
        check_line("README.md", "what others call `QPS`", false);
        check_line("README.md", "qpsx and xqps", false);
        check_line("a.rs", "// QPS", true);
        check_line("a.rs", "// what mutilate prints as `Total QPS`", false);
        check_line("a.rs", "println!(\"in QPS\");", true);
        check_line("a.rs", "println!(\"what they call `QPS`\");", false);
        check_line("a.rs", "let qps = 1; // rps", false);
        check_line("benches/b.rs", "// QPS", true);
        check_line("x/benches/b.rs", "let theirs = \"QPS\";", false);
        let check_test = |line: &str, expect: usize| {
            let text = format!("fn f() {{}}\n#[cfg(test)]\n{line}");
            let found = check(&Repository::of(&[(GLOSSARY, TABLE), ("a.rs", &text)]), &[]);
            assert_eq!(found.len(), expect, "{line}");
        };
        check_test("let theirs = \"QPS\";", 0);
        check_test("// QPS", 1);
    }

    #[test]
    fn wants_the_table() {
        assert_eq!(places(&check(&Repository::of(&[(GLOSSARY, "# Words")]), &[])), ["docs/glossary.md:0"]);
    }
}
