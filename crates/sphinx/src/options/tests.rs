use std::fs;

use cache_store::Policy;
use clap::Parser;
use reactor::{Backend, allowed_cpus};
use units::{Bytes, Nanos};

use super::*;
use crate::{Sharing, Spin};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    options: Options,
}

fn parse(line: &str) -> Result<Config, String> {
    let words = ["sphinxd"].into_iter().chain(line.split_whitespace());
    let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
    cli.options.resolve().map_err(|error| error.to_string())
}

fn listens(line: &str) -> Vec<String> {
    parse(line).unwrap().listen.iter().map(ToString::to_string).collect()
}

#[test]
fn memcacheds_flags_mean_the_same() {
    let config =
        parse("-p 0 -l ::1 -t 3 -m 100 --lazy-memory -c 7 --cpus 0 --policy fifo -I 2m -R 20 -b 9 -A -F -v -v -a 770 -P /p -u nobody")
            .unwrap();
    assert_eq!(config.listen, [Address::Tcp("[::1]:0".parse().unwrap())]);
    assert_eq!(config.cpus, [0, 0, 0]);
    assert_eq!((config.memory, config.item_max), (Bytes(100 << 20), 2 << 20));
    assert_eq!((config.connections, config.requests_per_event, config.backlog), (7, 20, 9));
    assert_eq!((config.policy, parse("").unwrap().policy), (Policy::Fifo, Policy::TwoQueues));
    assert_eq!(parse("-M").unwrap().policy, Policy::Never);
    assert!(config.lazy_memory && config.shutdown && !config.flush_all);
    assert_eq!((config.verbose, config.unix_mask), (2, 0o770));
    assert_eq!((config.pidfile, config.user), (Some("/p".into()), Some("nobody".into())));

    let default = parse("").unwrap();
    assert_eq!(default.listen, [Address::Tcp("127.0.0.1:11211".parse().unwrap())]);
    assert_eq!((default.memory, default.connections, default.item_max), (Bytes(64 << 20), 1024, 1 << 20));
    assert!(!default.lazy_memory && !default.shutdown && default.flush_all && default.tls.is_none());
    assert_eq!((default.idle_timeout, default.reader_timeout, default.drain), (0, 60, Nanos::from_secs(5)));
    assert_eq!(default.cpus, allowed_cpus().unwrap());
    assert_eq!((default.spin, default.metrics), (Spin::Off, None));
    assert_eq!(parse("--memory 7 --connections 8").unwrap().connections, 8);
    assert_eq!(parse("--io epoll").unwrap().io, Backend::Epoll);
    assert_eq!(parse("-B ascii").unwrap().listen, default.listen);
}

#[test]
fn it_listens_where_it_is_told() {
    let check = |line: &str, expect: &[&str]| assert_eq!(listens(line), expect, "{line}");
    check("-l 127.0.0.1,[::1]:7", &["127.0.0.1:11211", "[::1]:7"]);
    check("-l 127.0.0.1 -l 127.0.0.2 -p 9", &["127.0.0.1:9", "127.0.0.2:9"]);
    check("-U 5", &["127.0.0.1:11211", "udp://127.0.0.1:5"]);
    check("-s /a", &["unix:/a"]);
    check("-s /a -p 7", &["127.0.0.1:7", "unix:/a"]);
    check("-s /a -l ::1", &["[::1]:11211", "unix:/a"]);
    let config = parse("--tls-port 8 --tls-cert c --tls-key k -l 127.0.0.1:7").unwrap();
    assert_eq!(config.listen, [Address::Tcp("127.0.0.1:7".parse().unwrap())]);
    assert_eq!(config.tls.unwrap().listen, ["127.0.0.1:8".parse().unwrap()]);
}

#[test]
fn threads_share_processors_only_when_there_are_too_few() {
    let check = |line: &str, expect: &[usize]| assert_eq!(parse(line).unwrap().cpus, expect, "{line}");
    check("--cpus 4,2", &[2, 4]);
    check("--cpus 1-3,7", &[1, 2, 3, 7]);
    check("--cpus 1-3 -t 2", &[1, 2]);
    check("--cpus 1,5 -t 5", &[1, 5, 1, 5, 1]);
    check("--cpus 1-4 --no-irq-cpus=2,4", &[1, 3]);
}

