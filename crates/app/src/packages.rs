//! The Debian packages that an application needs on this machine: of its services, its builds and its data set.

use crate::Error;
use crate::description::{Program, Service};
use crate::parts::Beside;
use crate::plan::Plan;

impl Plan {
    /// Whether the programs of all services of this machine are there, before anything that takes long is done for them.
    ///
    /// Errors: the missing programs, with one command that installs all of them; or a program that no package has, with
    /// a hint.
    pub fn has_programs(&self) -> Result<(), Error> {
        let mut missing = Vec::new();
        for service in self.here() {
            let placement = self.placement(&service.name).expect("it has one for each");
            let Program { name, package, .. } = &service.program;
            match (service.program.locate(placement, &self.exe, &self.built), package) {
                (Ok(_), _) => {}
                (Err(error), Some(package)) if !service.program.built => {
                    missing.push((name, package, Some(error)));
                }
                (Err(error), _) => return Err(error),
            }
            missing.extend(self.missing_beside(service).map(|one| (&one.file, &one.package, None)));
        }
        let (mut files, mut packages) = (Vec::<&str>::new(), Vec::<&str>::new());
        for (file, package, _) in &missing {
            files.push(file);
            let new: Vec<&str> = package.split_whitespace().filter(|one| !packages.contains(one)).collect();
            packages.extend(new);
        }
        match missing.len() {
            0 => Ok(()),
            1 if missing[0].2.is_some() => Err(missing.remove(0).2.expect("it was looked at")),
            _ => Err(launch::Error::NotFound {
                name: self.app().name.clone(),
                program: files.join(", ").into(),
                hint: format!("install all that is missing: `apt-get install {}`", packages.join(" ")),
            }
            .into()),
        }
    }

    /// The packages that services of this machine, builds and the data set lack, each once. Builds know more: versions that
    /// are too old.
    pub fn missing_packages(&self) -> Vec<&str> {
        let programs = self.here().filter_map(|service| {
            let (program, placement) = (&service.program, self.placement(&service.name)?);
            let is_there = program.built || program.locate(placement, &self.exe, &self.built).is_ok();
            program.package.as_deref().filter(|_| !is_there)
        });
        let of_services = self.here().flat_map(move |service| self.missing_beside(service));
        let of_builds = self.app().builds.iter().filter(|build| !build.apart).flat_map(|build| &build.needs);
        let of_data = self.app().data.iter().flat_map(|data| &data.needs);
        let of_others = of_builds.chain(of_data).filter(|one| one.is_missing(self.shared()));
        let files = of_services.chain(of_others).map(|one| one.package.as_str());
        let mut packages: Vec<&str> = programs.chain(files).flat_map(str::split_whitespace).collect();
        packages.sort_unstable();
        packages.dedup();
        packages
    }

    /// The missing files that the program of a service needs. A program of the user, or in an image, needs none.
    fn missing_beside<'a>(&'a self, service: &'a Service) -> impl Iterator<Item = &'a Beside> {
        let placement = self.placement(&service.name).expect("it has one for each");
        let is_own = placement.binary.is_none() && placement.image.is_none();
        service.program.also.iter().filter(move |one| is_own && one.is_missing(self.shared()))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn each_build_names_what_it_needs() {
        let app = crate::of_name("movies").unwrap();
        for build in &app.builds {
            let script = String::from_utf8(app.read_file(&build.script).unwrap()).unwrap();
            assert_eq!(build.needs.is_empty(), build.apart, "{}", build.name);
            for one in &build.needs {
                assert!(script.contains(&one.package), "{}: {}", build.script, one.package);
            }
        }
        let data = app.data.as_ref().unwrap();
        assert!(data.needs.len() > 5);
    }

    #[test]
    fn a_program_of_the_user_needs_none_beside_it() {
        let mut app = crate::of_name("mediawiki").unwrap();
        for service in &mut app.services {
            service.program.also.iter_mut().for_each(|one| one.file = "/no/such".into());
        }
        let mut plan = Plan::new(Arc::new(app), Path::new("/x"));
        assert!(plan.missing_packages().contains(&"php-intl"));
        plan.placement_mut("php").unwrap().image = Some("wiki:1".into());
        assert!(!plan.missing_packages().contains(&"php-intl"));
    }

    #[test]
    fn missing_packages_are_named_once() {
        let mut app = crate::of_name("movies").unwrap();
        for build in &mut app.builds {
            build.needs.iter_mut().for_each(|one| one.file = "/no/such".into());
        }
        let plan = Plan::new(Arc::new(app), Path::new("/x"));
        let packages = plan.missing_packages();
        assert_eq!(packages.iter().filter(|one| **one == "thrift-compiler").count(), 1, "{packages:?}");
        assert!(packages.contains(&"libxapian-dev") && packages.is_sorted(), "{packages:?}");
        assert!(packages.iter().all(|one| !one.contains(' ')), "{packages:?}");
    }
}
