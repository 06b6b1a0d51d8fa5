//! The images in `app.toml`, and the selection of an image for a service.

use serde::Deserialize;

use crate::check::unique;
use crate::description::Service;
use crate::{App, Plan};

/// Content of an image in addition to the programs and their libraries.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Image {
    /// Its name.
    pub name: String,
    /// The languages whose services use it, if their programs are built.
    #[serde(default)]
    pub languages: Vec<String>,
    /// The programs that run from it.
    #[serde(default)]
    pub programs: Vec<String>,
    /// The Debian packages that it holds, with all that they depend on: a shell among them.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The modules of a Java runtime that it holds.
    #[serde(default)]
    pub java_modules: Vec<String>,
    /// Further programs of this machine, and absolute paths of files and folders.
    #[serde(default)]
    pub with: Vec<String>,
    /// Built files and folders, copied to `/app`.
    #[serde(default)]
    pub built: Vec<String>,
}

impl App {
    pub(crate) fn image(&self, service: &Service) -> Option<&Image> {
        let program = &service.program;
        self.images.iter().find(|image| {
            image.programs.contains(&program.name)
                || program.built && image.languages.contains(&service.language)
        })
    }

    /// The name of the image of a service: its own name, or the program's.
    pub(crate) fn image_name(&self, service: &Service) -> String {
        let program = service.program.name.as_str();
        match self.image(service) {
            Some(image) => image.name.clone(),
            None => program.strip_prefix(&format!("{}-", self.name)).unwrap_or(program).to_owned(),
        }
    }
}

/// Errors: two are called alike, or one is for nothing.
pub(crate) fn check(app: &App) -> Result<(), String> {
    unique("images", app.images.iter().map(|image| image.name.as_str()))?;
    for image in &app.images {
        let place = |problem: &str| Err(format!("image '{}': {problem}", image.name));
        if image.languages.is_empty() && image.programs.is_empty() {
            return place("give `languages` or `programs` that run from it");
        }
        if let Some(path) = image.built.iter().find(|path| !crate::check::is_inside(path)) {
            return place(&format!("built: '{path}': a path within the folder of what is built"));
        }
    }
    Ok(())
}

impl Plan {
    /// The services that are started, by the image that they run from, in the order in which they start.
    pub(crate) fn by_image(&self) -> Vec<(String, Vec<&Service>)> {
        let mut all: Vec<(String, Vec<&Service>)> = Vec::new();
        let order = self.app().start_order().expect("a description is checked");
        for service in order.into_iter().filter(|service| self.starts(&service.name)) {
            let name = self.app().image_name(service);
            match all.iter_mut().find(|(found, _)| *found == name) {
                Some((_, services)) => services.push(service),
                None => all.push((name, vec![service])),
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn services_of_a_kind_share_an_image() {
        let app = Arc::new(crate::of_name("movies").unwrap());
        let plan = Plan::new(Arc::clone(&app), Path::new("/x"));
        let images = plan.by_image();
        let of = |name: &str| images.iter().find(|(found, _)| found == name).map_or(0, |(_, all)| all.len());
        assert_eq!(
            ["postgresql", "memcached", "java", "scripts", "nginx", "haproxy", "plot"].map(of),
            [3, 3, 6, 5, 2, 1, 1]
        );
        let languages = |name: &str| {
            app.images.iter().filter(|image| image.languages.iter().any(|one| one == name)).count()
        };
        assert_eq!(
            ["Java", "Scala", "PHP", "Python", "JavaScript", "C++"].map(languages),
            [1, 1, 1, 1, 1, 0]
        );
    }
}
