//! Checks that services can reach the services that they call, given their placements.

use std::net::IpAddr;

use launch::Form;
use spec::Agents;

use crate::Error;
use crate::description::{Protocol, Service};
use crate::plan::{Placement, Plan};

/// Errors: a service cannot reach one that it calls, with the remedy.
pub(crate) fn check(plan: &Plan) -> Result<(), Error> {
    let placement = |service: &Service| plan.placement(&service.name).expect("it has one for each");
    // The address of a service that another program starts is known to that program.
    let starts = |service: &&Service| plan.starts(&service.name);
    for service in plan.app().services.iter().filter(starts) {
        for called in plan.app().services.iter().filter(starts) {
            if plan.app().before(service).any(|name| *name == called.name) {
                call((service, placement(service)), (called, placement(called)), plan.listen)?;
            }
        }
    }
    Ok(())
}

fn call(
    (caller, from): (&Service, &Placement),
    (called, to): (&Service, &Placement),
    listen: IpAddr,
) -> Result<(), Error> {
    let unfit =
        |service: &Service, problem: String| Err(Error::Unfit { service: service.name.clone(), problem });
    let beyond_loopback = to.listen.is_some() || !listen.is_loopback();
    if from.agent == to.agent {
        return match (&to.agent, from.form, to.form) {
            (None, Form::Bare, _) | (Some(_), ..) => Ok(()),
            (None, form, Form::Bare) if beyond_loopback => unfit(
                called,
                format!(
                    "{} in the form {form} reaches it at the bridge only; leave its listen out",
                    caller.name
                ),
            ),
            (None, ..) => Ok(()),
        };
    }
    let machine = |placement: &Placement| match &placement.agent {
        Some(agent) => format!("the machine of the agent at {agent}"),
        None => "this machine".to_owned(),
    };
    if from.form != Form::Bare {
        let problem = format!(
            "in the form {} it reaches its own machine only, and {} runs on {}",
            from.form,
            called.name,
            machine(to)
        );
        return unfit(caller, format!("{problem}; use the form bare"));
    }
    if to.form != Form::Bare {
        let problem = format!(
            "in the form {} it is reached from its own machine only, and {}, which calls it, runs on {}",
            to.form,
            caller.name,
            machine(from)
        );
        return unfit(called, format!("{problem}; use the form bare"));
    }
    if !called.listens.iter().any(|listen| listen.protocol == Protocol::Tcp) {
        let problem = format!("it listens on no TCP address, and {} runs on {}", caller.name, machine(from));
        return unfit(called, format!("{problem}; place both on one machine"));
    }
    if to.agent.is_none() && !beyond_loopback && !from.agent.as_deref().is_some_and(Agents::is_here) {
        return unfit(
            called,
            format!(
                "it listens on loopback, and {}, which calls it, runs on {}; give it an address of this machine that is \
                 reached from there: --server-set {}.listen=IP",
                caller.name,
                machine(from),
                called.name
            ),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn a_caller_must_reach_what_it_calls() {
        let app = Arc::new(crate::of_name("varnish-nginx").unwrap());
        let reach = |words: &[&str]| {
            let mut plan = Plan::new(Arc::clone(&app), Path::new("/x"));
            plan.set(words).unwrap();
            check(&plan)
        };
        let good = |words: &[&str]| assert!(reach(words).is_ok(), "{words:?}: {}", reach(words).unwrap_err());
        let bad = |words: &[&str], says: &str| {
            let error = reach(words).unwrap_err().to_string();
            assert!(error.contains(says), "{words:?}: {error}");
        };
        good(&[]);
        good(&["form=lxc"]);
        good(&["varnish.form=bridged"]);
        good(&["nginx.form=podman", "nginx.agent=here"]);
        good(&["nginx.agent=10.0.0.5:7070"]);
        good(&["agent=10.0.0.5:7070"]);
        good(&["varnish.agent=10.0.0.5:7070", "nginx.agent=10.0.0.6:7070"]);
        good(&["varnish.agent=10.0.0.5:7070", "nginx.listen=10.0.0.9"]);
        good(&["varnish.agent=127.0.0.1:7070"]);
        good(&["varnish.agent=[::1]:7070"]);
        good(&["varnish.form=bridged", "varnish.listen=10.0.0.9"]);
        bad(&["varnish.agent=10.0.0.5:7070"], "nginx: it listens on loopback");
        bad(&["varnish.agent=s:7070"], "--server-set nginx.listen=IP");
        bad(
            &["varnish.form=bridged", "nginx.listen=10.0.0.9"],
            "nginx: varnish in the form bridged reaches it",
        );
        bad(&["varnish.agent=s:7070", "nginx.form=lxc"], "nginx: in the form lxc it is reached from");
        bad(&["varnish.form=bridged", "nginx.agent=s:7070"], "varnish: in the form bridged it reaches");
    }
}
