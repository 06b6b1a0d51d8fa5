//! Assigns instances to pods and determines their names and ports.

use std::collections::BTreeSet;

use super::Deployment;
use crate::description::{Listen, Protocol, Service};
use crate::plan::Placement;

/// First port for services whose preferred port is already used in the same pod. Source: below Linux's range for
/// clients, which starts at 32768.
const FURTHER_PORTS: u16 = 20_000;

/// How instances are spread over pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One pod for all; they reach each other on loopback.
    Together,
    /// A pod for each, but for those that are joined by a socket of the file system.
    Apart,
}

#[derive(Clone, Debug)]
pub(crate) struct Pod<'a> {
    /// Its name, under which others reach it.
    pub(crate) name: String,
    /// Its instances, in the order of their start.
    pub(crate) instances: Vec<Instance<'a>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Instance<'a> {
    pub(crate) service: &'a Service,
    pub(crate) number: usize,
    /// `plot`, or `web-1` if there are several.
    pub(crate) name: String,
    /// Its share of the service's resources.
    pub(crate) placement: Placement,
    /// The ports of its addresses in the order of the description; 0 of a socket of the file system.
    pub(crate) ports: Vec<u16>,
}

impl Instance<'_> {
    /// Its TCP ports with the names of their addresses.
    pub(crate) fn tcp(&self) -> impl Iterator<Item = (&Listen, u16)> {
        let all = self.service.listens.iter().zip(&self.ports);
        all.filter(|(listen, _)| listen.protocol == Protocol::Tcp).map(|(listen, port)| (listen, *port))
    }
}

pub(crate) fn has_socket(service: &Service) -> bool {
    service.listens.iter().any(|listen| listen.protocol == Protocol::Unix)
}

impl Deployment {
    /// All pods, callers after the pods that they call.
    pub(crate) fn pods(&self) -> Vec<Pod<'_>> {
        let app = self.plan.app();
        let mut order = app.start_order().expect("a description is checked");
        order.retain(|service| self.plan.starts(&service.name));
        if self.layout == Layout::Together {
            return vec![self.pod(app.name.clone(), &order)];
        }
        let mut groups: Vec<Vec<&Service>> = Vec::new();
        for service in order {
            let is_joined = |group: &Vec<&Service>| {
                group.iter().any(|one| has_socket(one) && app.before(service).any(|name| *name == one.name))
            };
            let (joined, apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_joined);
            groups = apart;
            groups.push(joined.into_iter().flatten().chain([service]).collect());
        }
        let named =
            |name: &str| if name == app.name { name.to_owned() } else { format!("{}-{name}", app.name) };
        let mut pods = Vec::new();
        for group in groups {
            match group[..] {
                [service] if !has_socket(service) => {
                    pods.extend(self.instances(service).into_iter().map(|one| {
                        let name = named(&one.name);
                        with_ports(Pod { name, instances: vec![one] })
                    }))
                }
                _ => pods.push(self.pod(named(&group.last().expect("it is not empty").name), &group)),
            }
        }
        pods
    }

    fn pod<'a>(&'a self, name: String, services: &[&'a Service]) -> Pod<'a> {
        let instances = services.iter().flat_map(|service| self.instances(service)).collect();
        with_ports(Pod { name, instances })
    }

    fn instances<'a>(&self, service: &'a Service) -> Vec<Instance<'a>> {
        let whole = self.plan.placement(&service.name).expect("it has one for each");
        let of = |number: usize| {
            let mut placement = whole.of_instance(number);
            if placement.cpus.is_empty() {
                // The processors of a container are only known at run time.
                placement.cpus = (0..placement.threads).collect();
            }
            let name = match whole.instances {
                0 | 1 => service.name.clone(),
                _ => format!("{}-{number}", service.name),
            };
            Instance { service, number, name, placement, ports: Vec::new() }
        };
        (0..whole.instances.max(1)).map(of).collect()
    }

    /// Whether the front's first address is the entrance of the application.
    pub(crate) fn is_front(&self, instance: &Instance<'_>) -> bool {
        self.plan.app().front().is_some_and(|front| front.name == instance.service.name)
    }
}

/// Gives each address the port that its description wishes for, or the next one that is free in its pod.
fn with_ports(mut pod: Pod<'_>) -> Pod<'_> {
    let mut taken = BTreeSet::new();
    let mut next = FURTHER_PORTS;
    // From the end, so that the front, which nothing here calls, keeps its port.
    for instance in pod.instances.iter_mut().rev() {
        let of = |listen: &Listen| match listen.protocol {
            Protocol::Unix => 0,
            Protocol::Tcp if taken.insert(listen.port) => listen.port,
            Protocol::Tcp => {
                while !taken.insert(next) {
                    next += 1;
                }
                next
            }
        };
        instance.ports = instance.service.listens.iter().map(of).collect();
    }
    pod
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;
    use std::path::Path;
    use std::sync::Arc;

    fn deployment(name: &str, layout: Layout, set: &[&str]) -> Deployment {
        let mut plan = Plan::new(Arc::new(crate::of_name(name).unwrap()), Path::new("/x"));
        plan.set(set).unwrap();
        Deployment::new(plan, layout).unwrap()
    }

    #[test]
    fn all_share_a_pod_or_each_has_one() {
        let check = |name: &str, layout: Layout, set: &[&str], expect: &[(&str, &[&str])]| {
            let deployment = deployment(name, layout, set);
            let pods = deployment.pods();
            let found: Vec<(&str, Vec<&str>)> = pods
                .iter()
                .map(|pod| (pod.name.as_str(), pod.instances.iter().map(|one| one.name.as_str()).collect()))
                .collect();
            let expect: Vec<_> = expect.iter().map(|(name, all)| (*name, all.to_vec())).collect();
            assert_eq!(found, expect, "{name}");
        };
        use Layout::{Apart, Together};
        check("memcached", Apart, &[], &[("memcached", &["memcached"])]);
        let two = ["nginx.instances=2"];
        check("varnish-nginx", Together, &two, &[("varnish-nginx", &["nginx-0", "nginx-1", "varnish"])]);
        check(
            "varnish-nginx",
            Apart,
            &two,
            &[
                ("varnish-nginx-nginx-0", &["nginx-0"]),
                ("varnish-nginx-nginx-1", &["nginx-1"]),
                ("varnish-nginx-varnish", &["varnish"]),
            ],
        );
        // PHP reaches MariaDB, and NGINX PHP, by sockets.
        check(
            "social",
            Apart,
            &[],
            &[("social-memcached", &["memcached"]), ("social-nginx", &["mariadb", "php", "nginx"])],
        );
    }

    #[test]
    fn no_port_is_given_twice_and_the_front_keeps_its_own() {
        let deployment = deployment("movies", Layout::Together, &[]);
        let pods = deployment.pods();
        let [pod] = &pods[..] else { panic!("one pod") };
        let ports: Vec<u16> = pod.instances.iter().flat_map(|one| one.ports.clone()).collect();
        assert_eq!(ports.iter().collect::<BTreeSet<_>>().len(), ports.len());
        let front = pod.instances.iter().find(|one| deployment.is_front(one)).unwrap();
        assert_eq!((front.name.as_str(), &front.ports[..]), ("load-balancer", &[8080][..]));
        assert_eq!(pod.instances.len(), 35);
    }
}
