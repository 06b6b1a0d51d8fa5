//! A table of commands, of which Redis and Sphinx must answer each alike.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::talk::{Talk, redis, sphinxd};

/// Commands in their order, a word each between blanks.
const COMMANDS: &str = "\
ping
PING hello
echo hi
get none
set k v
get k
GET k
type k
type none
set k w nx
set k w xx
set n w xx
set n w nx
get n
set k x get
set none2 x xx get
set k v ex 100
ttl k
set k w keepttl
ttl k
set k v
ttl k
set k v ex 0
set k v ex -5
set k v ex x
set k v ex
set k v px 100000
ttl k
set k v nx xx
set k v wrong
set k v ex 10 px 10
set k v ex 10 keepttl
set k v exat 1
get k
set k v exat 99999999999
ttl none
pttl none
setex k 100 v
ttl k
setex k 0 v
setex k x v
psetex k 100000 v
ttl k
psetex k -1 v
setnx k v
setnx new v
getset k w
getset absent w
getdel absent
getdel absent
getex k
getex k ex 100
ttl k
getex k persist
ttl k
getex k ex 0
getex k wrong
getex k ex 1 2
getex none ex 10
mget k none n
mset a 1 b 2 c 3
mget a b c
mset a 1 b
mset a
exists a b c a none
exists a
del a b none
del a
unlink c none
touch k none n
expire k 100
ttl k
expire k 50 nx
expire k 50 gt
expire k 50 lt
ttl k
expire k 70 xx
expire k 70 xx lt
expire k 60 gt xx
expire k 60 nx xx
expire k 60 gt lt
expire k 60 wrong
expire none 100
expire k x
expire k 9223372036854775807
persist k
persist k
persist none
expire k 80 gt
expire k 80 lt
pexpire k 90000
ttl k
expireat k 99999999999
expiretime k
pexpiretime k
expiretime none
expiretime n
expireat k 1
get k
set k v
pexpireat k 1
exists k
set k v
expire k -1
exists k
expire k 0
set k v
expire k 0
exists k
set k v
pexpire k -1
exists k
incr count
incr count
incrby count 10
decr count
decrby count 20
get count
incrby count x
incrby count 1.5
decrby count -9223372036854775808
set count 9223372036854775807
incr count
incrby count -1
set count -9223372036854775808
decr count
set count x
incr count
set count 01
incr count
set count 10
expire count 100
incr count
ttl count
append str abc
append str def
get str
strlen str
strlen none
append count 5
get count
memory usage none
select 0
select 1
select x
select -1
foo
foo bar baz
get
get a b
set k
del
ping a b
echo
mget
incr
expire k
getset k
auth
auth secret
auth default any
auth other wrong
auth a b c
hello 4
hello x
hello 2 wrong
hello 2 setname
client getname
client setname me
client getname
client setname a\tb
client getname x
client wrong
client no-evict on
client no-evict x
client reply on
config get save
config get appendonly
config get nothing
config set save
config wrong
config get
config resetstat
config set nothing 1
command wrong
command docs nothing
command info get
dbsize x
time x
flushall wrong
flushall async
exists k
flushdb sync
flushdb
set k v
reset
get k
quit";

/// Commands that Sphinx answers otherwise, and with what.
const DIFFERENT: &[(&str, &str)] = &[
    // Sphinx tells no categories, tips and subcommands, and has its own flags.
    ("command info get", "*[*[$get, :2, *[+readonly, +fast], :1, :1, :1, *[], *[], *[], *[]]]"),
    // The latest that the clock of items has.
    ("expiretime k", ":4294967295"),
    ("pexpiretime k", ":4294967295000"),
];

/// Whether these times to live differ just because one server has counted a second down since `began`: Sphinx counts
/// seconds of the clock, and Redis rounds the remaining time.
fn is_a_second_apart(got: &str, theirs: &str, began: SystemTime) -> bool {
    let left = |answer: &str| answer.strip_prefix(':').and_then(|left| left.parse::<i64>().ok());
    let second = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap().as_secs();
    let now = SystemTime::now();
    let since = now.duration_since(began).unwrap_or_default();
    (second(now) != second(began) || since >= Duration::from_millis(500))
        && matches!((left(got), left(theirs)), (Some(a @ 1..), Some(b @ 1..)) if a.abs_diff(b) == 1)
}

#[test]
fn sphinx_answers_as_redis() {
    for version in ["2", "3"] {
        let redis = redis();
        let (_sphinx, address) = sphinxd("-t 2 --sharing nothing");
        let mut redis_talk = redis.as_ref().map(|redis| Talk::connect(redis.address));
        let mut talk = Talk::connect(address);
        let hello = format!("hello {version}");
        redis_talk.iter_mut().for_each(|redis| drop(redis.ask(&hello)));
        talk.ask(&hello);
        let mut wrong = Vec::new();
        let began = SystemTime::now();
        for words in COMMANDS.lines() {
            let got = talk.ask(words);
            let Some(redis) = &mut redis_talk else { continue };
            let theirs = redis.ask(words);
            let listed = DIFFERENT.iter().find(|(command, _)| *command == words);
            let expect = listed.map_or(theirs.clone(), |(_, expect)| match version {
                "3" => expect.replace("*[+", "~[+").replace("*[]", "~[]"),
                _ => (*expect).to_owned(),
            });
            let is_later = words.starts_with("ttl ") && is_a_second_apart(&got, &expect, began);
            if got != expect && !is_later {
                wrong.push(format!("{words}: {got} and not {expect}"));
            }
            assert!(listed.is_none() || theirs != expect, "{words} does not differ");
        }
        assert!(wrong.is_empty(), "in RESP{version}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn bytes_that_are_no_commands_are_answered_as_by_redis() {
    let redis = redis();
    let (_sphinx, address) = sphinxd("-t 1");
    for bytes in [
        &b"*1\r\nPING\r\n"[..],
        b"*x\r\n",
        b"*2000000000000\r\n",
        b"*1\r\n$x\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$1000000000\r\n",
        b"set k \"open\r\n",
        b"POST / HTTP/1.1\r\nHost: here\r\n\r\nset k v\r\n",
        b"\r\n*0\r\n*-1\r\nPING\r\nset \"a key\" 'a \\'value'\r\nget \"a\\x20key\"\r\nQUIT\r\n",
        b"*2\r\n$4\r\nECHO\r\n$12\r\n\r\n*0$\x00\xff\"'abc\r\n*1\r\n$4\r\nQUIT\r\n",
    ] {
        let answers = |address| {
            let mut talk = Talk::connect(address);
            talk.send(bytes);
            talk.rest()
        };
        let got = answers(address);
        if let Some(redis) = &redis {
            assert_eq!(got, answers(redis.address), "{}", bytes.escape_ascii());
        }
    }
}
