use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;
use crate::{Entry, Section};

units::named! {
    /// The environment of a server that is started here.
    ///
    /// All but [`Form::Bare`] are reached over the same bridge and veth, in a network namespace of their own, so that
    /// [`Form::Bridged`] differs from a container by the container alone.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Form {
        /// A plain process, reached over loopback.
        #[default]
        Bare = "bare",
        /// A process behind the bridge and veth that a container has.
        Bridged = "bridged",
        /// A container of LXC.
        Lxc = "lxc",
        /// A container of podman.
        Podman = "podman",
        /// A container of docker.
        Docker = "docker",
    }
}

impl Form {
    /// Whether the server runs in a container.
    pub fn is_container(self) -> bool {
        matches!(self, Form::Lxc | Form::Podman | Form::Docker)
    }

    /// Whether the server runs from an image.
    pub fn has_images(self) -> bool {
        matches!(self, Form::Podman | Form::Docker)
    }

    /// The isolation forms of a server, explained.
    pub fn explain() -> Section {
        let entries = Form::ALL.map(|form| {
            let (meaning, source) = form.about();
            Entry {
                option: Some(format!("--form {}", form.name())),
                ..Entry::named(form.name(), meaning, source)
            }
        });
        Section::new("Forms; docs/reference/launch.md says what each takes", entries)
    }

    /// Its meaning and its source.
    fn about(self) -> (&'static str, &'static str) {
        match self {
            Form::Bare => {
                ("A process like any other, reached over loopback.", "IISWC'17 §IV-B, §IV-D: bare metal")
            }
            Form::Bridged => (
                "A process behind the bridge and veth that a container has.",
                "ours, because a container then differs from it by the container alone",
            ),
            Form::Lxc => ("A container of LXC.", "IISWC'17 §III-B, §IV-D: LXC"),
            Form::Podman => ("A container of podman.", "ours, because it starts containers without a daemon"),
            Form::Docker => ("A container of docker.", "ISPASS'16 §V: CloudSuite 3 comes in docker images"),
        }
    }
}

impl FromStr for Form {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Form, ParseError> {
        Form::named(text).ok_or_else(|| ParseError {
            what: "form",
            given: text.into(),
            problem: "it is none of the forms that a server can have".into(),
            hint: "write bare, bridged (bare behind the bridge that containers have), lxc, podman or docker",
        })
    }
}

as_text! { Form; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_prints_and_nothing_else() {
        for form in Form::ALL {
            assert_eq!(form.to_string().parse::<Form>(), Ok(form));
        }
        let check = |text: &str| {
            let error = text.parse::<Form>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("bare, bridged"), "{error}");
        };
        check("Bare");
        check("kvm");
        check("lxc ");
        check("");
    }

    #[test]
    fn every_form_has_its_source() {
        assert!(Form::explain().entries.iter().all(|entry| crate::is_source(&entry.source)));
    }

    #[test]
    fn only_bare_and_bridged_are_no_containers() {
        let containers: Vec<&str> =
            Form::ALL.into_iter().filter(|form| form.is_container()).map(Form::name).collect();
        assert_eq!(containers, ["lxc", "podman", "docker"]);
    }
}
