//! Reads a description and reports its mistakes before anything is started.

use std::collections::BTreeSet;

use launch::Form;

use crate::description::{App, Argument, Command, File, Protocol, Seeded, Service, Store, Workload};
use crate::files::Files;
use crate::settings::Values;
use crate::{Error, deploy, kinds, plan, registry, template};

/// Rule for template names, checked when a template is compiled.
const NAME: &str = "letters, digits and hyphens, a letter first";

/// Placeholder for the service's name in a kind's program name.
const OWN_NAME: &str = "{{ service }}";

/// Parses the text of `file`, which describes the application `name`, named after its folder.
///
/// Errors: the first mistake, with its file and place and the nearest key.
pub(crate) fn read(file: &str, name: &str, text: &str, files: Files) -> Result<App, Error> {
    let error = |problem: String| Error::Description { file: file.into(), problem };
    let mut app: App = kinds::read(text).map_err(|e| error(with_nearest(&e)))?;
    for service in &mut app.services {
        service.program.name = service.program.name.replace(OWN_NAME, &service.name);
    }
    (app.templates, app.compiled, app.folder) = (files.templates, files.compiled, files.folder);
    if app.name != name {
        return Err(error(format!(
            "name = \"{}\" in a folder called '{name}'; both must be the same",
            app.name
        )));
    }
    whole(&app).map_err(error)?;
    Ok(app)
}

/// Checks that neither TOML nor the types express.
fn whole(app: &App) -> Result<(), String> {
    let services: Vec<&str> = app.services.iter().map(|service| service.name.as_str()).collect();
    unique("services", services.iter().copied())?;
    if services.is_empty() {
        return Err("it has no [[service]]".into());
    }
    let known = |place: String, name: &str| known(&place, name, &services, "service");
    unique("settings", app.settings.iter().map(|setting| setting.name.as_str()))?;
    if let Some(taken) = app.settings.iter().find(|setting| plan::FIELDS.contains(&setting.name.as_str())) {
        let name = &taken.name;
        return Err(format!("setting '{name}': every service has a field of that name; choose another"));
    }
    let usual = Values::usual(&app.settings).map_err(|problem| format!("setting: default: {problem}"))?;
    for service in &app.services {
        let place = format!("service '{}'", service.name);
        for when in service.program.also.iter().filter_map(|one| one.when.as_ref()) {
            template::holds(when, &usual).map_err(|problem| format!("{place}: program: also: {problem}"))?;
        }
        if let Some(when) = &service.when {
            template::holds(when, &usual).map_err(|problem| format!("{place}: when: {problem}"))?;
        }
        of_service(app, service).map_err(|problem| format!("{place}: {problem}"))?;
        service.calls.iter().try_for_each(|call| known(format!("{place}: calls"), call))?;
    }
    registry::check(app)?;
    deploy::check(app)?;
    if let Err(circle) = app.start_order() {
        return Err(format!(
            "the services {} call each other in a circle, so that none can start first; leave one of `calls` out",
            circle.join(", ")
        ));
    }
    for entrance in &app.entrances {
        let place = format!("entrance '{}'", entrance.workload.name());
        known(place.clone(), &entrance.service)?;
        let listens = app.service(&entrance.service).map_or(&[][..], |service| &service.listens);
        if listens.is_empty() {
            return Err(format!("{place}: service '{}' has no [[service.listen]]", entrance.service));
        }
        if app.service(&entrance.service).is_some_and(|service| service.when.is_some()) {
            return Err(format!(
                "{place}: service '{}' is started only `when`; leave that out",
                entrance.service
            ));
        }
        if entrance.protocol.is_some() && entrance.workload != Workload::Cache {
            return Err(format!("{place}: only the workload cache has a `protocol`; leave it out"));
        }
        if let Some(name) = &entrance.listen {
            let names: Vec<&str> = listens.iter().map(|listen| listen.name.as_str()).collect();
            self::known(&place, name, &names, "address")?;
        }
    }
    for store in &app.stores {
        let place = format!("store '{}'", store.name);
        known(place.clone(), &store.service)?;
        for action in store.fill.iter().chain(&store.reset) {
            if action.send.is_some() == action.command.is_some() {
                return Err(format!("{place}: an action is one of `send` and `command`"));
            }
            of_command(action.command.as_ref()).map_err(|problem| format!("{place}: {problem}"))?;
        }
        if let Some(seed) = &store.seed {
            of_seed(app, store, seed).map_err(|problem| format!("{place}: seed: {problem}"))?;
        }
    }
    Ok(())
}

