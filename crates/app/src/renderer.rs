//! Renders the texts of a service's description for one of its instances.

use minijinja::Environment;
use minijinja::value::Value;

use crate::context::Context;
use crate::description::{App, Argument, Command, Service};
use crate::program::VersionedProgram;
use crate::{Error, template};

/// A description's texts with the variables of an instance.
pub(crate) struct Renderer<'a> {
    app: &'a App,
    service: &'a Service,
    context: &'a Context<'a>,
    environment: Environment<'static>,
}

impl<'a> Renderer<'a> {
    /// For an instance of `service` whose program was `found`.
    pub(crate) fn new(
        app: &'a App,
        service: &'a Service,
        found: &VersionedProgram,
        context: &'a Context<'a>,
    ) -> Renderer<'a> {
        Renderer { app, service, context, environment: template::environment(found) }
    }

    pub(crate) fn text(&self, text: &str) -> Result<String, Error> {
        template::render(&self.environment, text, self.context).map_err(|problem| self.wrong(problem))
    }

    pub(crate) fn value(&self, text: &str) -> Result<Value, Error> {
        template::value(&self.environment, text, self.context).map_err(|problem| self.wrong(problem))
    }

    /// The error of a text of the description.
    pub(crate) fn wrong(&self, problem: String) -> Error {
        Error::Template { file: self.app.file(), service: self.service.name.clone(), problem }
    }

    pub(crate) fn template(&self, name: &str) -> Result<String, Error> {
        let text = self.app.templates.get(name).map_or("", String::as_str);
        template::render(&self.environment, text, self.context).map_err(|problem| Error::Template {
            file: self.app.file().replace("app.toml", name),
            service: self.service.name.clone(),
            problem,
        })
    }

    /// Errors: a condition of the description does not hold.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for check in &self.service.checks {
            if !self.value(&check.holds)?.is_true() {
                let problem = self.text(&check.message)?;
                return Err(Error::Unfit { service: self.service.name.clone(), problem });
            }
        }
        Ok(())
    }

    pub(crate) fn args(&self) -> Result<Vec<String>, Error> {
        let mut texts = Vec::new();
        for argument in &self.service.args {
            match argument {
                Argument::One(text) => texts.push(text),
                Argument::When(several) if self.value(&several.when)?.is_true() => {
                    texts.extend(&several.args)
                }
                Argument::When(_) => {}
            }
        }
        texts.into_iter().map(|text| self.text(text)).collect()
    }

    pub(crate) fn env(&self) -> Result<Vec<(String, String)>, Error> {
        self.service.env.iter().map(|(name, value)| Ok((name.clone(), self.text(value)?))).collect()
    }

    /// A program of the description, and its arguments.
    pub(crate) fn command(&self, command: &Command) -> Result<(String, Vec<String>), Error> {
        let args = command.args.iter().map(|text| self.text(text)).collect::<Result<_, Error>>()?;
        Ok((self.text(&command.program)?, args))
    }
}
