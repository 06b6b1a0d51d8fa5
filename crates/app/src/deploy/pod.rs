//! The specification of a pod, which podman and Kubernetes read alike.

use std::collections::BTreeSet;

use super::layout::{Instance, Pod, has_socket};
use super::prepare::{CONFIG, Prepare, SCRIPT};
use super::rendered::Start;
use super::yaml::{Yaml, map};
use super::{ACCOUNT, APP, DATA, Deployment, FILES, Layout};
use crate::Error;
use crate::description::Need;

/// Memory per program in addition to twice the amount that its description states. A description sets no limit for a
/// virtual machine or a database: it counts heaps without code and buffers without processes. Units: bytes.
const BESIDE_MEMORY: u64 = 64 << 20;
/// What preparing a pod takes: a shell, and pages of the files that it copies, which the kernel gives back. Units: bytes.
const PREPARE_MEMORY: u64 = 128 << 20;
/// Interval and time-out of readiness probes. Units: s.
const ASKED_EVERY: u64 = 5;
/// Failed connections in a row until an instance receives no more requests: one minute, so that one overloaded for a
/// shorter time stays. An instance that has ended is removed at once.
const ASKED_UNTIL_LOST: u64 = 12;
/// Added to the time that a service has to end.
const END_WITHIN: u64 = 5;

/// Differences between podman and a chart.
pub(crate) struct Dialect<'a> {
    /// An image's full name: with its registry and tag.
    pub(crate) image: &'a dyn Fn(&str) -> String,
    pub(crate) secret: Yaml,
    /// When a container that ended is started again.
    pub(crate) restart: &'static str,
    /// The port of this machine that leads to the entrance.
    pub(crate) host_port: Option<u16>,
    /// The volume of this instance's kept data; `None`: the data are deleted with the pod.
    pub(crate) kept: &'a dyn Fn(&Instance<'_>) -> Option<Yaml>,
    pub(crate) files: Option<Yaml>,
}

/// A pod with the start parameters of its services.
pub(crate) struct Whole<'a> {
    pub(crate) pod: Pod<'a>,
    pub(crate) starts: Vec<Start>,
    pub(crate) prepare: Prepare,
}

