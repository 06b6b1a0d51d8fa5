//! Link-local addresses, which name a machine only together with a zone.

use crate::net::{Net, WaitRan};
use crate::program::{LONG, sphinx, start, trial};

#[test]
fn a_server_at_a_link_local_address_is_measured() {
    let Some(net) = Net::new(1) else { return };
    let Some((address, zone)) = net.link_local(0) else { return };
    let (_server, at) = sphinx(&net.on(0), &format!("{address}%eth0"));
    let (_, port) = at.rsplit_once(':').unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trial.json").display().to_string();
    let target = format!("[{address}%{zone}]:{port}");
    let mut words = vec!["load", "cache", "--target", &target, "--trial", &file, "--yes", "--pace", "sleep"];
    let load = "--keys 1000 --mix get:50,set:50 --rate 1k --warmup 100ms --window 1s --connections 4";
    words.extend(load.split_whitespace());
    start(&[], &words).wait_ran(LONG);
    let trial = trial(folder.path());
    assert_eq!(trial.arrivals.errors, 0, "{:?}", trial.errors);
    assert!(trial.arrivals.completed > 0, "{}", trial.verdict);
}
