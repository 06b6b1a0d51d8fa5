//! The first applications start the same processes with the same configuration as the adapters of crate `launch`.

use std::path::Path;
use std::sync::Arc;

use app::{Placement, Plan};
use launch::nginx::{self, Settings};
use launch::{Form, memcached};
use units::Bytes;

fn plan(name: &str) -> Plan {
    Plan::new(Arc::new(app::of_name(name).unwrap()), Path::new("/no/such/taillight"))
}

#[test]
fn memcached_has_the_same_arguments() {
    let Ok(found) = memcached::find() else {
        println!("skipped: there is no memcached");
        return;
    };
    for (threads, memory, cpus, extra) in
        [(1, 64 << 20, vec![0], vec![]), (2, (65 << 20) + 1, vec![0], vec!["-o", "no_lru_maintainer"])]
    {
        let extra: Vec<String> = extra.into_iter().map(str::to_owned).collect();
        let mut plan = plan("memcached");
        let (memory, args) = (Bytes(memory), extra.clone());
        plan.place_all(&Placement { threads, memory, cpus: cpus.clone(), args, ..Placement::default() });
        plan.connections = 1100;
        let running = plan.start().unwrap();
        let service = running.services().next().unwrap();
        assert_eq!(service.version(), format!("memcached {}", found.version));
        let address = running.address(None).parse().unwrap();
        let options = memcached::Options { threads, memory, connections: 1100, cpus: Some(cpus), extra };
        assert_eq!(*service.instances[0].process.spec(), found.spec_at(address, &options));
    }
}

#[test]
fn nginx_has_the_same_configuration() {
    let Ok(found) = nginx::find() else {
        println!("skipped: there is no nginx");
        return;
    };
    let files = tempfile::tempdir().unwrap();
    std::fs::set_permissions(files.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(files.path().join("a file"), "text").unwrap();
    let check = |words: &[&str], workers: usize, cpus: &[usize], connections: usize| {
        let mut plan = plan("nginx");
        plan.place_all(&Placement { threads: workers, cpus: cpus.to_vec(), ..Placement::default() });
        plan.set(words).unwrap();
        plan.files = Some(files.path().into());
        plan.connections = connections;
        let running = plan.start().unwrap();
        let service = running.services().next().unwrap();
        let spec = service.instances[0].process.spec();
        let address = running.address(None).parse().unwrap();
        let options = nginx::Options {
            files: files.path().into(),
            workers,
            cpus: cpus.to_vec(),
            connections,
            open_files: nginx::open_file_limit(Form::Bare),
            settings: Settings::read(words).unwrap(),
        };
        let own = spec.dir.clone().unwrap();
        let expect = nginx::configuration(&found, address, &own, &options);
        assert_eq!(service.configuration.unwrap(), expect, "{words:?}");
        assert_eq!(
            spec.args,
            ["-p", own.to_str().unwrap(), "-c", &format!("{}/nginx.conf", own.display()), "-e", "stderr"]
        );
        assert_eq!(service.pids().len(), 1 + workers);
        assert_eq!(service.version(), format!("nginx {}", found.version));
    };
    check(&[], 1, &[0], 1024);
    check(&["open_file_cache=off"], 2, &[0], 1024);
    check(&["open_file_cache=1000", "gzip=6"], 1, &[], 2000);
    check(&["open_file_cache=100000000", "reuseport=on"], 1, &[0], 1024);
    check(&["access_log=on", "sendfile=off"], 2, &[0, 1], 1024);
}
