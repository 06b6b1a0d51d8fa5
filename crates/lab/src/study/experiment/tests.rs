use launch::Form;
use units::Bytes;

use super::*;
use crate::FilesPlace;

fn known() -> Vocabulary {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    Vocabulary {
        cache: words("keys key-size mix verify"),
        web: words("files files-seed file-set popularity"),
        generator: words("connections depth drain"),
    }
}

fn read(text: &str) -> Result<Experiment, DefinitionError> {
    Experiment::read(text.parse().unwrap(), "", &known())
}

#[test]
fn what_is_left_out_is_filled_in() {
    let experiment = read("").unwrap();
    assert_eq!(experiment.target.server, TargetName::Sphinx);
    assert_eq!((experiment.target.threads, experiment.target.form), (1, Form::Bare));
    assert_eq!(experiment.load, Offer::Share { share: 0.5, of: None });
    assert_eq!(experiment.qos, Qos::default());
    assert_eq!(experiment.time.window, Duration::from_secs(5));
    assert!(experiment.generator_words().is_empty());
    assert_eq!(experiment.to_json()["load"], "50 % of its own maximum");
}

#[test]
fn everything_that_is_written_counts() {
    let text = "knobs = ['irqbalance=off']\n[target]\nserver = 'memcached'\nthreads = 2\ncpus = '0-1'\ndevice = 'eth1'\n\
                memory = '64MiB'\nargs = ['-o', 'no_lru_maintainer']\n[workload]\nkey_size = '40B'\nkeys = 1000\n\
                verify = true\n[generator]\ncpus = '1'\nconnections = 16\n[load]\nclosed = true\n\
                [qos]\ntarget = 'p99<2ms'\n[time]\nwindow = '2s'";
    let experiment = read(text).unwrap();
    assert_eq!(experiment.target.memory, Bytes(64 << 20));
    assert_eq!(experiment.target.cpus, Cpus::List("0-1".parse().unwrap()));
    for cpus in ["apart", "per-thread", "generator", "cores:4", "siblings:7", "0-1"] {
        assert_eq!(read(&format!("[target]\ncpus = '{cpus}'")).unwrap().target.cpus.to_string(), cpus);
    }
    let words = "--key-size 40B --keys 1000 --verify --connections 16 --closed";
    assert_eq!(experiment.generator_words().join(" "), words);
    assert_eq!(experiment.knobs, ["irqbalance=off"]);
    assert_eq!(experiment.target.device.as_deref(), Some("eth1"));
    assert_eq!(experiment.time.window, Duration::from_secs(2));
}

#[test]
fn what_is_sent_follows_from_the_server_or_is_said() {
    let check = |text: &str, kind: Workload| assert_eq!(read(text).unwrap().kind, kind, "{text}");
    check("", Workload::Cache);
    check("[target]\nserver = 'nginx'", Workload::Web);
    check("[target]\nserver = 'nginx'\n[workload]\nkind = 'web'", Workload::Web);
    check("[target]\nserver = '127.0.0.1:80'", Workload::Cache);
    check(
        "[target]\nserver = '127.0.0.1:80'\n[workload]\nkind = 'web'\npopularity = 'uniform'",
        Workload::Web,
    );
}

#[test]
fn a_web_server_serves_what_it_is_asked_for() {
    let text = "[target]\nserver = 'nginx'\nfiles-in = 'disk'\n[workload]\nfiles = '10x4KiB'\nfiles-seed = 3";
    let experiment = read(text).unwrap();
    let mut words = experiment.generator_words();
    let set = Files::Set { files: "10x4KiB".into(), seed: 3, place: FilesPlace::Disk };
    assert_eq!(experiment.files(&mut words).unwrap(), Some(set));
    assert_eq!(words.join(" "), "--files 10x4KiB --files-seed 3");
    assert_eq!(read("").unwrap().files(&mut words).unwrap(), None);
}

#[test]
fn mistakes_are_named_with_what_to_write() {
    let check = |text: &str, expect: &str| {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(expect), "{text}: {error}");
    };
    check("[taget]", "taget: this key is not known; did you mean 'target'?");
    check("[target]\nthread = 1", "did you mean 'threads'?");
    check(
        "knobs = ['cpu.st=0']",
        "knobs: setting 'cpu.st=0': there is no 'cpu.st'; the nearest is 'cpu.set'",
    );
    check("[target]\nserver = 'redis'", "sphinx (embedded), memcached or nginx");
    check("[workload]\nkind = 'web'", "workload.kind: sphinx answers no 'web'");
    check(
        "[target]\nserver = 'nginx'\n[workload]\nkind = 'cache'",
        "workload.kind: nginx answers no 'cache'",
    );
    check("[target]\nserver = 'nginx'\n[workload]\nkeys = 5", "workload.keys: this key is not known");
    check("[workload]\nkind = 'video'", "'video' is not known; write \"cache\" or \"web\"");
    check("[target]\nfiles-in = 'ram'", "target.files-in: ");
    check("[target]\nform = 'lcx'", "lxc");
    check("[target]\ncpus = 'x'", "apart, per-thread, generator, cores:N or siblings:N");
    check("[target]\ncpus = 'cores:0'", "target.cpus: '0' is no number of processors");
    check(
        "[workload]\nkey-sise = '30B'",
        "workload.key-sise: this key is not known; did you mean 'key-size'?",
    );
    check("[workload]\nkey-size = 30", "workload.key-size: 30 has no unit; write it as \"30B\"");
    check("[workload]\nkey-size = '30'", "has no unit");
    check("[generator]\nseed = 1", "set for each trial");
    check("[load]\nshare = 0.7", "such as \"70%\"");
    check("[load]\nshare = '70%'\nclosed = true", "only one of");
    check("[load]\nof = 'Memcached'", "there is no share");
    check("[load]\nfind = 'best'", "\"maximum\" or \"peak\"");
    check("[time]\nwindow = 2", "such as \"2s\"");
    check("[qos]\ntarget = 'p99'", "write 'p99<1ms'");
}

#[test]
fn a_bench_does_not_depend_on_the_load() {
    let key = |text: &str| read(text).unwrap().bench_key();
    assert_eq!(key("[load]\nshare = '10%'"), key("[load]\nrate = '5krps'\n[time]\nwindow = '1s'"));
    assert_ne!(key("[load]\nshare = '10%'"), key("[load]\nclosed = true"));
    assert_ne!(key(""), key("[workload]\nkeys = 5"));
    assert_ne!(key(""), key("[target]\nthreads = 2"));
    assert_ne!(key(""), key("knobs = ['smt=off']"));
    assert_ne!(key(""), key("[target]\ndevice = 'eth1'"));
}
