use super::age::Change;
use super::*;

const JSON: &str = r#"{
  "schema": 1, "created": "2026-11-23T03:14:08Z", "command": "taillight study run x --quick", "version": "0.1.0",
  "machine": "X, 2 cores", "targets": ["sphinx"], "validity": ["quick run", "3 measurements: 2 valid, 1 overloaded."],
  "tables": [
    {"id": "claims", "title": "Claims", "columns": ["claim", "verdict"], "rows": [["a|b", "reproduced"]]},
    {"id": "p99", "title": "p99", "columns": ["load", "sphinx"], "rows": [["10 %", "14 µs"]], "notes": ["!: invalid"]}
  ]
}"#;

const PAPERS: &str = "
[[figure]]
paper = \"IISWC'17\"
name = 'Fig. 1'
shows = 'The load.'
studies = ['1-x']

[[figure]]
paper = \"IISWC'17\"
name = 'Table I'
shows = 'The machines.'
instead = 'each result'
why = 'they are gone'

[[figure]]
paper = \"IISWC'17\"
name = 'Fig. 3'
shows = 'Threads.'
studies = ['1-x', '2-y']
";

/// A document next to these results, and the paths changed since, if known.
fn made_at(file: &str, text: &str, changed: Option<&[&str]>) -> Made {
    let claims = |claims: &[(&str, &str)]| -> String {
        let claim =
            |(text, source): &(&str, &str)| format!("[[claim]]\ntext = '{text}'\nsource = \"{source}\"\n");
        claims.iter().map(claim).collect()
    };
    let first = [("a|b", "IISWC'17 Fig. 1: 70 %"), ("new", "IISWC'17 Fig. 2"), ("xeon", "IISWC'17 Fig. 3")];
    let second = [("c", "ours"), ("d", "ANCS'19 §V"), ("e", "IISWC'17 §V, Figs. 3 and 10")];
    let study = "[[parameter]]\nabout = 'threads'\nvalue = 'min(7, server)'\npublished = 7\n\
        [[parameter]]\nabout = 'form'\nvalue = \"'bare'\"\npublished = 'bare'\n";
    let paths = ["crates/openloop/REVISIONS.md", "crates/other"];
    let repository = Repository::of(&[
        (paths[0], ""),
        (paths[1], ""),
        ("studies/x/quick.taillight.tgz", ""),
        ("studies/x/commit.json", ""),
        ("studies/1-x/result.taillight.tgz", ""),
        ("studies/1-x/claims.toml", &(claims(&first) + "when = \"machine == 'Xeon'\"\n")),
        ("studies/1-x/study.toml", study),
        ("studies/2-y/claims.toml", &claims(&second)),
        (figures::FILE, PAPERS),
    ]);
    let commit = r#""version": "0.1.0", "commit": "abc1234","#;
    let judged = r#"[["a|b", "IISWC'17", "reproduced", "m: 2 (1 to 3)"]]"#;
    let mut tree = Tree::new(&repository);
    for (path, json) in [
        ("studies/x/quick.taillight.tgz", JSON.to_owned()),
        ("studies/x/commit.json", JSON.replace(r#""version": "0.1.0","#, commit)),
        ("studies/1-x/result.taillight.tgz", JSON.replace(r#"[["a|b", "reproduced"]]"#, judged)),
    ] {
        tree.known.insert(path.to_owned(), Tables::parse(json.as_bytes()));
    }
    for path in paths {
        let time = changed.map(|changed| if changed.contains(&path) { "2026-11-24" } else { "2026-11-22" });
        let change = time.map_or(Change::Unknown, |day| Change::At(format!("{day}T00:00:00")));
        tree.history.known.insert(path.to_owned(), change);
    }
    document(file, text, &mut tree)
}

fn made(text: &str, changed: Option<&[&str]>) -> Made {
    made_at("studies/x/README.md", text, changed)
}

/// Line and problem of each finding.
fn found(made: &Made) -> Vec<(usize, &str)> {
    made.findings.iter().map(|finding| (finding.line.unwrap(), finding.problem.as_str())).collect()
}

const EMPTY: &str = "# X\n\n<!-- generated: quick.taillight.tgz p99 -->\n<!-- end generated -->\n\nend\n";

const FULL: &str = "# X\n\n<!-- generated: quick.taillight.tgz p99 -->\n\n| load | sphinx |\n|---|---|\n\
    | 10 % | 14 µs |\n\n!: invalid\n\nMeasured on 2026-11-23 by `taillight study run x --quick`, Taillight 0.1.0, on X, 2 \
    cores.\nQuick run. 3 measurements: 2 valid, 1 overloaded.\n\n<!-- end generated -->\n\nend\n";

#[test]
fn a_region_is_written_once_and_for_all() {
    let first = made(EMPTY, Some(&[]));
    assert_eq!(first.text, FULL);
    assert_eq!(found(&first).len(), 1);
    let again = made(FULL, Some(&[]));
    assert_eq!((again.text.as_str(), found(&again)), (FULL, vec![]));
}

#[test]
fn a_changed_figure_is_found() {
    let edited = FULL.replace("14 µs", "12 µs");
    let made = made(&edited, Some(&[]));
    let problem = "has '| 10 % | 12 µs |', but quick.taillight.tgz gives '| 10 % | 14 µs |'";
    assert_eq!(found(&made), [(7, problem)]);
    assert_eq!(made.findings[0].file, "studies/x/README.md");
    assert_eq!(made.text, FULL);
}

#[test]
fn an_older_result_says_so_and_keeps_saying_it_where_history_is_not_known() {
    let older = made(FULL, Some(&["crates/openloop/REVISIONS.md"]));
    let line =
        "\n\n**Older than what it measures:** `crates/openloop/REVISIONS.md` changed since.\n\n<!-- end";
    assert!(older.text.contains(line), "{}", older.text);
    // The next commit may change that, so that it is written and not asked for.
    assert_eq!(found(&older), []);
    let kept = made(&older.text, None);
    assert_eq!((kept.text.as_str(), found(&kept)), (older.text.as_str(), vec![]));
    assert_eq!(made(FULL, None).text, FULL);
    assert_eq!(made(&older.text, Some(&[])).text, FULL);
}

#[test]
fn a_region_may_name_what_its_tables_measure() {
    let text = |of: &str| FULL.replace("tgz p99", &format!("tgz p99; of {of}"));
    let older = |of: &str| made(&text(of), Some(&["crates/other"])).text.contains("**Older than");
    assert!(older("crates/other"));
    assert!(older("crates/openloop/REVISIONS.md, crates/other"));
    assert!(!older("crates/openloop/REVISIONS.md"));
    let gone = made(&text("crates/gone"), Some(&[]));
    assert_eq!(found(&gone), [(3, "there is no crates/gone for its tables to measure")]);
}

#[test]
fn the_commit_is_named_where_it_is_known() {
    let made = made(&EMPTY.replace("quick.taillight.tgz", "commit.json"), Some(&[]));
    assert!(made.text.contains("Taillight 0.1.0 at commit abc1234, on X, 2 cores."), "{}", made.text);
}

#[test]
fn a_region_without_its_result_has_the_commands_and_no_figure() {
    let region = |result: &str, content: &str| {
        format!("<!-- generated: {result} p99 -->\n{content}<!-- end generated -->\n")
    };
    let unmeasured = "\n**Not measured with this version yet:** on a quiet machine it takes\n`taillight study run y --quick`, then\n\
        `taillight pack --figures-only results/…-y-quick --out studies/0-y/result.taillight.tgz`, then\n\
        `cargo xtask docs`.\n\n";
    let check = |content: &str, problems: usize| {
        let text = region("result.taillight.tgz", content);
        let made = made_at("studies/0-y/README.md", &text, Some(&[]));
        assert_eq!(made.text, region("result.taillight.tgz", unmeasured));
        assert_eq!(made.findings.len(), problems, "{:?}", made.findings);
    };
    check(unmeasured, 0);
    check("", 1);
    check("\n| load | sphinx |\n|---|---|\n| 10 % | 14 µs |\n\n", 1);
    check(&format!("{unmeasured}| load | sphinx |\n|---|---|\n| 10 % | 14 µs |\n"), 1);
}

#[test]
fn a_study_without_a_region_is_found() {
    let check = |file: &str, text: &str, expect: usize| {
        let found = without_region(&Repository::of(&[(file, text)]));
        assert_eq!(found.len(), expect, "{file} {found:?}");
    };
    check("studies/0-y/README.md", "# Y\n", 1);
    check("studies/0-y/README.md", EMPTY, 0);
    check("studies/README.md", "# Studies\n", 0);
    check("docs/README.md", "# Y\n", 0);
}

#[test]
fn an_unknown_result_or_table_is_named_and_the_text_is_left() {
    let check = |from: &str, to: &str, expect: &str| {
        let text = FULL.replace(from, to);
        let made = made(&text, Some(&[]));
        assert_eq!(found(&made), [(3, expect)]);
        assert_eq!(made.text, text);
    };
    check("quick.taillight.tgz p99", "gone.json p99", "there is no result studies/x/gone.json");
    check("tgz p99", "tgz p98", "there is no table 'p98', only claims, p99");
    check("<!-- end generated -->\n", "", "begins a generated region without '<!-- end generated -->'");
}

#[test]
fn several_tables_have_their_titles() {
    let text = made(&EMPTY.replace("p99", "claims, p99"), Some(&[])).text;
    assert!(text.contains("\n*Claims*\n\n| claim") && text.contains("\n*p99*\n\n| load"), "{text}");
}

#[test]
fn words_do_not_become_markdown() {
    let text = made(&EMPTY.replace("p99", "claims"), Some(&[])).text;
    assert!(text.contains("| a\\|b | reproduced |"), "{text}");
}

#[test]
fn tables_of_another_schema_are_refused() {
    let newer = JSON.replace("\"schema\": 1", "\"schema\": 2");
    assert_eq!(Tables::parse(newer.as_bytes()).unwrap_err(), "has tables of schema 2, not 1");
}

#[test]
fn tables_are_read_from_what_was_packed() {
    let folder = std::env::temp_dir().join(format!("taillight-docs-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (json, packed) = (folder.join("tables.json"), folder.join("quick.taillight.tgz"));
    fs::write(&json, JSON).unwrap();
    let tar = |name: &str| {
        let mut tar = std::process::Command::new("tar");
        let tar = tar.arg("-czf").arg(&packed).arg("-C").arg(&folder).arg(name).status().unwrap();
        assert!(tar.success());
    };
    tar("tables.json");
    let expect = Tables::parse(JSON.as_bytes()).unwrap();
    assert_eq!(Tables::read(&packed, "quick.taillight.tgz").unwrap(), expect);
    assert_eq!(Tables::read(&json, "tables.json").unwrap(), expect);
    fs::write(folder.join("study.json"), "{}").unwrap();
    tar("study.json");
    let error = Tables::read(&packed, "quick.taillight.tgz").unwrap_err();
    assert!(error.contains("has no tables"), "{error}");
    assert!(Tables::read(&folder.join("x.json"), "x.json").unwrap_err().contains("no result x.json"));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn all_claims_stand_below_their_figures() {
    let text = "<!-- generated: ../../studies claims -->\n<!-- end generated -->\n";
    let made = made_at("docs/reference/papers.md", text, None);
    let expect = "\nOf 6 claims 1 are reproduced, 1 cannot be measured on the machine that measured them, 4 are not measured yet.\n\n\
        ## IISWC'17\n\n### Fig. 1\n\nThe load.\n\n\
        - [1-x](../../studies/1-x/README.md): quick run, on 2026-11-23. Deviations: threads: `min(7, server)` instead of 7.\n\n\
        | paper | claim | here | verdict | study |\n|---|---|---|---|---|\n\
        | Fig. 1: 70 % | a\\|b | m: 2 (1 to 3) | reproduced | [1-x](../../studies/1-x/README.md) |\n\
        | Fig. 2 | new |  | not measured yet | [1-x](../../studies/1-x/README.md) |\n\n\
        ### Table I\n\nThe machines.\n\n- Shown instead by each result.\n- Not shown: they are gone.\n\n\
        ### Fig. 3\n\nThreads.\n\n\
        - [1-x](../../studies/1-x/README.md): quick run, on 2026-11-23. Deviations: threads: `min(7, server)` instead of 7.\n\
        - [2-y](../../studies/2-y/README.md): not measured yet.\n\n\
        | paper | claim | here | verdict | study |\n|---|---|---|---|---|\n\
        | Fig. 3 | xeon | it is about other machines | not measurable here | [1-x](../../studies/1-x/README.md) |\n\
        | §V, Figs. 3 and 10 | e |  | not measured yet | [2-y](../../studies/2-y/README.md) |\n\n\
        ## ANCS'19\n\n\
        | paper | claim | here | verdict | study |\n|---|---|---|---|---|\n\
        | §V | d |  | not measured yet | [2-y](../../studies/2-y/README.md) |\n\n\
        ## Other publications, and this project's own expectations\n\n\
        | paper | claim | here | verdict | study |\n|---|---|---|---|---|\n\
        | ours | c |  | not measured yet | [2-y](../../studies/2-y/README.md) |\n\n";
    assert!(made.text.contains(expect), "{}", made.text);
}

#[test]
fn a_claim_belongs_to_the_first_figure_of_its_study_that_it_names() {
    let figures = figures::all(&Repository::of(&[(figures::FILE, PAPERS)])).unwrap();
    let check = |study: &str, source: &str, expect: Option<usize>| {
        let found = figures::of_claim(&figures, "IISWC'17", study, source);
        assert!(found == expect.map(|at| &figures[at]), "{study}: {source}");
    };
    check("1-x", "IISWC'17 Fig. 3, as Fig. 1 has it", Some(2));
    check("1-x", "IISWC'17 Fig. 10, Fig. 3", Some(2));
    check("1-x", "IISWC'17 §V, Table I", Some(0));
    check("2-y", "IISWC'17 Fig. 1", Some(2));
    check("3-z", "IISWC'17 Fig. 1", None);
}

#[test]
fn a_figure_has_a_study_or_a_reason() {
    let check = |from: &str, to: &str, expect: &[&str]| {
        let papers = PAPERS.replace(from, to);
        let files = [
            (figures::FILE, papers.as_str()),
            ("studies/1-x/study.toml", ""),
            ("studies/2-y/study.toml", ""),
        ];
        let found: Vec<String> =
            figures::findings(&Repository::of(&files)).into_iter().map(|finding| finding.problem).collect();
        assert_eq!(found, expect, "{to}");
    };
    check("", "", &[]);
    check("instead = 'each result'\n", "", &[]);
    check(
        "instead = 'each result'\nwhy = 'they are gone'\n",
        "",
        &["IISWC'17 Table I has neither a study nor a reason"],
    );
    check("studies = ['1-x']", "studies = ['3-z']", &["IISWC'17 Fig. 1 names an unknown study, 3-z"]);
    check("17\"\nname = 'Fig. 3'", "18\"\nname = 'Fig. 3'", &["IISWC'18 Fig. 3 is of an unknown paper"]);
}
