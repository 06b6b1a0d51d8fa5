//! Data that stores begin with: made once, copied before each start, and whole or not there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use app::{Making, PeopleSet, Plan, Running};
use tempfile::TempDir;

/// A store of files below `data`, filled by a shell, and a service that calls it.
const FILES: &str = r#"
[[setting]]
name = "kind"
doc = "d"
type = "choice"
words = ["files", "none"]
default = "files"

[[service]]
name = "keeper"
when = "settings.kind == 'files'"
account = "nobody"
needs = ["people"]
program = { name = "sh" }
args = ["-c", "echo up; exec sleep 600"]
prepare = [{ program = "sh", args = ["-c", "mkdir data; echo prepared >> LOG"] }]
ready = { line = "up" }
setting = [{ name = "size", doc = "d", type = "integer", default = 7 }]

[[service]]
name = "front"
calls = ["keeper"]
own-folder = true
program = { name = "sh" }
args = ["-c", "echo up; exec sleep 600"]
ready = { line = "up" }
[service.env]
KEEPERS = "{{ services.keeper | length }} {{ services.keeper[0].own if services.keeper }}"
[[service.file]]
path = "page"
folder = "site"

[[store]]
name = "rows"
service = "keeper"
[store.seed]
folder = "data"
settings = ["size"]
hash-cost = "4 + settings.size"
check = { program = "sh", args = ["-c", "cat data/*; cat data/* | cksum"] }
[[store.seed.step]]
program = "sh"
args = ["-c", "cat > data/schema"]
input = "schema.sql"
[[store.seed.step]]
program = "sh"
args = ["-c", "cat > data/{{ table.name }}; echo '{{ table.columns | join(',') }}' >> data/schema"]
tables = true
"#;

struct Fixture {
    root: TempDir,
}

impl Fixture {
    fn new(text: &str) -> Fixture {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("kept");
        fs::create_dir_all(folder.join("site/assets")).unwrap();
        fs::create_dir(root.path().join("log")).unwrap();
        let log = root.path().join("log/prepared");
        fs::write(&log, "").unwrap();
        for path in [&log, root.path()] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
        }
        let text = text.replace("LOG", &log.display().to_string());
        fs::write(folder.join("app.toml"), format!("name = \"kept\"\ntitle = \"T\"\n{text}")).unwrap();
        fs::write(folder.join("schema.sql"), "schema\n").unwrap();
        fs::write(folder.join("site/assets/style.css"), "style").unwrap();
        Fixture { root }
    }

    fn plan(&self) -> Plan {
        let app = app::of_folder(&self.root.path().join("kept")).unwrap_or_else(|e| panic!("{e}"));
        let mut plan = Plan::new(Arc::new(app), Path::new("/no/such/taillight"));
        plan.cache = Some(self.root.path().join("cache"));
        plan.people = Some(PeopleSet { users: 20, seed: 1 });
        plan
    }

    /// How often data were made.
    fn made(&self) -> usize {
        fs::read_to_string(self.root.path().join("log/prepared")).unwrap().lines().count()
    }

    /// The entries of the cache, without lock files.
    fn kept(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root.path().join("cache/seeds")) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with(".lock")).collect()
    }
}

fn own(running: &Running, service: &str) -> PathBuf {
    let found = running.services().find(|one| one.service.name == service).unwrap();
    found.instances[0].process.spec().dir.clone().unwrap()
}

