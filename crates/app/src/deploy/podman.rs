//! The pod that podman plays: `podman play kube`.

use super::pod::Dialect;
use super::yaml::{Yaml, map};
use super::{Deployment, Layout, Rendered};
use crate::Error;
use crate::secret::Secret;

/// The file of the pod that podman plays.
pub const POD: &str = "pod.yaml";
/// The file of the secret that it is played with.
pub const SECRET_FILE: &str = "secret.yaml";

impl Deployment {
    /// `pod.yaml`: one pod with all services, whose entrance is at `port` of loopback; with 0 it has a network of its own, and no port leads there. The same description gives the same text.
    ///
    /// Errors: it is not of [`Layout::Together`]; a template fails.
    pub fn podman(&self, port: u16) -> Result<Rendered, Error> {
        let unfit = |problem: &str| {
            Err(Error::Unfit { service: self.plan.app().name.clone(), problem: problem.into() })
        };
        if self.layout != Layout::Together {
            return unfit("podman has no names for services; take the layout in which all share a pod");
        }
        let name = &self.plan.app().name;
        let whole = self.whole()?.pop().expect("there is one pod");
        let files = self.plan.files.as_ref().map(|folder| {
            let path = folder.display().to_string();
            map! { "hostPath" => map! { "path" => path, "type" => "Directory" } }
        });
        if files.is_none() && self.plan.app().needs(crate::Need::Files) {
            return unfit("it serves a folder of files; name it by --files FOLDER");
        }
        let dialect = Dialect {
            image: &|name| self.image(name),
            secret: map! { "configMapKeyRef" => map! { "name" => secret_name(name), "key" => "secret" } },
            // The preparing container ends, and podman would restart it.
            restart: "OnFailure",
            host_port: (port != 0).then_some(port),
            kept: &|_| None,
            files,
        };
        let data = whole.prepare.files.iter().map(|(key, text)| (key.clone(), Yaml::from(text))).collect();
        let config = map! {
            "apiVersion" => "v1",
            "kind" => "ConfigMap",
            "metadata" => map! { "name" => format!("{name}-config") },
            "data" => Yaml::Map(data),
        };
        let pod = map! {
            "apiVersion" => "v1",
            "kind" => "Pod",
            "metadata" => map! { "name" => name, "labels" => map! { "app" => name } },
            "spec" => self.spec(&whole, &dialect),
        };
        let text = format!(
            "# Written by taillight: {name} as one pod. Play it with the secret beside it:\n\
             #   podman play kube --configmap {SECRET_FILE} {POD}\n\
             # and end it by\n\
             #   podman play kube --down {POD}; podman volume rm {name}-config\n{}---\n{}",
            config.document(),
            pod.document()
        );
        Ok([(POD.to_owned(), text)].into())
    }

    /// `secret.yaml`: a new secret, for a file that only its owner may read.
    ///
    /// Errors: the kernel gives no random bytes.
    pub fn new_secret(&self) -> Result<Rendered, Error> {
        let secret =
            Secret::draw().map_err(launch::Error::os(&self.plan.app().name, "cannot draw a secret"))?;
        let config = map! {
            "apiVersion" => "v1",
            "kind" => "ConfigMap",
            "metadata" => map! { "name" => secret_name(&self.plan.app().name) },
            "data" => map! { "secret" => secret.reveal() },
        };
        let text = format!("# Written by taillight, drawn once: keep it to yourself.\n{}", config.document());
        Ok([(SECRET_FILE.to_owned(), text)].into())
    }
}

pub(crate) fn secret_name(app: &str) -> String {
    format!("{app}-secret")
}
