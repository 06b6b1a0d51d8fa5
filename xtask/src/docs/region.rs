use crate::markdown::unfenced;

/// A part of a document that is made from a result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Region<'a> {
    /// The result's path, from the document's folder.
    pub(super) result: &'a str,
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
pub(super) fn all(text: &str) -> Vec<Result<Region<'_>, (usize, String)>> {
    let mut regions = Vec::new();
    let mut open: Option<(usize, &str, &str)> = None;
    let unclosed =
        |(at, ..): (usize, &str, &str)| Err((at, format!("begins a generated region without '{CLOSING}'")));
    for (number, line) in unfenced(text) {
        if let Some(named) = line.strip_prefix(OPENING) {
            regions.extend(open.take().map(unclosed));
            match named.trim().strip_suffix("-->").and_then(|named| named.trim().split_once(' ')) {
                Some((result, tables)) => open = Some((number, result, tables)),
                None => {
                    let problem = "names no result and tables, as in 'quick.taillight.tgz claims'";
                    regions.push(Err((number, problem.into())));
                }
            }
        } else if line == CLOSING {
            regions.push(match open.take() {
                Some((first, result, tables)) => {
                    let (tables, of) = tables.split_once("; of ").unwrap_or((tables, ""));
                    Ok(Region { result, tables: list(tables), of: list(of), first, last: number - 1 })
                }
                None => Err((number, "ends a generated region that nothing begins".into())),
            });
        }
    }
    regions.extend(open.map(unclosed));
    regions
}

fn list(names: &str) -> Vec<&str> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_found_and_broken_ones_named() {
        let check = |text: &str, expect: Vec<Result<Region, usize>>| {
            let found: Vec<_> =
                all(text).into_iter().map(|region| region.map_err(|(line, _)| line)).collect();
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
