/// The text of a Markdown document, line by line from 1, without fenced blocks and code spans.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, String)> {
    unfenced(text).map(|(number, line)| (number, without_code(line)))
}

/// A piece of prose without its code spans.
pub(crate) fn without_code(line: &str) -> String {
    // Quoted text may use any word; an unpaired backtick does not quote.
    let parts: Vec<&str> = line.split('`').collect();
    let lone = parts.len().is_multiple_of(2);
    let outside = parts.iter().enumerate().filter(|(i, _)| i % 2 == 0 || (lone && *i == parts.len() - 1));
    outside.map(|(_, part)| *part).collect::<Vec<_>>().join("``")
}

/// The code spans of `line`, without backticks.
pub(crate) fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    let parts: Vec<&str> = line.split('`').collect();
    let whole = parts.len().saturating_sub(1) / 2;
    (0..whole).map(move |i| parts[2 * i + 1])
}

/// The lines of a document outside its fenced blocks, from 1.
pub(crate) fn unfenced(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((i + 1, line))
    })
}

/// The rows of the tables below the heading `## title`: line from 1, and the cells. Head and rule are left out.
pub(crate) fn rows<'a>(text: &'a str, title: &str) -> Vec<(usize, Vec<&'a str>)> {
    let mut inside = false;
    let mut rows = Vec::new();
    let mut in_table = 0;
    for (number, line) in unfenced(text) {
        if let Some(heading) = line.strip_prefix("## ") {
            inside = heading.trim() == title;
        }
        let cells = line.trim().strip_prefix('|').and_then(|line| line.strip_suffix('|'));
        in_table = if cells.is_some() { in_table + 1 } else { 0 };
        if let Some(cells) = cells.filter(|_| inside && in_table > 2) {
            rows.push((number, cells.split('|').map(str::trim).collect()));
        }
    }
    rows
}

/// The path from the root that a link in `file` leads to; `None` for links out of the repository.
pub(crate) fn resolve(file: &str, link: &str) -> Option<String> {
    let path = link.split(['#', ' ']).next()?;
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return None;
    }
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    // A link to the root itself.
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_leaves_quoted_words_out() {
        let text = "a `b` c\n```\nd\n```\n`e` f `\n";
        let lines: Vec<_> = prose(text).collect();
        assert_eq!(lines, [(1, "a `` c".into()), (5, "`` f ``".into())]);
    }

    #[test]
    fn finds_what_is_in_backticks() {
        let check = |line: &str, expect: &[&str]| assert_eq!(code_spans(line).collect::<Vec<_>>(), expect);
        check("a `b` c `d`", &["b", "d"]);
        check("a `b", &[]);
        check("", &[]);
    }

    #[test]
    fn reads_the_rows_below_a_heading() {
        let text =
            "## A\n| x | y |\n|---|---|\n| 1 | 2 |\n\n## B\n| x |\n|---|\n| 3 |\n\n| x |\n|---|\n| 4 |\n";
        assert_eq!(rows(text, "A"), [(4, vec!["1", "2"])]);
        assert_eq!(rows(text, "B"), [(9, vec!["3"]), (13, vec!["4"])]);
        assert_eq!(rows(text, "C"), []);
    }
}