#[test]
fn refuses_with_a_reason() {
    let check = |line: &str, expect: &str| {
        let error = parse(line).unwrap_err();
        assert!(error.contains(expect), "{line}: {error}");
    };
    check("-p 70000", "70000");
    check("-l nowhere!", "it is no address; write for example");
    check("-t 0", "0 is not in 1..=256");
    check("-m lots", "write bytes, or a number with KiB");
    check("-m -5", "unexpected argument");
    check("--sharing all", "write nothing, read, something or everything");
    check("--sharing something --group 0", "0 is not in 1..=256");
    check("--spin 1s", "the longest is 10 ms");
    check("--io poll", "write auto, epoll or uring");
    check("-c 0", "0 is not in 1..");
    check("--cpus x", "'x' is not a number");
    check("--cpus 3-1", "runs backwards");
    check("--cpus 0-99999", "'0-99999' is not a number");
    check("--cpus 1 --no-irq-cpus=1", "leaves no processor to run on");
    check("-I 3m", "an item lies in one segment");
    check("-a 9", "a mode in octal");
    check("-U 1 -Y f", "-U and -Y exclude each other");
    check("-s /a -U 1", "give -l, too");
    check("--tls-port 1", "--tls-cert");
    check("-o wat", "-o wat is not known");
    check("-d", "-d is not for Sphinx: have systemd");
    check("-M --policy fifo", "cannot be used with");
    check("-f 1.05", "-f is not for Sphinx: there are no slabs");
    check("-B binary", "only the text protocol");
    check("-S", "-Y authenticates in the text protocol");
}

#[test]
fn only_something_has_groups() {
    let check = |line: &str, expect| assert_eq!(parse(line).unwrap().sharing, expect, "{line}");
    check("--sharing read", Sharing::Read);
    check("--sharing everything", Sharing::Everything);
    check("--sharing something", Sharing::Something(2));
    check("--sharing something --group 3", Sharing::Something(3));
    for line in ["--group 3", "--sharing read --group 2"] {
        let error = parse(line).unwrap_err();
        assert!(error.contains("leave one of the two out"), "{line}: {error}");
    }
}

#[test]
fn every_option_explains_itself() {
    let command = Options::augment_args(Command::new("sphinxd"));
    command.clone().debug_assert();
    for arg in command.get_arguments() {
        assert!(arg.is_hide_set() || arg.get_help().is_some(), "{} has no help", arg.get_id());
    }
}

#[test]
fn a_file_has_the_same_names_and_the_command_line_overrules_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sphinx.toml");
    let with = |text: &str, line: &str| {
        fs::write(&file, text).unwrap();
        parse(&format!("--config {} {line}", file.display()))
    };
    let text = "port = 7\nlisten = [\"127.0.0.1\", \"::1\"]\nmemory-limit = \"100MiB\"\nthreads = 2\ncpus = \"0\"\n\
                enable-shutdown = true\nlazy-memory = false\nextended = [\"idle_timeout=9\"]\nverbose = 2\n";
    let config = with(text, "").unwrap();
    let places: Vec<String> = config.listen.iter().map(ToString::to_string).collect();
    assert_eq!(places, ["127.0.0.1:7", "[::1]:7"]);
    assert_eq!((config.memory, config.cpus.len(), config.idle_timeout), (Bytes(100 << 20), 2, 9));
    assert!(config.shutdown && !config.lazy_memory && config.verbose == 2);
    let config = with(text, "-m 8 -t 1 -l 127.0.0.2 -v --lazy-memory").unwrap();
    assert_eq!((config.memory, config.cpus.len(), config.verbose), (Bytes(8 << 20), 1, 1));
    assert_eq!(config.listen, [Address::Tcp("127.0.0.2:7".parse().unwrap())]);
    assert!(config.lazy_memory && config.shutdown);
    assert_eq!(with("memory = 3", "").unwrap().memory, Bytes(3 << 20));

    let check = |text: &str, expect: &str| {
        let error = with(text, "").unwrap_err();
        assert!(error.contains(expect), "{text}: {error}");
    };
    check("prot = 7", "there is no option 'prot'; there are port, udp-port");
    check("port = 70000", "70000 is not in 0..=65535");
    check("port = 1.5", "'port' is float; write a string or a whole number");
    check("lazy-memory = \"yes\"", "'lazy-memory' is string; write true or false");
    check("config = \"x\"", "there is no option 'config'");
    check("daemon = true", "-d is not for Sphinx");
    check("port = ", "sphinx.toml:");
    let error = parse("--config /no/such/file").unwrap_err();
    assert!(error.contains("/no/such/file: No such file"), "{error}");
}
