mod documented;

use std::fs;

use cache_store::{Policy, Provide};
use clap::Parser;
use reactor::tls::{Clients, Oldest};
use reactor::{Address, Backend, allowed_cpus};
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
fn as_published_is_the_sphinx_of_the_paper() {
    let published = parse("--as-published -m 128 -t 4").unwrap();
    assert_eq!(
        (published.sharing, published.io, published.policy),
        (Sharing::Nothing, Backend::Epoll, Policy::Fifo)
    );
    assert!(!published.sampling && published.has_known_partitions());
    assert_eq!(published.store(0, 1).segment, 2 << 20);
    assert_eq!(parse("-m 128 -t 4").unwrap().store(0, 1).segment, 512 << 10);
    for other in ["--sharing read", "--io auto", "--policy two-queues", "-M", "--steering cpu"] {
        let error = parse(&format!("--as-published {other}")).unwrap_err();
        assert!(error.contains("cannot be used with"), "{error}");
    }
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
    assert!(config.provide == Provide::AsWritten && config.shutdown && !config.flush_all);
    assert_eq!((config.verbose, config.unix_mask), (2, 0o770));
    assert_eq!(config.pidfile, Some("/p".into()));
    assert_eq!(config.user, geteuid().is_root().then(|| "nobody".into()));
    let config = parse("-X -D / -d -r -k -W").unwrap();
    assert!(!config.dump && config.daemon && config.core_dumps && config.lock_memory);
    assert_eq!(config.prefix_delimiter, Some(b'/'));

    let default = parse("").unwrap();
    assert_eq!(default.listen, [Address::Tcp("127.0.0.1:11211".parse().unwrap())]);
    assert_eq!((default.memory, default.connections, default.item_max), (Bytes(64 << 20), 1024, 1 << 20));
    assert!(
        default.provide == Provide::Behind && !default.shutdown && default.flush_all && default.tls.is_none()
    );
    assert!(default.dump && !default.daemon && !default.core_dumps && !default.lock_memory);
    assert_eq!((default.prefix_delimiter, default.warnings), (None, Vec::<String>::new()));
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
    check("-U 5", &["127.0.0.1:5", "udp://127.0.0.1:5"]);
    check("-U 5 -p 11211", &["127.0.0.1:11211", "udp://127.0.0.1:5"]);
    check("-U 0", &["127.0.0.1:11211"]);
    check("-U -1", &["127.0.0.1:0", "udp://127.0.0.1:0"]);
    check("-U -1 -p 7", &["127.0.0.1:7", "udp://127.0.0.1:7"]);
    check("-p -1", &["127.0.0.1:0"]);
    check("-s /a", &["unix:/a"]);
    check("-s /a -p 0", &["unix:/a"]);
    check("-s /a -p 7", &["127.0.0.1:7", "unix:/a"]);
    check("-s /a -p 0 -l ::1", &["[::1]:0", "unix:/a"]);
    check("-U tcp", &["127.0.0.1:11211", "udp://127.0.0.1:11211"]);
    check("-U tcp -p 0", &["127.0.0.1:0", "udp://127.0.0.1:0"]);
    let each = ["127.0.0.1:7", "udp://127.0.0.1:7", "127.0.0.1:8", "udp://127.0.0.1:8"];
    check("-U tcp -l 127.0.0.1:7,127.0.0.1:8", &each);
    check("-U tcp -Z --tls-cert c", &["udp://127.0.0.1:11211"]);
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
    check("-l nowhere!", "it is not an address; write for example");
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
    check("-I 1025m", "over 1 GiB");
    check("-I 1023", "under the least of 1 KiB");
    check("-a 9", "a mode in octal");
    check("-U 1 -Y f", "-U and -Y exclude each other");
    check("-s /a -U 1", "give -l, too");
    check(
        "--tls-port 1",
        "--tls-port needs a certificate; name its PEM file with --tls-cert or -o ssl_chain_cert",
    );
    check("-Z", "-Z needs a certificate");
    check("--tls-cert c", "--tls-cert is for TLS, which is off; give -Z or --tls-port");
    check("-Z -s /a --tls-cert c", "give -l, too");
    check("-l notls:127.0.0.1", "notls: before an address of -l has a meaning with -Z only");
    check("-Z --tls-cert c -l mtls:127.0.0.1", "give -o ssl_verify_mode=2,ssl_ca_cert=FILE");
    check("-Z --tls-cert c -l btls:127.0.0.1 -o ssl_verify_mode=1", "btls: asks clients for no certificate");
    check(
        "-Z --tls-cert c -o ssl_verify_mode=2",
        "name the file of their authorities with -o ssl_ca_cert=FILE",
    );
    check("-Z --tls-cert c --tls-client-ca a -o ssl_verify_mode=0", "leave out one of the two");
    check("-o wat", "-o wat is not known");
    check("-M --policy fifo", "cannot be used with");
    check("-B text", "write ascii, binary or auto");
    check("-S -B ascii -Y f", "leave out one of the two");
}