fn read(path: PathBuf) -> String {
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn data_are_made_once_and_are_there_again_after_each_start() {
    let fixture = Fixture::new(FILES);
    let mut told = Vec::new();
    let made = fixture
        .plan()
        .make_seeds(&mut |making| {
            told.push(making.clone());
            true
        })
        .unwrap();
    assert_eq!((made.len(), fixture.made(), fixture.kept().len()), (1, 1, 1));
    let rows: u64 = made[0].record.rows.values().sum();
    assert!(told.contains(&Making::Prepared) && told.contains(&Making::Kept));
    assert!(told.contains(&Making::Filled { table: "messages".into(), rows, of: rows }), "{rows}: {told:?}");
    let mut running = fixture.plan().start().unwrap();
    assert_eq!(fixture.made(), 1, "the second start finds them");
    let data = own(&running, "keeper").join("data");
    let people = datasets::people::People::new(20, 1).unwrap();
    let mut users = Vec::new();
    datasets::people::Table::Users.write(&people, datasets::people::hash(11).unwrap(), &mut users).unwrap();
    assert_eq!(read(data.join("users")).as_bytes(), users, "the settings of the service count");
    let schema = read(data.join("schema"));
    assert!(schema.starts_with("schema\nid,name,display,hash,created\na,b,state,since\n"), "{schema}");
    fs::write(data.join("users"), "changed").unwrap();
    fs::write(data.join("more"), "more").unwrap();
    for _ in 0..2 {
        running.restart().unwrap();
        assert_eq!(read(data.join("users")).as_bytes(), users);
        assert!(!data.join("more").exists());
    }
    assert_eq!(
        made[0].record.bytes,
        fs::read_dir(&data).unwrap().map(|one| one.unwrap().metadata().unwrap().len()).sum::<u64>()
    );
}

#[test]
fn what_the_data_depend_on_makes_others_and_nothing_else_does() {
    let fixture = Fixture::new(FILES);
    let make = |change: &dyn Fn(&mut Plan)| {
        let mut plan = fixture.plan();
        change(&mut plan);
        plan.make_seeds(&mut |_| true).unwrap();
        fixture.made()
    };
    assert_eq!(make(&|_| ()), 1);
    assert_eq!(make(&|plan| plan.placement_mut("keeper").unwrap().threads = 2), 1);
    assert_eq!(make(&|plan| plan.people.as_mut().unwrap().seed = 2), 2);
    assert_eq!(make(&|plan| plan.people.as_mut().unwrap().users = 21), 3);
    assert_eq!(make(&|plan| plan.set(&["size=8"]).unwrap()), 4);
    assert_eq!(make(&|plan| plan.set(&["size=7"]).unwrap()), 4);
    fs::write(fixture.root.path().join("kept/site/assets/style.css"), "other").unwrap();
    assert_eq!(make(&|_| ()), 4, "they do not depend on that file");
    fs::write(fixture.root.path().join("kept/schema.sql"), "other").unwrap();
    assert_eq!(make(&|_| ()), 5);
    assert_eq!(fixture.kept().len(), 5);
    // The service is left out, and with it its store.
    assert_eq!(make(&|plan| plan.set(&["kind=none", "size=9"]).unwrap()), 5);
}

#[test]
fn data_that_are_gone_on_with_are_never_replaced() {
    // The first of the two services is the keeper of the data.
    let fixture = Fixture::new(&FILES.replacen(
        "program = { name = \"sh\" }",
        "file = [{ path = \"conf\", template = \"conf.j2\" }]\n\
         program = { name = \"sh\", version = { args = [\"--version\"], pattern = '^keeper (\\S+)' } }",
        1,
    ));
    let root = fixture.root.path();
    let binary = root.join("keeper");
    // A shell that has a version.
    let upgrade = |version: &str| {
        let script = format!("[ \"$1\" = --version ] && echo keeper {version} && exit\nexec /bin/sh \"$@\"");
        launch::testing::write_program(&binary, &script);
    };
    let configure = |text: &str| fs::write(root.join("kept/conf.j2"), text).unwrap();
    upgrade("15.14");
    configure("one\n");
    let kept = root.join("databases");
    let plan = |change: &dyn Fn(&mut Plan)| {
        let mut plan = fixture.plan();
        plan.kept = Some(kept.clone());
        plan.placement_mut("keeper").unwrap().binary = Some(binary.clone());
        change(&mut plan);
        plan
    };
    let written = kept.join("keeper-0/data/written");
    drop(plan(&|_| ()).start().unwrap());
    fs::write(&written, "by a user").unwrap();
    let goes_on = || {
        let running = plan(&|_| ()).start().unwrap();
        assert_eq!(read(own(&running, "keeper").join("data/written")), "by a user");
    };
    let refused = |change: &dyn Fn(&mut Plan), says: &str| {
        let error = plan(change).start().err().unwrap().to_string();
        let all = format!(
            "keeper: cannot go on with the data in {}: {says}; start it as it was then, or replace them by `up --fresh`, which \
             removes what was written since",
            kept.join("keeper-0").display()
        );
        assert_eq!(error, all);
        assert_eq!(read(written.clone()), "by a user");
    };
    goes_on();
    refused(
        &|plan| plan.people.as_mut().unwrap().users = 21,
        "they began with 20 users of seed 1, size=7, and this start wants 21 users of seed 1, size=7",
    );
    refused(
        &|plan| plan.set(&["size=8"]).unwrap(),
        "they began with 20 users of seed 1, size=7, and this start wants 20 users of seed 1, size=8",
    );
    refused(
        &|plan| plan.set(&["keeper.instances=2"]).unwrap(),
        "2 instances are asked for, and 1 instance shared them",
    );
    assert!(!kept.join("keeper-1").exists(), "nothing is made of the others");
    goes_on();
    // The reader changes, not the data.
    let made = fixture.made();
    configure("one\n# and a remark\n");
    goes_on();
    upgrade("15.15");
    goes_on();
    let description = root.join("kept/app.toml");
    let other = read(description.clone()).replace("echo up; exec sleep 600", "echo up; exec sleep 601");
    fs::write(&description, other).unwrap();
    goes_on();
    assert_eq!(fixture.made(), made + 3, "the seed follows from all of these");
    upgrade("16.0");
    refused(&|_| (), "version 15 wrote them, and this is 16");
    upgrade("15.15");
    // As they were marked before: by the key of the seed alone.
    let marker = kept.join("keeper-0/seed.json");
    fs::write(&marker, "0123456789abcdef0123456789abcdef").unwrap();
    refused(
        &|_| (),
        "an earlier Taillight kept them without a note of their origin; this start wants 20 users of seed 1, size=7",
    );
    // A start that was killed while it copied.
    fs::remove_file(&marker).unwrap();
    let running = plan(&|_| ()).start().unwrap();
    assert!(!own(&running, "keeper").join("data/written").exists());
    drop(running);
    // Two of them go on with two.
    fs::remove_dir_all(&kept).unwrap();
    let two = |plan: &mut Plan| plan.set(&["keeper.instances=2"]).unwrap();
    drop(plan(&two).start().unwrap());
    fs::write(kept.join("keeper-1/data/written"), "by a user").unwrap();
    drop(plan(&two).start().unwrap());
    let error = plan(&|_| ()).start().err().unwrap().to_string();
    assert!(error.contains("1 instance is asked for, and 2 instances shared them"), "{error}");
    assert_eq!(read(kept.join("keeper-1/data/written")), "by a user");
}

#[test]
fn what_was_stopped_half_way_is_no_seed() {
    let fixture = Fixture::new(FILES);
    for stop in ["users", "chats", "kept"] {
        let error = fixture.plan().make_seeds(&mut |making| match making {
            Making::Filled { table, .. } => table != stop,
            Making::Kept => stop != "kept",
            _ => true,
        });
        assert!(matches!(error, Err(app::Error::Stopped)), "{stop}");
        assert_eq!(fixture.kept(), [""; 0], "{stop}");
    }
    assert_eq!(fixture.made(), 3);
    // State after a killed process: no marker, and the name of a partial seed.
    fixture.plan().make_seeds(&mut |_| true).unwrap();
    let folder = fixture.root.path().join("cache/seeds").join(&fixture.kept()[0]);
    fs::remove_file(folder.join("seed.json")).unwrap();
    let partial = folder.with_extension("partial");
    fs::create_dir(&partial).unwrap();
    fs::write(partial.join("seed.json"), "{").unwrap();
    drop(fixture.plan().start().unwrap());
    assert_eq!((fixture.made(), fixture.kept().len()), (5, 1));
    assert!(folder.join("seed.json").exists());
}

#[test]
fn data_that_are_not_those_that_were_made_are_refused() {
    let fixture = Fixture::new(FILES);
    fixture.plan().make_seeds(&mut |_| true).unwrap();
    let folder = fixture.root.path().join("cache/seeds").join(&fixture.kept()[0]);
    fs::write(folder.join("data/chats"), "1\t2\t3\n").unwrap();
    let error = fixture.plan().start().err().unwrap().to_string();
    assert!(error.contains("keeper: cannot restore the store 'rows': its check says"), "{error}");
    assert!(error.contains(&format!("remove {}", folder.display())), "{error}");
}

#[test]
fn two_at_once_make_them_once() {
    let fixture = Fixture::new(FILES);
    let plans = [fixture.plan(), fixture.plan()];
    std::thread::scope(|scope| {
        let all = plans.map(|plan| scope.spawn(move || plan.make_seeds(&mut |_| true).unwrap().len()));
        assert_eq!(all.map(|one| one.join().unwrap()), [1, 1]);
    });
    assert_eq!((fixture.made(), fixture.kept().len()), (1, 1));
}

#[test]
fn what_cannot_be_made_is_told() {
    let check = |old: &str, new: &str, change: &dyn Fn(&mut Plan), says: &str| {
        assert!(FILES.contains(old), "{old}");
        let fixture = Fixture::new(&FILES.replace(old, new));
        let mut plan = fixture.plan();
        change(&mut plan);
        let error = plan.start().err().unwrap().to_string();
        assert!(error.contains(says), "{new}: {error}");
        assert_eq!(fixture.kept(), [""; 0]);
    };
    let same = |_: &mut Plan| ();
    check("cat > data/{{ table.name }};", "echo no luck >&2; exit 3;", &same, "no luck");
    check("{{ table.name }}", "{{ tabel.name }}", &same, "undefined value");
    check(
        "own-folder = true",
        "own-folder = true",
        &|plan| plan.people = None,
        "keeper must have something to serve: name the users",
    );
    check(
        "own-folder = true",
        "own-folder = true",
        &|plan| plan.people.as_mut().unwrap().users = 9,
        "from 10 to 1000000 users",
    );
    check("4 + settings.size", "16", &same, "there is no hash of cost 16; choose one from 4 to 15");
    check(
        "own-folder = true",
        "own-folder = true",
        &|plan| plan.cache = Some("/proc/no/such".into()),
        "keeper: cannot make the data of the store 'rows': /proc/no/such",
    );
}

#[test]
fn settings_of_the_application_leave_services_out() {
    let fixture = Fixture::new(FILES);
    let start = |set: &[&str]| {
        let mut plan = fixture.plan();
        plan.set(set).unwrap();
        plan.start().unwrap()
    };
    let keepers = |running: &Running| {
        let front = running.services().find(|one| one.service.name == "front").unwrap();
        front.instances[0].process.spec().env[0].1.clone()
    };
    let running = start(&[]);
    assert_eq!(keepers(&running), format!("1 {}", own(&running, "keeper").display()));
    let style = own(&running, "front").join("page/assets/style.css");
    assert_eq!(read(style), "style");
    let running = start(&["kind=none"]);
    assert_eq!(keepers(&running), "0 ");
    assert_eq!(running.services().count(), 1);
    let refused = |word: &str, says: &str| {
        let error = fixture.plan().set(&[word]).unwrap_err().to_string();
        assert!(error.contains(says), "{word}: {error}");
    };
    refused("kind=some", "kept: kind=some: 'some' is not one of its values; write kind=files|none");
    refused("knd=none", "did you mean 'kind'?; settings: kind=files|none; keeper.size=");
    refused("front.kind=none", "there is no setting 'kind'");
}

#[test]
fn rows_follow_from_each_setting_that_the_cost_of_a_hash_is_made_of() {
    let fixture = Fixture::new(&FILES.replace("settings = [\"size\"]", "settings = []"));
    let error = app::of_folder(&fixture.root.path().join("kept")).err().unwrap().to_string();
    assert!(error.contains("hash-cost: the rows follow from 'size': add it to settings"), "{error}");
}