fn of_seed(app: &App, store: &Store, seed: &Seeded) -> Result<(), String> {
    if !is_inside(&seed.folder) {
        return Err(format!("folder '{}': a path within the folder of an instance", seed.folder));
    }
    let same = |other: &&Store| other.service == store.service && other.seed.is_some();
    if app.stores.iter().filter(same).count() > 1 {
        return Err(format!("two stores of service '{}' have one", store.service));
    }
    let of_service = app.service(&store.service).map_or(&[][..], |service| &service.settings);
    let names: Vec<&str> = of_service.iter().chain(&app.settings).map(|one| one.name.as_str()).collect();
    seed.settings.iter().try_for_each(|name| known("settings", name, &names, "setting"))?;
    if let Some(text) = &seed.hash_cost {
        let used = template::names_in(text)?;
        let is_forgotten = |name: &&&str| {
            used.contains(&format!("settings.{name}")) && !seed.settings.iter().any(|one| one == **name)
        };
        if let Some(name) = names.iter().find(is_forgotten) {
            return Err(format!("hash-cost: the rows follow from '{name}': add it to settings"));
        }
    }
    let inputs = seed.steps.iter().filter_map(|step| step.input.as_ref());
    for file in seed.files.iter().chain(inputs) {
        if !is_inside(file) || !app.has_file(file) {
            return Err(format!("there is no file '{file}' beside the description"));
        }
    }
    for step in &seed.steps {
        let inputs = [step.tables, step.input.is_some(), step.data.is_some()];
        if inputs.iter().filter(|given| **given).count() > 1 {
            return Err(format!("step '{}': its input is one of `input`, `tables` and `data`", step.program));
        }
        if let Some(data) = &step.data {
            if app.data.is_none() {
                return Err(format!(
                    "step '{}': data = \"{data}\" of an application without [data]",
                    step.program
                ));
            }
            if !is_inside(data) {
                return Err(format!(
                    "step '{}': data = \"{data}\": a path within the data set",
                    step.program
                ));
            }
        }
        step.args.iter().try_for_each(|text| template::check(text))?;
    }
    of_command(seed.check.as_ref())
}

/// Whether a path leads nowhere but into the folder that it begins in.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.is_empty() && !path.starts_with('/') && !path.split('/').any(|part| part == "..")
}

fn of_service(app: &App, service: &Service) -> Result<(), String> {
    let named = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !service.name.starts_with(|c: char| c.is_ascii_alphabetic()) || !service.name.chars().all(named) {
        return Err(format!("a name is {NAME}"));
    }
    for form in &service.forms {
        form.parse::<Form>().map_err(|e| format!("forms: {e}"))?;
    }
    let settings = || service.settings.iter().map(|setting| setting.name.as_str());
    unique("settings", settings())?;
    if let Some(taken) = settings().find(|name| plan::FIELDS.contains(name)) {
        return Err(format!("setting '{taken}': every service has a field of that name; choose another"));
    }
    if let Some(twice) = settings().find(|name| app.settings.iter().any(|one| one.name == *name)) {
        return Err(format!("setting '{twice}': the application has one of that name; choose another"));
    }
    Values::usual(&service.settings).map_err(|problem| format!("setting: default: {problem}"))?;
    unique("addresses", service.listens.iter().map(|listen| listen.name.as_str()))?;
    for listen in &service.listens {
        let place = format!("listen '{}'", listen.name);
        if listen.protocol == Protocol::Tcp && listen.port == 0 {
            return Err(format!("{place}: a TCP address has a port"));
        }
        if listen.prints_address && service.ready.line.is_none() {
            return Err(format!("{place}: `prints-address` takes the line of `ready`, which has none"));
        }
    }
    for argument in &service.args {
        match argument {
            Argument::One(text) => template::check(text)?,
            Argument::When(several) => {
                template::check_expression(&several.when)?;
                several.args.iter().try_for_each(|text| template::check(text))?;
            }
        }
    }
    let one_line = service.env.values().chain(&service.ready.http);
    one_line.into_iter().try_for_each(|text| template::check(text))?;
    for check in &service.checks {
        template::check_expression(&check.holds)?;
        template::check(&check.message)?;
    }
    service.ready.children.iter().try_for_each(|text| template::check_expression(text))?;
    for file in &service.files {
        of_template(app, file)?;
        if !is_inside(&file.path) {
            return Err(format!("file '{}': a path within the folder of the instance", file.path));
        }
    }
    if let Some(serving) = &service.serving
        && !service.files.iter().any(|file| file.path == serving.path)
    {
        return Err(format!("serving: there is no file '{}' of the service", serving.path));
    }
    service.prepare.iter().try_for_each(|command| of_command(Some(command)))?;
    let version = service.program.version.iter();
    for pattern in version.flat_map(|version| [Some(&version.pattern), version.build.as_ref()]).flatten() {
        of_pattern(pattern)?;
    }
    if let Some(counters) = &service.counters {
        let sources = [
            counters.send.is_some(),
            counters.http.is_some(),
            counters.command.is_some(),
            counters.thrift.is_some(),
        ];
        if sources.iter().filter(|given| **given).count() != 1 {
            return Err("counters: give one of `send`, `http`, `command` and `thrift`".into());
        }
        counters.patterns.iter().try_for_each(|pattern| of_pattern(pattern))?;
        counters.http.iter().try_for_each(|text| template::check(text))?;
        of_command(counters.command.as_ref())?;
    }
    Ok(())
}