#[test]
fn warns_of_what_has_no_effect() {
    let check = |line: &str, expect: &[&str]| assert_eq!(parse(line).unwrap().warnings, expect, "{line}");
    check("-f 1.05", &["-f has no effect: there are no slabs, items of all sizes lie in the same segments"]);
    check(
        "-f 1.05 -f 1.1 -vvv -B ascii",
        &["-f has no effect: there are no slabs, items of all sizes lie in the same segments"],
    );
    check("-B auto -S -Y /users", &[]);
    check("-o modern", &[]);
    check("-o hashpower=20", &["-o hashpower has no effect: the index grows by itself, in small steps"]);
    check("-o ssl_key=k", &["-o ssl_key has no effect: TLS is off without -Z or --tls-port"]);
    check("-Z -U 7 --tls-cert c", &["-Z does not encrypt the datagrams of -U"]);
    check("-I 2m -m 64 -t 1", &[]);
    let config = parse("-I 512m -m 1024 -t 4 --sharing nothing").unwrap();
    assert!(
        config.warnings[0]
            .starts_with("-I 512 MiB is lowered to 128 MiB, half of what each of 4 partitions has"),
        "{:?}",
        config.warnings
    );
    assert_eq!(config.item_max, 128 << 20);
    check("-I 512m -m 1024 -t 1", &[]);
    assert!(parse("-I 33m -m 64").unwrap_err().starts_with("-I 33 MiB is over half of the memory of 64 MiB"));
    assert!(parse("-I 1g -m 1024").is_err());
}

#[test]
fn root_alone_becomes_another_user() {
    let mut warnings = Vec::new();
    let root = geteuid().is_root();
    assert_eq!(may_become("no-such-user-here", &mut warnings), root);
    assert_eq!(warnings.len(), usize::from(!root), "{warnings:?}");
    let own = User::from_uid(geteuid()).unwrap().map(|user| user.name);
    if let Some(own) = own {
        let mut warnings = Vec::new();
        may_become(&own, &mut warnings);
        assert!(warnings.is_empty(), "{warnings:?}");
    }
}

/// As start scripts pass them: one word with a blank, an option twice, blanks after commas.
#[test]
fn words_are_read_as_memcached_reads_them() {
    let check = |words: &[&str], expect: &str| {
        let words = ["sphinxd"].iter().chain(words);
        let got = Cli::try_parse_from(words).unwrap().options.resolve().unwrap();
        assert_eq!(got, parse(expect).unwrap());
    };
    check(&["-m 64"], "-m 64");
    check(&["-m", " 64"], "-m 64");
    check(&["--memory-limit= 64"], "-m 64");
    check(&["-p 11212", "-U 0", "-c 9", "-t 1", "-b 5", "-R 20"], "-p 11212 -U 0 -c 9 -t 1 -b 5 -R 20");
    check(
        &["-l 127.0.0.1, ::1", "-I 1m", "-P /run/p", "-Y /users"],
        "-l 127.0.0.1,::1 -I 1m -P /run/p -Y /users",
    );
    check(&["-s /sock", "-a 660", "-o modern", "-o  idle_timeout=9"], "-s /sock -a 660 -o idle_timeout=9");
    check(&["-u root", "-D /", "-B ascii"], "-u root -D / -B ascii");
    check(&["-f 1.5", "-n 48", "-N 1"], "-f 1.5 -n 48 -N 1");
    check(&["-m", "1", "-m", "64", "-t", "1", "-t", "2", "-M", "-M"], "-m 64 -t 2 -M");
    check(&["-vvv", "-p", "-1"], "-v -v -v -p 0");
    check(&["-d", "-d", "-k", "-r", "-X", "-Fv"], "-d -k -r -X -F -v");
}

