//! The parts of `app.toml` on an application made from source: its members that are not services, its caches, and how
//! its programs and its data are made.

use serde::Deserialize;

use crate::check::{is_inside, known, unique};
use crate::parts::Beside;
use crate::{App, template};

/// A part of an application that is not started as a service: a batch job, a folder of files, a page in a browser.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its number in the application.
    pub number: u16,
    /// The language that it is written in; empty if none.
    #[serde(default)]
    pub language: String,
    /// Its task, in half a line.
    pub role: String,
    /// Its environment, in half a line.
    pub runs: String,
    /// Whether its code is a part of the application.
    #[serde(default)]
    pub written: bool,
    /// The folder of its code, if not `services/NAME`.
    pub sources: Option<String>,
    /// The services that it speaks to.
    #[serde(default)]
    pub calls: Vec<String>,
    /// The stores that it reads.
    #[serde(default)]
    pub stores: Vec<String>,
}

/// A cache of a domain's data.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cache {
    /// Its name, which services have in `caches`.
    pub name: String,
    /// The services that can provide it; the started ones do.
    pub services: Vec<String>,
}

/// How programs of an application are made from source.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Build {
    /// Its name in messages.
    pub name: String,
    /// The languages whose services it makes.
    pub languages: Vec<String>,
    /// The script in the description's folder. Its arguments are the folder of the sources and the folder of the
    /// results, which it keeps. It exits with status 3 if programs are missing, and names them.
    pub script: String,
    /// Further arguments of the script.
    #[serde(default)]
    pub args: Vec<String>,
    /// Programs and files that the script needs, with their packages.
    #[serde(default)]
    pub needs: Vec<Beside>,
    /// Whether it is made only by name: no started service needs it.
    #[serde(default)]
    pub apart: bool,
}

/// How the data set of an application is made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DataSet {
    /// The program that makes it.
    pub program: String,
    /// The Debian packages of the program and its dependencies.
    pub package: Option<String>,
    /// Programs and files that it needs, with their packages.
    #[serde(default)]
    pub needs: Vec<Beside>,
    /// The script in the description's folder; its argument is the output folder. Other files in the script's folder
    /// are part of it.
    pub script: String,
    /// Further arguments, as templates over the settings of the application.
    #[serde(default)]
    pub args: Vec<String>,
    /// A file that is there once all of it is.
    pub whole: String,
}

/// Checks the parts of the registry that are unrelated to starting services: numbers, methods, stores, caches, builds,
/// data.
pub(crate) fn check(app: &App) -> Result<(), String> {
    let services: Vec<&str> = app.services.iter().map(|service| service.name.as_str()).collect();
    let stores: Vec<&str> = app.stores.iter().map(|store| store.name.as_str()).collect();
    let caches: Vec<&str> = app.caches.iter().map(|cache| cache.name.as_str()).collect();
    let all = |place: &str, names: &[String], known_ones: &[&str], what: &str| {
        names.iter().try_for_each(|name| known(place, name, known_ones, what))
    };
    unique("members", services.iter().copied().chain(app.members.iter().map(|one| one.name.as_str())))?;
    unique("caches", caches.iter().copied())?;
    for service in &app.services {
        let place = |key: &str| format!("service '{}': {key}", service.name);
        all(&place("stores"), &service.stores, &stores, "store")?;
        all(&place("caches"), &service.caches, &caches, "cache")?;
        let calls: Vec<&str> = service.calls.iter().map(String::as_str).collect();
        all(&place("optional: it is one of `calls`"), &service.optional, &calls, "call")?;
        unique("methods of one service", service.methods.iter().map(String::as_str))
            .map_err(|problem| place(&problem))?;
        if service.written && service.methods.is_empty() {
            return Err(place("it is written here and has no `methods`"));
        }
        if service.program.built && app.builds.is_empty() {
            return Err(place("program: it is `built` of an application without [[build]]"));
        }
        for (field, number) in [("threads", service.threads), ("instances", service.instances)] {
            if number.is_some_and(|number| !(1..=256).contains(&number)) {
                return Err(place(&format!("{field}: a number from 1 to 256")));
            }
        }
    }
    for member in &app.members {
        let place = |key: &str| format!("member '{}': {key}", member.name);
        all(&place("calls"), &member.calls, &services, "service")?;
        all(&place("stores"), &member.stores, &stores, "store")?;
    }
    for cache in &app.caches {
        all(&format!("cache '{}'", cache.name), &cache.services, &services, "service")?;
    }
    numbers(app)?;
    let scripts =
        app.builds.iter().map(|build| &build.script).chain(app.data.iter().map(|data| &data.script));
    for script in scripts {
        if !is_inside(script) {
            return Err(format!("script '{script}': a path within the folder of the description"));
        }
    }
    for argument in app.data.iter().flat_map(|data| &data.args) {
        template::check(argument)?;
    }
    Ok(())
}

/// Errors: two services have the same number; alternatives of which the settings start one may share it.
fn numbers(app: &App) -> Result<(), String> {
    let of_cache = |name: &str| {
        let place = app.caches.iter().position(|cache| cache.services.iter().any(|one| one == name));
        place.map(|place| app.caches[place].name.as_str())
    };
    let services =
        app.services.iter().filter_map(|one| Some((one.number?, one.name.as_str(), of_cache(&one.name))));
    let members = app.members.iter().map(|one| (one.number, one.name.as_str(), None));
    let mut all: Vec<(u16, &str, Option<&str>)> = services.chain(members).collect();
    all.sort_unstable();
    for pair in all.windows(2) {
        let [(number, one, cache), (next, other, of)] = pair else { continue };
        if number == next && (cache.is_none() || cache != of) {
            return Err(format!(
                "number {number}: '{one}' and '{other}' both have it; choose another for one"
            ));
        }
    }
    Ok(())
}