fn of_template(app: &App, file: &File) -> Result<(), String> {
    let template = match (&file.template, &file.npm, &file.folder) {
        (Some(template), None, None) => template,
        (None, Some(npm), None) if !is_inside(npm) => {
            return Err(format!("file '{}': npm: a path within the folder of packages", file.path));
        }
        (None, Some(_), None) => return Ok(()),
        (None, None, Some(folder)) if is_inside(folder) && app.has_folder(folder) => return Ok(()),
        (None, None, Some(folder)) => {
            return Err(format!(
                "file '{}': there is no folder '{folder}' beside the description",
                file.path
            ));
        }
        _ => return Err(format!("file '{}': give one of `template`, `npm` and `folder`", file.path)),
    };
    let text = app.templates.get(template).ok_or_else(|| {
        let all: Vec<&str> = app.templates.keys().map(String::as_str).collect();
        format!("file '{}': there is no template '{template}'{}", file.path, near(template, &all))
    })?;
    template::check(text).map_err(|problem| format!("{template}: {problem}"))
}

fn of_command(command: Option<&Command>) -> Result<(), String> {
    let texts =
        command.into_iter().flat_map(|command| std::iter::once(&command.program).chain(&command.args));
    texts.into_iter().try_for_each(|text| template::check(text))
}

fn of_pattern(text: &str) -> Result<(), String> {
    regex_lite::Regex::new(text).map(drop).map_err(|e| format!("the regular expression '{text}': {e}"))
}

pub(crate) fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut names = names;
    names
        .find(|name| !seen.insert(*name))
        .map_or(Ok(()), |twice| Err(format!("two {what} are called '{twice}'")))
}

pub(crate) fn known(place: &str, name: &str, all: &[&str], what: &str) -> Result<(), String> {
    if all.contains(&name) {
        Ok(())
    } else {
        Err(format!("{place}: there is no {what} '{name}'{}", near(name, all)))
    }
}

/// `; did you mean 'x'?`, or the list of known names.
pub(crate) fn near(name: &str, all: &[&str]) -> String {
    match nearest(name, all.iter().copied()) {
        Some(near) => format!("; did you mean '{near}'?"),
        None if all.is_empty() => String::new(),
        None => format!("; there are {}", all.join(", ")),
    }
}

/// The nearest of `all` to `name`, if near enough to be a typing error.
pub(crate) fn nearest<'a>(name: &str, all: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |other: &&str| strsim::damerau_levenshtein(name, other);
    all.min_by_key(distance).filter(|near| distance(near) <= 1 + name.len() / 3)
}

/// The message of the parser, with the nearest of the keys that it expected.
fn with_nearest(message: &str) -> String {
    let quoted =
        |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let line =
        message.lines().find(|line| line.contains("unknown field") || line.contains("unknown variant"));
    let words = line.map(quoted).unwrap_or_default();
    let near = words.split_first().and_then(|(wrong, all)| nearest(wrong, all.iter().map(String::as_str)));
    let hint = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    format!("{}{hint}", message.trim_end())
}
