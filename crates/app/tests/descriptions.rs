//! Messages for wrong descriptions: the file, the place, and the nearest key.

use std::fs;
use std::path::Path;

const GOOD: &str = r#"
name = "NAME"
title = "T"
[[entrance]]
workload = "cache"
service = "one"
[[service]]
name = "one"
calls = ["two"]
args = ["-p", "{{ port }}", { when = "root", args = ["-u"] }]
program = { name = "sh" }
listen = [{ port = 11211 }]
file = [{ path = "a.conf", template = "a.conf.j2" }]
setting = [{ name = "level", doc = "d", type = "integer", default = 3 }]
[[service]]
name = "two"
when = "settings.kind"
program = { name = "sh" }
counters = { http = "/status" }
[[store]]
name = "data"
service = "two"
reset = { send = { text = "x", until = "y" } }

[store.seed]
folder = "rows"
settings = ["kind"]
[[store.seed.step]]
program = "sh"
input = "a.conf.j2"

[[setting]]
name = "kind"
doc = "d"
type = "text"
default = "a"
"#;

fn read(text: &str) -> Result<app::App, String> {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    fs::write(folder.path().join("app.toml"), text.replace("NAME", name)).unwrap();
    fs::write(folder.path().join("a.conf.j2"), "port {{ port }}").unwrap();
    app::of_folder(folder.path()).map_err(|e| e.to_string())
}

#[test]
fn a_good_one_is_read() {
    let app = read(GOOD).unwrap();
    assert_eq!(app.workload(), Some(app::Workload::Cache));
    assert_eq!(app.services.len(), 2);
    for name in app::names() {
        let app = app::of_name(name).unwrap();
        assert!(app.name == name && !app.title.is_empty());
    }
}

#[test]
fn a_mistake_is_named_with_its_place() {
    let check = |old: &str, new: &str, says: &[&str]| {
        assert!(GOOD.contains(old), "{old}");
        let error = read(&GOOD.replacen(old, new, 1)).unwrap_err();
        assert!(error.contains("app.toml: "), "{error}");
        assert!(says.iter().all(|words| error.contains(words)), "{new}: {error}");
    };
    check("name = \"NAME\"", "name = \"other\"", &["name = \"other\" in a folder called"]);
    check("title", "titel", &["line 3", "unknown field `titel`", "did you mean 'title'?"]);
    check("calls", "call", &["line 9", "did you mean 'calls'?"]);
    check("\"cache\"", "\"cash\"", &["unknown variant", "did you mean 'cache'?"]);
    check(
        "[\"two\"]",
        "[\"too\"]",
        &["service 'one': calls: there is no service 'too'; did you mean 'two'?"],
    );
    check("service = \"one\"", "service = \"un\"", &["entrance 'cache': there is no service 'un'"]);
    check("listen = [{ port = 11211 }]", "", &["entrance 'cache': service 'one' has no [[service.listen]]"]);
    check("{ port = 11211 }", "{ port = 0 }", &["listen 'main': a TCP address has a port"]);
    check("{ port = 11211 }", "{ port = 1, prints-address = true }", &["takes the line of `ready`"]);
    check("\"{{ port }}\"", "\"{{ port\"", &["service 'one'", "syntax error"]);
    check("when = \"root\"", "when = \"root and\"", &["service 'one'", "'root and'"]);
    check(
        "template = \"a.conf.j2\"",
        "template = \"a.cnf.j2\"",
        &["no template 'a.cnf.j2'; did you mean 'a.conf.j2'?"],
    );
    check("path = \"a.conf\"", "path = \"../a.conf\"", &["a path within the folder"]);
    check(
        "name = \"level\"",
        "name = \"threads\"",
        &["setting 'threads': every service has a field of that name"],
    );
    check("default = 3", "default = \"x\"", &["setting: default: level=x", "not a whole number"]);
    check("name = \"two\"", "name = \"one\"", &["two services are called 'one'"]);
    check("name = \"two\"", "name = \"two\"\ncalls = [\"one\"]", &["one, two call each other in a circle"]);
    check("name = \"one\"", "name = \"one.x\"", &["letters, digits and hyphens"]);
    check("{ http = \"/status\" }", "{}", &["give one of `send`, `http`, `command`"]);
    check("{ http = \"/status\" }", "{ http = \"/\", patterns = [\"(\"] }", &["regular expression '('"]);
    check("service = \"two\"", "service = \"tow\"", &["store 'data': there is no service 'tow'"]);
    check("{ send = { text = \"x\", until = \"y\" } }", "{}", &["store 'data': an action is one of"]);
    check(
        "when = \"settings.kind\"",
        "when = \"settings.knd\"",
        &["service 'two': when:", "'settings.knd' is no setting of the application; there are kind"],
    );
    check("type = \"text\"", "type = \"txt\"", &["did you mean 'text'?"]);
    check(
        "name = \"level\"",
        "name = \"kind\"",
        &["service 'one': setting 'kind': the application has one of that name"],
    );
    check("name = \"kind\"", "name = \"cpus\"", &["setting 'cpus': every service has a field"]);
    check(
        "folder = \"rows\"",
        "folder = \"../rows\"",
        &["store 'data': seed: folder '../rows': a path within"],
    );
    check("[\"kind\"]", "[\"knd\"]", &["seed: settings: there is no setting 'knd'; did you mean 'kind'?"]);
    check("input = \"a.conf.j2\"", "input = \"b\"", &["seed: there is no file 'b' beside the description"]);
    check("input = \"a.conf.j2\"", "input = \"a.conf.j2\"\ntables = true", &["one of `input`, `tables`"]);
    check("template = \"a.conf.j2\"", "folder = \"site\"", &["there is no folder 'site' beside"]);
    check(
        "template = \"a.conf.j2\"",
        "folder = \"site\", npm = \"a\"",
        &["one of `template`, `npm` and `folder`"],
    );
    check(
        "program = { name = \"sh\" }",
        "forms = [\"kvm\"]\nprogram = { name = \"sh\" }",
        &["forms:", "kvm"],
    );
}

