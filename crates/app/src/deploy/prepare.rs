//! What runs in a pod before its services: a script, its image, and the files that it reads.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::layout::{Instance, Pod};
use super::rendered::Start;
use super::{DATA, Deployment, Layout, SECRET};
use crate::Error;
use crate::description::{Need, Service};

/// The programs that the script runs.
pub(crate) const TOOLS: [&str; 10] =
    ["bash", "cat", "chmod", "cp", "mkdir", "mv", "rm", "sed", "sleep", "timeout"];
/// Folder of a pod's configuration files during preparation.
pub(crate) const CONFIG: &str = "/config";
pub(crate) const SCRIPT: &str = "prepare.sh";
/// Folders of the images for files of the description, initial data of stores, and the data set.
pub(crate) const BESIDE: &str = "/beside";
pub(crate) const SEEDS: &str = "/seeds";
pub(crate) const SET: &str = "/data-set";

/// The script's functions. The secret is in its environment, so that no file and no process list shows it.
const FUNCTIONS: &str = include_str!("functions.sh");

pub(crate) struct Prepare {
    /// The files of its configuration by their keys, the script among them.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) image: &'static str,
}

/// The key of a file of an instance. Source: keys are letters, digits, `-`, `_` and `.`.
fn key(instance: &Instance<'_>, path: &str) -> String {
    format!("{}.{}", instance.name, path.replace('/', "_"))
}

impl Deployment {
    /// The preparation of `pod`, whose instances are started with `starts`.
    pub(crate) fn prepare(
        &self,
        pods: &[Pod<'_>],
        pod: &Pod<'_>,
        starts: &[Start],
    ) -> Result<Prepare, Error> {
        let mut script = FUNCTIONS.replace("PLACEHOLDER", SECRET);
        let mut files = BTreeMap::new();
        for (instance, start) in pod.instances.iter().zip(starts) {
            let own = instance.own();
            for (path, text, private) in &start.files {
                let key = key(instance, path);
                let mask = if *private { "077" } else { "022" };
                let _ = writeln!(script, "file {CONFIG}/{key} {own}/{path} {mask}");
                files.insert(key, text.clone());
            }
            for file in instance.service.files.iter().filter(|file| file.template.is_none()) {
                let from = beside(instance.service, &file.path);
                let _ = writeln!(script, "beside {from} {own}/{}", file.path);
            }
            if let Some((store, folder)) = self.seed(instance.service) {
                let _ = writeln!(script, "begin {SEEDS}/{store}/{folder} {own}/{folder}");
            }
        }
        if self.needs_data(pod) {
            let _ = writeln!(script, "cp -R {SET}/. {DATA}/");
        }
        if self.layout == Layout::Apart {
            for (host, port) in self.awaited(pods, pod) {
                let _ = writeln!(script, "await {host} {port}");
            }
        }
        files.insert(SCRIPT.into(), format!("{}\n", script.trim_end()));
        let is_data =
            self.needs_data(pod) || pod.instances.iter().any(|one| self.seed(one.service).is_some());
        Ok(Prepare { files, image: if is_data { "data" } else { "prepare" } })
    }

    /// The store of a service that begins with data, and their folder.
    pub(crate) fn seed(&self, service: &Service) -> Option<(&str, &str)> {
        let (store, seeded) = self.plan.seeded().find(|(store, _)| store.service == service.name)?;
        Some((store.name.as_str(), seeded.folder.as_str()))
    }

    /// Whether `service` reads the data set; a store that starts from a copy of the seed made from it does not.
    pub(crate) fn reads_data(&self, service: &Service) -> bool {
        service.needs.contains(&Need::Data) && self.seed(service).is_none()
    }

    pub(crate) fn needs_data(&self, pod: &Pod<'_>) -> bool {
        pod.instances.iter().any(|one| self.reads_data(one.service))
    }

    /// Addresses in other pods that `pod` must wait for; optional services are not waited for.
    fn awaited<'a>(&self, pods: &'a [Pod<'_>], pod: &Pod<'_>) -> Vec<(&'a str, u16)> {
        let app = self.plan.app();
        let needed = |name: &String| {
            pod.instances.iter().any(|one| {
                app.before(one.service).any(|called| called == name) && !one.service.optional.contains(name)
            })
        };
        let mut all = Vec::new();
        for other in pods.iter().filter(|other| other.name != pod.name) {
            for instance in other.instances.iter().filter(|one| needed(&one.service.name)) {
                all.extend(instance.tcp().map(|(_, port)| (other.name.as_str(), port)).take(1));
            }
        }
        all
    }
}

/// Path in an image of the described file or folder `path` for `service`.
pub(crate) fn beside(service: &Service, path: &str) -> String {
    format!("{BESIDE}/{}/{path}", service.name)
}