#[test]
fn little_memory_starts_fewer_threads() {
    let check = |line: &str, threads: usize, wanted: usize| {
        let config = parse(line).unwrap();
        assert_eq!((config.cpus.len(), config.threads_wanted), (threads, wanted), "{line}");
        assert_eq!(config.warnings.len(), usize::from(threads < wanted), "{line}: {:?}", config.warnings);
    };
    check("--cpus 0-63 -m 64", 32, 64);
    check("--cpus 0-63 -m 64 --sharing everything", 32, 64);
    check("--cpus 0 -t 4 -m 7", 3, 4);
    check("--cpus 0-3 -m 8", 4, 4);
    check("--cpus 0-3 -m 1", 1, 4);
    let warnings = parse("--cpus 0-63 -m 64").unwrap().warnings;
    assert_eq!(
        warnings,
        [
            "64 MiB of memory is too little for 64 threads, which need twice the largest item each (-I); 32 start; give more with -m, \
          or fewer threads with -t"
        ]
    );
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn tls_is_set_up_as_memcacheds() {
    let check = |line: &str, plain: &[&str], encrypted: &[&str], clients: Clients, oldest: Oldest| {
        let config = parse(line).unwrap();
        let listen: Vec<String> = config.listen.iter().map(ToString::to_string).collect();
        let tls = config.tls.unwrap();
        let tls_listen: Vec<String> = tls.listen.iter().map(ToString::to_string).collect();
        assert_eq!((listen, tls_listen), (strings(plain), strings(encrypted)), "{line}");
        assert_eq!((tls.clients, tls.oldest), (clients, oldest), "{line}");
    };
    let usual = ["127.0.0.1:11211"];
    check("-Z -o ssl_chain_cert=c", &[], &usual, Clients::Any, Oldest::Tls12);
    check(
        "-Z -o ssl_chain_cert=c,ssl_verify_mode=1,ssl_ca_cert=a,ssl_min_version=3 -l notls:127.0.0.1:9,[::1]:8",
        &["127.0.0.1:9"],
        &["[::1]:8"],
        Clients::Optional("a".into()),
        Oldest::Tls13,
    );
    for mode in [2, 3] {
        let line = format!("-Z -o ssl_chain_cert=c,ssl_verify_mode={mode},ssl_ca_cert=a -l mtls:127.0.0.1");
        check(&line, &[], &usual, Clients::Required("a".into()), Oldest::Tls12);
    }
    check("-Z --tls-cert c -l btls:127.0.0.1", &[], &usual, Clients::Any, Oldest::Tls12);
    check("-Z --tls-cert c --tls-client-ca a", &[], &usual, Clients::Required("a".into()), Oldest::Tls12);
    check("--tls-port 7 --tls-cert c", &usual, &["127.0.0.1:7"], Clients::Any, Oldest::Tls12);
    check("-Z --tls-cert c -s /a -p 7", &["unix:/a"], &["127.0.0.1:7"], Clients::Any, Oldest::Tls12);

    let keys = |line: &str| parse(line).unwrap().tls.map(|tls| (tls.certificates, tls.key)).unwrap();
    assert_eq!(keys("-Z -o ssl_chain_cert=c,ssl_key=k"), ("c".into(), "k".into()));
    assert_eq!(keys("-Z -o ssl_chain_cert=c"), ("c".into(), "c".into()));
    assert_eq!(keys("-Z -o ssl_chain_cert=c,ssl_key=k --tls-cert d --tls-key l"), ("d".into(), "l".into()));
    let warned = |line: &str, expect: &str| {
        let warnings = parse(line).unwrap().warnings;
        assert!(warnings[0].contains(expect), "{line}: {warnings:?}");
    };
    warned("-Z -o ssl_chain_cert=c,ssl_ca_cert=a", "-o ssl_ca_cert has no effect: ssl_verify_mode is 0");
    warned("-Z -o ssl_chain_cert=c,ssl_min_version=0", "ssl_min_version=0 is raised to 2");
    warned("-Z -o ssl_chain_cert=c,ssl_ciphers=HIGH", "-o ssl_ciphers has no effect");
}

#[test]
fn the_licence_is_printed_on_request() {
    let error = Cli::try_parse_from(["sphinxd", "-i"]).map(drop).unwrap_err();
    assert_eq!(error.exit_code(), 0);
    assert!(!error.use_stderr() && error.to_string().contains("Apache License"));
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
    assert!(config.shutdown && config.provide == Provide::Behind && config.verbose == 2);
    let config = with(text, "-m 8 -t 1 -l 127.0.0.2 -v --lazy-memory").unwrap();
    assert_eq!((config.memory, config.cpus.len(), config.verbose), (Bytes(8 << 20), 1, 1));
    assert_eq!(config.listen, [Address::Tcp("127.0.0.2:7".parse().unwrap())]);
    assert!(config.provide == Provide::AsWritten && config.shutdown);
    assert_eq!(with("memory = 3", "").unwrap().memory, Bytes(3 << 20));
    assert_eq!(with("slab-growth-factor = 2", "-C").unwrap().warnings.len(), 2);

    let check = |text: &str, expect: &str| {
        let error = with(text, "").unwrap_err();
        assert!(error.contains(expect), "{text}: {error}");
    };
    check("prot = 7", "there is no option 'prot'; there are port, udp-port");
    check("port = 70000", "70000 is not in 0..=65535");
    check("port = 1.5", "'port' is float; write a string or a whole number");
    check("lazy-memory = \"yes\"", "'lazy-memory' is string; write true or false");
    check("config = \"x\"", "there is no option 'config'");
    check("port = ", "sphinx.toml:");
    let error = parse("--config /no/such/file").unwrap_err();
    assert!(error.contains("/no/such/file: No such file"), "{error}");
}