#[test]
fn an_application_that_is_not_there_is_named() {
    let error = app::of_name("ngnix").unwrap_err().to_string();
    assert!(
        error.contains("'ngnix'") && error.contains("memcached") && error.contains("did you mean 'nginx'?"),
        "{error}"
    );
    let error = app::of_folder(Path::new("/no/such")).unwrap_err().to_string();
    assert!(error.contains("/no/such/app.toml") && error.contains("holds an app.toml"), "{error}");
    let empty = tempfile::tempdir().unwrap();
    let error = app::of_folder(empty.path()).unwrap_err().to_string();
    assert!(error.contains("app.toml"), "{error}");
}

#[test]
fn one_that_is_like_another_has_what_lies_beside_that() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let file = root.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("base/app.toml", &GOOD.replace("NAME", "base"));
    write("base/a.conf.j2", "port {{ port }}");
    write(
        "own/app.toml",
        "name = \"own\"\ntitle = \"O\"\nlike = \"base\"\n[[service]]\nname = \"one\"\nargs = []\n",
    );
    let app = app::of_folder(&root.path().join("own")).unwrap();
    assert_eq!((app.name.as_str(), app.made_as(), app.services.len()), ("own", "base", 2));
    assert!(app.services[0].args.is_empty() && app.services[0].files.len() == 1, "{:?}", app.services[0]);
    let base = app::of_folder(&root.path().join("base")).unwrap();
    assert_eq!(app.built_folder(), base.built_folder(), "programs are made once for both");
    assert_eq!(app.folder(), base.folder());
    write("own/app.toml", "name = \"own\"\ntitle = \"O\"\nlike = \"bas\"\n");
    let error = app::of_folder(&root.path().join("own")).unwrap_err().to_string();
    assert!(error.contains("bas/app.toml"), "{error}");
}
