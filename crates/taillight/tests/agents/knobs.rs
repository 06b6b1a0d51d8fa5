//! Knobs of a server's machine, asked for as a coordinator asks.

use std::path::Path;

use agent::{AgentConfig, CredentialFiles, Credentials, LEASE, Serve, Tenant, Tune};

use crate::program::{LONG, TOKEN, serve};

#[test]
fn they_are_for_the_processes_that_serve_and_follow_a_restart() {
    let words = ["agent", "--role", "server", "--name", "s", "--allow-knobs"];
    let (_agent, address) = serve(&[], &words, "taillight agent s ready on ");
    let config = AgentConfig {
        agents: vec![address],
        credentials: Credentials::read(&CredentialFiles::default(), Some(TOKEN)).unwrap(),
        insecure_token: false,
        name: "test".into(),
        lease: LEASE,
    };
    let mut tenant = Tenant::open(&config).unwrap();
    let plan = |tenant: &mut Tenant| {
        let knobs = vec!["cpu.quota=50%".into(), "cpu.set=subject".into()];
        tenant.tune(Tune { action: "plan".into(), knobs, ..Tune::default() })
    };
    let refused = plan(&mut tenant).unwrap_err().to_string();
    assert!(refused.contains("it acts on processes"), "{refused}");
    let spec = r#"{ "target": { "server": "sphinx", "memory": "64MiB", "cpus": "0" } }"#.into();
    tenant.serve(Serve { spec, connections: 8, ..Serve::default() }, LONG).unwrap();
    // The last action moves the server: `echo PID > …/cgroup.procs`.
    let moved = |typed: &str| -> u32 {
        let last = typed.lines().last().unwrap();
        last.split(' ').nth(1).unwrap().parse().unwrap_or_else(|_| panic!("{typed}"))
    };
    let typed = match plan(&mut tenant) {
        Err(error) if error.to_string().contains("no mounted control group") => {
            return println!("skipped: {error}");
        }
        planned => planned.unwrap(),
    };
    let first = moved(&typed);
    assert!(
        typed.lines().any(|line| line.starts_with("echo 0 > ") && line.ends_with("cpuset.cpus")),
        "{typed}"
    );
    tenant.halt().unwrap();
    tenant.resume(String::new(), LONG).unwrap();
    let second = moved(&plan(&mut tenant).unwrap());
    let runs = |pid: u32| Path::new(&format!("/proc/{pid}")).exists();
    assert!(first != second && !runs(first) && runs(second), "{first} {second}");
}
