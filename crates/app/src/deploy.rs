//! An application as pods: the same description that starts processes makes the files of podman and Kubernetes, and container images.
//!
//! A [`Deployment`] is a [`Plan`] and a [`Layout`]. With [`Layout::Together`] all instances are containers of one pod, which reach
//! each other on loopback; podman plays that. With [`Layout::Apart`] each instance is a pod of its own with a name, as a chart for
//! Kubernetes has it; only what is joined by a socket of the file system shares a pod.
//!
//! Before the services of a pod start, one container prepares: it writes their configuration, with the secret that is in no file of
//! ours, copies the data that stores begin with, and waits until what is called is ready. It runs a shell, which no service has
//! unless its language needs one.

mod chart;
mod image;
mod images;
mod layout;
mod pod;
mod podman;
mod prepare;
mod rendered;
pub(crate) mod yaml;

use std::collections::BTreeMap;

pub use image::Image;
pub(crate) use image::check;
pub use images::{ImageFolder, TellImage};
pub use layout::Layout;
pub use podman::{POD, SECRET_FILE};

use launch::Form;

use crate::secret::Secret;
use crate::{Error, Plan, reach};

/// Placeholder for the secret in written files; the preparation of a pod replaces it.
const SECRET: &str = "@taillight-secret@";
/// The version of the images: this program's version.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The account of all containers. Source: `nobody` of Debian, which also owns the data of databases.
const ACCOUNT: u64 = 65_534;

/// Paths in a container.
const APP: &str = "/app";
const DATA: &str = "/data";
const FILES: &str = "/files";
const OWN: &str = "/own";

/// An application that is to run in pods.
#[derive(Clone, Debug)]
pub struct Deployment {
    plan: Plan,
    layout: Layout,
    /// Whether stores begin with the data that the data image holds.
    with_data: bool,
}

/// Files by their path, as text.
pub type Rendered = BTreeMap<String, String>;

impl Deployment {
    /// `plan` in pods.
    ///
    /// Errors: services are placed on other machines, or in a form of their own.
    pub fn new(mut plan: Plan, layout: Layout) -> Result<Deployment, Error> {
        reach::check(&plan)?;
        for service in &plan.app().services {
            let placement = plan.placement(&service.name).expect("it has one for each");
            let problem = match (&placement.agent, placement.form != Form::Bare, &placement.binary) {
                (Some(_), ..) => "a pod runs where podman or Kubernetes puts it; leave its agent out",
                (_, true, _) => "a pod is a form of its own; leave its form out",
                (.., Some(_)) => "an image is made of the program that is found; leave its binary out",
                _ => continue,
            };
            return Err(Error::Unfit { service: service.name.clone(), problem: problem.into() });
        }
        plan.secret = Secret::placeholder(SECRET);
        let with_data = plan.seeded().any(|(store, _)| plan.starts(&store.service))
            || plan.here().any(|service| service.needs.contains(&crate::Need::Data));
        Ok(Deployment { plan, layout, with_data })
    }

    /// The application and how it is placed.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The name of an image: `localhost/taillight-movies-plot:0.1.0`.
    fn image(&self, name: &str) -> String {
        format!("localhost/taillight-{}-{name}:{VERSION}", self.plan.app().name)
    }
}
