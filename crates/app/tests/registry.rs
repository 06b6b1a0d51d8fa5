//! The registry of the movie application and the table in its reference are the same.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use app::{App, Service};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/movies.md");
const BEGIN: &str = "<!-- registry -->\n";
const END: &str = "<!-- end registry -->\n";

fn app() -> App {
    app::of_name("movies").unwrap_or_else(|e| panic!("{e}"))
}

/// A row of the table by its number and name.
fn rows(app: &App) -> BTreeMap<(u16, &str), String> {
    let mut rows = BTreeMap::new();
    for one in &app.services {
        let language = match one.written {
            true => one.language.clone(),
            false => {
                format!("{} ({})", one.language, one.program.package.as_deref().unwrap_or(&one.program.name))
            }
        };
        let size = format!(
            "{}, {}, {} MiB",
            one.instances.unwrap_or(1),
            one.threads.unwrap_or(1),
            one.memory.map_or(0, |memory| memory.0 >> 20)
        );
        let cells =
            [language, one.role.clone(), one.methods.join(", "), calls(one), one.stores.join(", "), size];
        rows.insert((one.number.expect("each has one"), one.name.as_str()), cells.join(" | "));
    }
    for one in &app.members {
        let role = format!("{}; runs {}", one.role, one.runs);
        let cells = [&*one.language, &role, "", &one.calls.join(", "), &one.stores.join(", "), ""];
        rows.insert((one.number, one.name.as_str()), cells.join(" | "));
    }
    rows
}

fn calls(service: &Service) -> String {
    let call =
        |name: &String| if service.optional.contains(name) { format!("({name})") } else { name.clone() };
    service.calls.iter().map(call).collect::<Vec<_>>().join(", ")
}

fn table(app: &App) -> String {
    let mut text = String::from(
        "\n| no | service | language | role | methods | calls | stores | instances; threads and memory of all together |\n|---|---|---|---|---|---|---|---|\n",
    );
    for ((number, name), cells) in rows(app) {
        writeln!(text, "| {number} | `{name}` | {cells} |").unwrap();
    }
    text + "\n"
}

#[test]
fn the_reference_has_the_table_of_the_registry() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    let wanted = table(&app());
    if std::env::var_os("UPDATE_REGISTRY").is_some() {
        fs::write(PAGE, format!("{before}{BEGIN}{wanted}{END}{after}")).unwrap();
    } else {
        assert_eq!(found, wanted, "write it anew: UPDATE_REGISTRY=1 cargo test -p app --test it registry");
    }
}

#[test]
fn it_has_the_services_of_the_publication() {
    let app = app();
    let numbers: Vec<u16> = rows(&app).into_keys().map(|(number, _)| number).collect();
    assert!((1..=37).all(|number| numbers.contains(&number)), "{numbers:?}");
    let written = app.services.iter().filter(|service| service.written).count();
    let members = app.members.iter().filter(|member| member.written).count();
    assert_eq!(written + members, 27);
    let languages: std::collections::BTreeSet<&str> =
        app.services.iter().filter(|one| one.written).map(|one| one.language.as_str()).collect();
    assert_eq!(
        languages.into_iter().collect::<Vec<_>>().join(" "),
        "C C++ Go Java JavaScript PHP Python Scala"
    );
    // Each language is made by one script.
    for service in app.services.iter().filter(|service| service.written) {
        let builds =
            app.builds.iter().filter(|build| !build.apart && build.languages.contains(&service.language));
        assert_eq!(builds.count(), 1, "{}", service.language);
    }
    assert_eq!(app.front().map(|service| service.name.as_str()), Some("load-balancer"));
}
