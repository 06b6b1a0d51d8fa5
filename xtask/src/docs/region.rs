/// A part of a document that is made from a result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Region<'a> {
    /// The result's path, from the document's folder.
    pub(super) result: &'a str,
    /// The tables, by their ids.
    pub(super) tables: Vec<&'a str>,
    /// Paths, from the root, that the tables measure; empty for the generator, targets and study.
    pub(super) of: Vec<&'a str>,
    /// Its content: the index of the line after the opening comment,
    pub(super) first: usize,
    /// and of the closing one.
    pub(super) last: usize,
}

const OPENING: &str = "<!-- generated:";
const CLOSING: &str = "<!-- end generated -->";

/// The regions of a document, or the line (from 1) of a comment that cannot be read, and why.
pub(super) fn all(text: &str) -> impl Iterator<Item = Result<Region<'_>, (usize, String)>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut fenced = false;
    let mut next = 0;
    std::iter::from_fn(move || {
        while let Some(line) = lines.get(next) {
            let at = next;
            next += 1;
            fenced ^= line.trim_start().starts_with("```");
            if fenced {
                continue;
            }
            if *line == CLOSING {
                return Some(Err((at + 1, "ends a generated region that nothing begins".into())));
            }
            let Some(named) = line.strip_prefix(OPENING) else { continue };
            let Some((result, tables)) =
                named.trim().strip_suffix("-->").and_then(|named| named.trim().split_once(' '))
            else {
                let problem = "names no result and tables, as in 'quick.taillight.tgz claims'";
                return Some(Err((at + 1, problem.into())));
            };
            let ends = |line: &&str| **line == *CLOSING || line.starts_with(OPENING);
            let Some(last) = lines[next..].iter().position(ends).map(|i| next + i) else {
                return Some(Err((at + 1, format!("begins a generated region without '{CLOSING}'"))));
            };
            if lines[last] != CLOSING {
                next = last;
                return Some(Err((at + 1, format!("begins a generated region without '{CLOSING}'"))));
            }
            next = last + 1;
            let (tables, of) = match tables.split_once("; of ") {
                Some((tables, of)) => (tables, list(of)),
                None => (tables, Vec::new()),
            };
            return Some(Ok(Region { result, tables: list(tables), of, first: at + 1, last }));
        }
        None
    })
}

fn list(names: &str) -> Vec<&str> {
    names.split(',').map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_found_and_broken_ones_named() {
        let check = |text: &str, expect: Vec<Result<Region, usize>>| {
            let found: Vec<_> = all(text).map(|region| region.map_err(|(line, _)| line)).collect();
            assert_eq!(found, expect, "{text}");
        };
        let region = |tables: &[&'static str], first, last| Region {
            result: "r",
            tables: tables.to_vec(),
            of: Vec::new(),
            first,
            last,
        };
        check("a\nb\n", vec![]);
        check("a\n<!-- generated: r x -->\n<!-- end generated -->\n", vec![Ok(region(&["x"], 2, 2))]);
        check(
            "<!-- generated: r x, y -->\n1\n2\n<!-- end generated -->\n",
            vec![Ok(region(&["x", "y"], 1, 3))],
        );
        check(
            "<!-- generated: r x, y; of crates/a, apps/b -->\n<!-- end generated -->\n",
            vec![Ok(Region { of: vec!["crates/a", "apps/b"], ..region(&["x", "y"], 1, 1) })],
        );
        check("```\n<!-- generated: r x -->\n```\n", vec![]);
        check("<!-- generated: r -->\n<!-- end generated -->\n", vec![Err(1), Err(2)]);
        check("<!-- generated: r x -->\n1\n", vec![Err(1)]);
        let second = region(&["x"], 2, 2);
        check(
            "<!-- generated: r x -->\n<!-- generated: r x -->\n<!-- end generated -->",
            vec![Err(1), Ok(second)],
        );
    }
}
