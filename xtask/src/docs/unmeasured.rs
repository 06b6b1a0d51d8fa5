//! Content of a region whose result is not in the tree: the commands that measure it, and no figure.

/// Beginning of the line in a region without a result.
const UNMEASURED: &str = "**Not measured with this version yet:**";
/// Name of a study's result, in the study's folder.
pub(super) const STUDY_RESULT: &str = "result.taillight.tgz";
/// Folder of the results that no study makes.
const RESULTS: &str = "docs/reference/results/";

/// The command that measures a result of `RESULTS`, and the option that names the file to write.
///
/// Each document states its bounds on a machine of two processors.
const COMMANDS: [(&str, &str, &str); 20] = [
    ("accuracy", "taillight accuracy --only kernel,servers,web-kernel", "--tables"),
    ("accuracy-peers", "taillight accuracy --only peers", "--tables"),
    ("accuracy-protocols", "taillight accuracy --only http2-kernel,resp-kernel", "--tables"),
    ("accuracy-web-peers", "taillight accuracy --only web-peers", "--tables"),
    ("calibration", "taillight selftest --calibration", "--tables"),
    (
        "calibration-simulated",
        "taillight selftest --calibration --simulated --comparisons 40 --budget 51s",
        "--tables",
    ),
    ("ceiling-resp", "cargo bench -p taillight --bench ceiling -- --resp --seconds 2", "--json"),
    ("fair", "cargo bench -p sphinx --bench fair -- --rounds 7", "--json"),
    ("faults", "taillight selftest --faults", "--tables"),
    (
        "hits-16",
        "cargo bench -p sphinx --bench hits -- --memory 16 --keys 250000 --requests 1500000",
        "--json",
    ),
    (
        "hits-64",
        "cargo bench -p sphinx --bench hits -- --memory 64 --keys 1000000 --requests 6000000",
        "--json",
    ),
    (
        "policies",
        "cargo bench -p sphinx --bench policies -- --memory 64 --keys 1000000 --requests 4000000",
        "--json",
    ),
    ("sampling", "cargo bench -p sphinx --bench sampling -- --memory 64", "--json"),
    ("speed-open", "cargo bench -p taillight --bench sphinx -- --only open --seconds 1", "--json"),
    ("speed-peak", "cargo bench -p taillight --bench sphinx -- --only peak --seconds 1", "--json"),
    (
        "speed-throughput",
        "cargo bench -p taillight --bench sphinx -- --only throughput --seconds 1",
        "--json",
    ),
    ("speed-transfers", "cargo bench -p taillight --bench sphinx -- --only transfers --seconds 2", "--json"),
    (
        "speed-two",
        "cargo bench -p taillight --bench sphinx -- --only two --seconds 1 --sphinx --as-published",
        "--json",
    ),
    (
        "speed-values",
        "cargo bench -p taillight --bench sphinx -- --only values,etc --seconds 1 \
         --sphinx '--spin off --io epoll'",
        "--json",
    ),
    ("web", "cargo bench -p taillight --bench web -- --seconds 2", "--json"),
];

/// The commands that make the result at `path`, from the root, one after the other; `None` if unknown.
pub(super) fn commands(path: &str) -> Option<Vec<String>> {
    if let Some(name) = path.strip_prefix(RESULTS) {
        let name = name.strip_suffix(".json")?;
        let (_, command, option) = COMMANDS.iter().find(|(known, ..)| *known == name)?;
        // A bench runs in the folder of its crate.
        return Some(vec![format!("{command} {option} $PWD/{path}")]);
    }
    let study = study(path)?;
    Some(vec![
        format!("taillight study run {study} --quick"),
        format!("taillight pack --figures-only results/…-{study}-quick --out {path}"),
    ])
}

/// The name of the study that has its result at `path`.
pub(super) fn study(path: &str) -> Option<&str> {
    let (folder, file) = path.rsplit_once('/')?;
    let (_number, study) = folder.strip_prefix("studies/")?.split_once('-')?;
    (file == STUDY_RESULT).then_some(study)
}

/// Content of the region of the result at `path`.
///
/// # Errors
///
/// No command that measures it is known.
pub(super) fn lines(path: &str) -> Result<Vec<String>, String> {
    let commands = commands(path).ok_or_else(|| format!("there is no result {path}"))?;
    let mut lines = vec![String::new(), format!("{UNMEASURED} on a quiet machine it takes")];
    lines.extend(commands.iter().map(|command| format!("`{command}`, then")));
    lines.extend(["`cargo xtask docs`.".to_owned(), String::new()]);
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_the_commands_that_make_it() {
        let check = |path: &str, expect: Option<&[&str]>| {
            let expect = expect.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>());
            assert_eq!(commands(path), expect, "{path}");
        };
        check(
            "studies/03-key-size/result.taillight.tgz",
            Some(&[
                "taillight study run key-size --quick",
                "taillight pack --figures-only results/…-key-size-quick --out studies/03-key-size/result.taillight.tgz",
            ]),
        );
        check(
            "docs/reference/results/web.json",
            Some(&["cargo bench -p taillight --bench web -- --seconds 2 --json \
                 $PWD/docs/reference/results/web.json"]),
        );
        check("docs/reference/results/other.json", None);
        check("studies/03-key-size/other.taillight.tgz", None);
        check("README.json", None);
    }

    #[test]
    fn a_region_that_is_not_measured_has_no_row() {
        let lines = lines("docs/reference/results/speed-two.json").unwrap();
        assert!(lines.iter().any(|line| line.starts_with(UNMEASURED)), "{lines:?}");
        assert!(lines.iter().all(|line| !line.starts_with('|')), "{lines:?}");
        assert!(super::lines("studies/x/other.json").unwrap_err().contains("no result studies/x/other.json"));
    }
}