impl Deployment {
    /// All pods.
    ///
    /// Errors: a template fails, with its file and line.
    pub(crate) fn whole(&self) -> Result<Vec<Whole<'_>>, Error> {
        let pods = self.pods();
        let mut all = Vec::new();
        for pod in &pods {
            let starts = pod.instances.iter().map(|one| self.start(&pods, pod, one));
            let starts = starts.collect::<Result<Vec<_>, _>>()?;
            let prepare = self.prepare(&pods, pod, &starts)?;
            all.push(Whole { pod: pod.clone(), starts, prepare });
        }
        Ok(all)
    }

    pub(crate) fn spec(&self, whole: &Whole<'_>, dialect: &Dialect<'_>) -> Yaml {
        let Whole { pod, starts, prepare } = whole;
        let all = || pod.instances.iter().zip(starts);
        let mut first = vec![self.preparing(pod, prepare, dialect)];
        first.extend(all().flat_map(|(instance, start)| self.prepared(pod, instance, start, dialect)));
        let containers: Vec<Yaml> =
            all().map(|(instance, start)| self.container(pod, instance, start, dialect)).collect();
        let grace = pod.instances.iter().map(|one| one.service.stop.grace.as_secs()).max().unwrap_or(0);
        let security = map! {
            "runAsNonRoot" => true,
            "runAsUser" => ACCOUNT,
            "runAsGroup" => ACCOUNT,
            "fsGroup" => ACCOUNT,
            // Files of databases keep their permissions when their pod starts again.
            "fsGroupChangePolicy" => "OnRootMismatch",
            "seccompProfile" => map! { "type" => "RuntimeDefault" },
        };
        map! {
            "automountServiceAccountToken" => false,
            "enableServiceLinks" => false,
            "restartPolicy" => dialect.restart,
            "terminationGracePeriodSeconds" => grace + END_WITHIN,
            "securityContext" => security,
            "initContainers" => first,
            "containers" => containers,
            "volumes" => self.volumes(pod, dialect),
        }
    }

    /// The container that prepares a pod before its services start.
    fn preparing(&self, pod: &Pod<'_>, prepare: &Prepare, dialect: &Dialect<'_>) -> Yaml {
        let mut mounts =
            vec![map! { "name" => volume(pod, "config"), "mountPath" => CONFIG, "readOnly" => true }];
        mounts.extend(
            pod.instances.iter().filter(|one| one.service.has_folder()).map(|one| own_mount(pod, one)),
        );
        if self.needs_data(pod) {
            mounts.push(map! { "name" => volume(pod, "data"), "mountPath" => DATA });
        }
        map! {
            "name" => "prepare",
            "image" => (dialect.image)(prepare.image),
            "imagePullPolicy" => "IfNotPresent",
            "command" => vec![format!("{APP}/bin/bash"), format!("{CONFIG}/{SCRIPT}")],
            "env" => vec![map! { "name" => "SECRET", "valueFrom" => dialect.secret.clone() }],
            "resources" => memory(PREPARE_MEMORY / 4, PREPARE_MEMORY),
            "securityContext" => security(),
            "volumeMounts" => mounts,
        }
    }

    /// Containers that prepare an instance before it starts. An image with a shell runs the commands itself, once the
    /// services that it calls are up.
    fn prepared(
        &self,
        pod: &Pod<'_>,
        instance: &Instance<'_>,
        start: &Start,
        dialect: &Dialect<'_>,
    ) -> Vec<Yaml> {
        if self.has_shell(instance) {
            return Vec::new();
        }
        let of = |(at, (program, args)): (usize, &(String, Vec<String>))| {
            let name = format!("{}-prepare-{at}", instance.name);
            let command = std::iter::once(program).chain(args).cloned().collect();
            self.part(pod, instance, &name, command, dialect)
        };
        start.prepare.iter().enumerate().map(of).collect()
    }

    fn container(
        &self,
        pod: &Pod<'_>,
        instance: &Instance<'_>,
        start: &Start,
        dialect: &Dialect<'_>,
    ) -> Yaml {
        let mut command: Vec<String> =
            std::iter::once(instance.program()).chain(start.args.clone()).collect();
        if !start.prepare.is_empty() && self.has_shell(instance) {
            let quoted = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
            let line = |(program, args): &(String, Vec<String>)| {
                std::iter::once(program).chain(args).map(quoted).collect::<Vec<_>>().join(" ")
            };
            let before: Vec<String> = start.prepare.iter().map(line).collect();
            let script = format!("{} && exec \"$@\"", before.join(" && "));
            command =
                ["/bin/sh".into(), "-c".into(), script, "sh".into()].into_iter().chain(command).collect();
        }
        let mut container = self.part(pod, instance, &instance.name, command, dialect);
        if !start.env.is_empty() {
            let env = start.env.iter().map(|(name, value)| map! { "name" => name, "value" => value });
            container = container.with("env", env.collect::<Vec<_>>());
        }
        let is_front = self.is_front(instance);
        let reached: Vec<(String, u16)> = instance
            .tcp()
            // podman publishes every port listed here.
            .filter(|_| self.layout == Layout::Apart || is_front && dialect.host_port.is_some())
            .map(|(listen, port)| (port_name(instance, &listen.name), port))
            .collect();
        if !reached.is_empty() {
            let port = |(name, port): &(String, u16)| {
                let one = map! { "name" => name, "containerPort" => *port };
                match dialect.host_port.filter(|_| is_front && reached[0].1 == *port) {
                    Some(host) => one.with("hostIP", "127.0.0.1").with("hostPort", host),
                    None => one,
                }
            };
            let probe = map! {
                "tcpSocket" => map! { "port" => reached[0].1 },
                "periodSeconds" => ASKED_EVERY,
                "timeoutSeconds" => ASKED_EVERY,
                "failureThreshold" => ASKED_UNTIL_LOST,
            };
            container = container.with("ports", reached.iter().map(port).collect::<Vec<_>>());
            container = container.with("readinessProbe", probe);
        }
        container
    }

    fn part(
        &self,
        pod: &Pod<'_>,
        instance: &Instance<'_>,
        name: &str,
        command: Vec<String>,
        dialect: &Dialect<'_>,
    ) -> Yaml {
        let service = instance.service;
        let keeps = instance.placement.memory.0;
        let mut mounts: Vec<Yaml> = Vec::new();
        if service.has_folder() {
            mounts.push(own_mount(pod, instance));
        }
        if self.has_shell(instance) {
            mounts.push(map! { "name" => tmp_volume(pod, instance), "mountPath" => "/tmp" });
        }
        let before: BTreeSet<&String> = self.plan.app().before(service).collect();
        let sockets = pod.instances.iter().filter(|one| has_socket(one.service));
        mounts
            .extend(sockets.filter(|one| before.contains(&one.service.name)).map(|one| own_mount(pod, one)));
        if self.reads_data(service) {
            mounts.push(map! { "name" => volume(pod, "data"), "mountPath" => DATA, "readOnly" => true });
        }
        if service.needs.contains(&Need::Files) {
            mounts.push(map! { "name" => volume(pod, "files"), "mountPath" => FILES, "readOnly" => true });
        }
        let mut container = map! {
            "name" => name,
            "image" => (dialect.image)(&self.plan.app().image_name(service)),
            "imagePullPolicy" => "IfNotPresent",
            "command" => command,
        };
        if service.has_folder() {
            container = container.with("workingDir", instance.own());
        }
        let container = container
            .with("resources", memory(keeps, 2 * keeps + BESIDE_MEMORY))
            .with("securityContext", security());
        if mounts.is_empty() { container } else { container.with("volumeMounts", mounts) }
    }

    fn volumes(&self, pod: &Pod<'_>, dialect: &Dialect<'_>) -> Vec<Yaml> {
        let mut all = vec![
            map! { "name" => volume(pod, "config"), "configMap" => map! { "name" => format!("{}-config", pod.name) } },
        ];
        for instance in pod.instances.iter().filter(|one| one.service.has_folder()) {
            let kept = self.seed(instance.service).and_then(|_| (dialect.kept)(instance));
            all.push(named(own_volume(pod, instance), kept));
        }
        // Interpreters keep locks there: each its own, as names of files are numbers of processes.
        for instance in pod.instances.iter().filter(|one| self.has_shell(one)) {
            all.push(named(tmp_volume(pod, instance), None));
        }
        if self.needs_data(pod) {
            all.push(named(volume(pod, "data"), None));
        }
        if pod.instances.iter().any(|one| one.service.needs.contains(&Need::Files)) {
            all.push(named(volume(pod, "files"), dialect.files.clone()));
        }
        all
    }

    fn has_shell(&self, instance: &Instance<'_>) -> bool {
        self.plan.app().image(instance.service).is_some_and(|image| !image.packages.is_empty())
    }
}

