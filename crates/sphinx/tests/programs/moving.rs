//! The commands under *Moving from memcached* in the documentation, run as they are but for ports.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use super::document::PAGE;
use super::pair::{Pair, Server, Way};
use super::run;
use crate::support::client::Client;
use crate::support::{PATIENCE, spawn};

/// The text of the blocks of this language under *Moving from memcached*.
fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(PAGE).unwrap();
    let (_, section) = page.split_once("## Moving from memcached\n").expect("the section");
    let begin = format!("```{language}\n");
    let ends =
        section.split(&begin).skip(1).map(|block| block.split_once("```").expect("an end").0.to_owned());
    ends.collect()
}

/// The one line of the documented commands that begins so.
fn command(start: &str) -> String {
    let blocks = blocks("sh");
    let mut lines = blocks.iter().flat_map(|block| block.lines()).filter(|line| line.starts_with(start));
    lines.next().unwrap_or_else(|| panic!("no line that begins with '{start}'")).to_owned()
}

#[test]
fn sphinx_starts_as_documented() {
    let line = command("sphinxd ");
    let args = line.strip_prefix("sphinxd ").unwrap().replace("-p 11212", "-p 0");
    assert!(args.contains("-p 0"), "{line}");
    // A test has no gibibyte to give away.
    let mut process = spawn(&args.replace("-m 1024", "-m 64"));
    launch::sphinx::await_ready(&mut process, PATIENCE).unwrap();
}

#[test]
fn the_mirroring_client_answers_as_memcached_and_shows_both_hit_ratios() {
    let program = super::table::pymemcache();
    if let Err(reason) = program.probe.ready() {
        return println!("skipped: {reason}; {}", program.from);
    }
    let Pair { memcached: Some(memcached), sphinx } = Pair::start(Way::Tcp) else { return };
    let [block] = &blocks("python")[..] else { panic!("one block of Python") };
    assert!(block.contains("timeout=0.1"), "{block}");
    // Other tests may keep a server waiting for a processor longer than that.
    let block = block.replace("timeout=0.1", "timeout=60");
    let use_it = "
import sys
first, second = ((host, int(port)) for host, port in (place.rsplit(':', 1) for place in sys.argv[1:]))
# Both have read one item before, which was there.
mirror = Mirror(first, second)
print(mirror.set('k', 'v'), mirror.get('k'), mirror.get('none'), mirror.delete('k'), mirror.get('k'))
print(mirror.hit_ratios())
";
    let file = sphinx.folder.path().join("mirror.py");
    fs::write(&file, format!("{block}{use_it}")).unwrap();
    let words = ["/usr/bin/python3", &file.display().to_string(), &memcached.place, &sphinx.place];
    let ended = run::end(run::spec(&words.map(str::to_owned)).unwrap());
    assert_eq!(ended.lines, ["True b'v' None True None", "(0.5, 0.5)"], "{:?}", ended.errors);
}

#[test]
fn items_are_carried_over_and_back() {
    let program = super::table::memcached_tool();
    if let Err(reason) = program.probe.ready() {
        return println!("skipped: {reason}; {}", program.from);
    }
    let line = command("/usr/share/memcached/scripts/memcached-tool ");
    let (dump, send) = line.split_once(" | ").expect("a pipe");
    assert_eq!(send, "nc -q 1 127.0.0.1 11212");
    let carry = |from: &Server, to: &Server| {
        let dump = dump.replace("127.0.0.1:11211", &from.place);
        let items =
            run::end(run::spec(&dump.split(' ').map(str::to_owned).collect::<Vec<_>>()).unwrap()).lines;
        // As netcat does: send everything, end, and wait for the server to close.
        let mut stream = TcpStream::connect(&to.place).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("{}\r\n", items.join("\r\n")).as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    };
    let Pair { memcached: Some(memcached), sphinx } = Pair::start(Way::Tcp) else { return };
    let client = |server: &Server| Client::connect(server.place.parse().unwrap());
    for (from, to, key) in [(&memcached, &sphinx, "there"), (&sphinx, &memcached, "and-back")] {
        client(from).set(key, "carried");
        client(to).set("seed-a", "newer");
        let said = carry(from, to);
        assert!(said.contains("NOT_STORED") && said.contains("STORED\r\n"), "{said}");
        assert_eq!(
            client(to).get(key).as_deref(),
            Some(&b"carried"[..]),
            "from {} to {}",
            from.name,
            to.name
        );
        assert_eq!(client(to).get("seed-a").as_deref(), Some(&b"newer"[..]));
    }
}