/// A volume; without a source it is an empty folder.
fn named(name: String, source: Option<Yaml>) -> Yaml {
    let source = match source {
        Some(Yaml::Map(source)) => source,
        _ => vec![("emptyDir".to_owned(), Yaml::Map(Vec::new()))],
    };
    Yaml::Map([vec![("name".to_owned(), Yaml::Text(name))], source].concat())
}

/// The name of a volume. podman's volumes share one name space across pods.
fn volume(pod: &Pod<'_>, name: &str) -> String {
    format!("{}-{name}", pod.name)
}

fn own_volume(pod: &Pod<'_>, instance: &Instance<'_>) -> String {
    volume(pod, &format!("own-{}", instance.name))
}

fn tmp_volume(pod: &Pod<'_>, instance: &Instance<'_>) -> String {
    volume(pod, &format!("tmp-{}", instance.name))
}

fn own_mount(pod: &Pod<'_>, instance: &Instance<'_>) -> Yaml {
    map! { "name" => own_volume(pod, instance), "mountPath" => instance.own() }
}

/// The name of a port. Source: at most 15 letters, digits and hyphens (Kubernetes, `IANA_SVC_NAME`), other in each container of a pod.
pub(crate) fn port_name(instance: &Instance<'_>, listen: &str) -> String {
    let name = if listen == "main" { instance.name.clone() } else { format!("{listen}-{}", instance.name) };
    name.chars().take(15).collect::<String>().trim_end_matches('-').to_ascii_lowercase()
}

fn memory(request: u64, limit: u64) -> Yaml {
    let mib = |bytes: u64| format!("{}Mi", bytes.div_ceil(1 << 20));
    map! {
        "requests" => map! { "memory" => mib(request) },
        "limits" => map! { "memory" => mib(limit) },
    }
}

/// Restrictions that apply to every container.
fn security() -> Yaml {
    map! {
        "runAsUser" => ACCOUNT,
        "runAsGroup" => ACCOUNT,
        "runAsNonRoot" => true,
        "allowPrivilegeEscalation" => false,
        "readOnlyRootFilesystem" => true,
        "capabilities" => map! { "drop" => vec!["ALL"] },
    }
}
