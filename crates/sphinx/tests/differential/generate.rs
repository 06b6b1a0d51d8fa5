use crate::differential::avoided;
use crate::differential::random::Random;
use crate::differential::sequence::{Batch, Part, Request, Sequence};
use crate::differential::talk::FILLER;
use crate::support::Words;

/// Few, so that commands meet. `foo` is also what `Zm9v` decodes to.
const KEYS: [&str; 4] = ["a", "b", "c", "foo"];
/// Keys in base 64.
const BINARY: [&str; 3] = ["AQID", "Zm9v", "AAECAwQFBgcICQ=="];
const VALUES: [&[u8]; 12] = [
    b"5000",
    b"17",
    b"9",
    b"99",
    b"0",
    b"18446744073709551615",
    b" 5",
    b"",
    b"hello world",
    b"a\r\nb",
    b"\x00\x01\xff",
    b"x",
];
/// Far apart, so that two clocks never disagree about which it was.
const TIMES: [&str; 9] = ["0", "0", "-1", "100", "100", "5000", "90000", "2592000", "2592001"];
const JUNK: [&str; 12] = ["x", "-1", "1x", "+7", "007", "0x10", "noreply", "99", "q", "v", "!", "HTTP/1.1"];
/// Longer than a line may be. Units: bytes.
const LONG: usize = 1500;
/// The longest key. Units: bytes.
const KEY_MAX: usize = 250;
/// Requests in a batch that is not short.
const REQUESTS: usize = 6;

/// A sequence that a seed decides.
/// `words`: of the memcached that it is compared with.
pub(crate) fn sequence(random: &mut Random, words: Words) -> Sequence {
    let mut batches: Vec<Batch> = Vec::new();
    for _ in 0..1 + random.below(5) {
        batches.push(batch(random, words));
        let last = batches.last().and_then(|batch| batch.requests.last());
        // Nothing may follow it (`flush-again`), as each sequence begins with a flush.
        if last.is_some_and(|last| avoided::is_late_flush(&last.bytes(|_, _| 1))) {
            break;
        }
    }
    Sequence { batches }
}

fn batch(random: &mut Random, words: Words) -> Batch {
    let (mut requests, mut used, mut spoils) = (Vec::new(), Vec::new(), false);
    for _ in 0..1 + random.below(REQUESTS) {
        let mut request = request(random, &mut used);
        let length = request.bytes(|_, _| 1).len();
        let long = length > LONG;
        // After a malformed request, a long value could be parsed as a line (`long-lines`), or the rest of a line as a `get`
        // (`get-long-key`).
        if spoils && length > KEY_MAX {
            continue;
        }
        if !long && random.one_in(8) {
            request = spoilt(random, &request);
            if announces_much(&request) {
                continue;
            }
            spoils = true;
        }
        let bytes = request.bytes(|_, _| 1);
        let changed = words == Words::Old && avoided::has_changed(&bytes);
        if !changed && avoided::row(&bytes, requests.is_empty()).is_none() {
            requests.push(request);
            if avoided::is_late_flush(&bytes) {
                break;
            }
        }
    }
    let cuts = if random.one_in(2) { 0 } else { 1 + random.below(5) };
    Batch { requests, cuts: (0..cuts).map(|_| random.below(1000)).collect() }
}

/// Whether it could announce a value that the end of a batch does not fill.
fn announces_much(request: &Request) -> bool {
    let bytes = request.bytes(|_, _| 1);
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let stores =
        words.next().is_some_and(|command| "set add append replace prepend cas ms".contains(command));
    stores && words.any(|word| word.parse::<usize>().is_ok_and(|number| number > FILLER / 2))
}

fn request(random: &mut Random, used: &mut Vec<&'static str>) -> Request {
    let key = KEYS[random.below(KEYS.len())];
    // As with `append`.
    let counted = if key == "foo" { "b" } else { key };
    let fresh = !used.contains(&counted);
    let kind = random.below(100);
    let request = match kind {
        0..20 => storage(random, key),
        20..34 => lookup(random),
        34..38 => {
            Request::new(&format!("delete {key}{}\r\n", random.pick(&["", "", " 0", " noreply", " 1"])))
        }
        38..42 => touch(random, key),
        // While an answer with the item waits, memcached makes a new one instead of writing over it (`counted-while-sent`).
        42..50 if fresh => count(random, counted),
        50..68 => meta_get(random, key),
        68..82 => meta_set(random, key),
        82..87 => meta_delete(random, key),
        87..93 if fresh => meta_count(random, counted),
        93 => Request::new("mn\r\n"),
        94..96 => Request::new(&format!("me {}\r\n", random.pick(&[key, key, "AQID b", "Zm9v b", ""]))),
        96 => Request::new(random.pick(&[
            "flush_all\r\n",
            "flush_all 0\r\n",
            "flush_all -1 noreply\r\n",
            "flush_all x\r\n",
            "quit\r\n",
        ])),
        97 => Request::new(random.pick(&[
            "verbosity 0\r\n",
            "verbosity 0 noreply\r\n",
            "verbosity\r\n",
            "shutdown\r\n",
            "cache_memlimit 5\r\n",
            "cache_memlimit x\r\n",
        ])),
        _ => Request::new(random.pick(&[
            "\r\n",
            "\n",
            " \r\n",
            "foo bar\r\n",
            "GET a\r\n",
            "mx a\r\n",
            "m\r\n",
        ])),
    };
    used.extend(KEYS.iter().chain(&["AQID"]).filter(|&&key| mentions(&request, key)));
    request
}

fn mentions(request: &Request, key: &str) -> bool {
    let bytes = request.bytes(|_, _| 1);
    let mut words = bytes.split(|byte| byte.is_ascii_whitespace());
    words.any(|word| word == key.as_bytes() || (key == "foo" && word == b"Zm9v"))
}

fn storage(random: &mut Random, key: &'static str) -> Request {
    let verb = random.pick(&["set", "set", "set", "add", "replace", "append", "prepend", "cas", "cas"]);
    // Appending makes memcached forget that a key was sent in base 64 (`binary-keys`).
    let key = if matches!(verb, "append" | "prepend") && key == "foo" { "a" } else { key };
    let value = value(random);
    let (flags, time) = (random.pick(&["0", "0", "5", "2147483647"]), random.pick(&TIMES));
    let mut request = Request::new(&format!("{verb} {key} {flags} {time} {}", value.len()));
    if verb == "cas" {
        request.push(" ");
        push_cas(random, &mut request, key);
    }
    request.push(random.pick(&["", "", "", " noreply"]));
    request.push("\r\n");
    request.push_bytes(&value);
    request.push("\r\n");
    request
}

fn push_cas(random: &mut Random, request: &mut Request, key: &'static str) {
    match random.below(6) {
        0 => request.push(random.pick(&["0", "1", "999999999"])),
        1 => request.push_cas(key, 1),
        _ => request.push_cas(key, 0),
    }
}

fn push_compare(random: &mut Random, request: &mut Request, key: &'static str, name: &str) {
    request.push(" C");
    // A number of another key may or may not be one of this key (`unique-numbers`).
    if name == key { push_cas(random, request, key) } else { request.push(random.pick(&["0", "999999999"])) }
}

fn value(random: &mut Random) -> Vec<u8> {
    match random.below(150) {
        0 => vec![b'v'; 1 << 20],
        1 => vec![b'w'; 600_000],
        2..6 => vec![b'l'; random.below(300)],
        _ => VALUES[random.below(VALUES.len())].to_vec(),
    }
}

fn lookup(random: &mut Random) -> Request {
    let mut line = random.pick(&["get", "get", "gets", "gets", "gets", "gat", "gats", "bget"]).to_string();
    if line.starts_with("gat") {
        line += &format!(" {}", random.pick(&TIMES));
    }
    let keys = if random.one_in(10) { 30 } else { random.below(4) + usize::from(!random.one_in(20)) };
    for _ in 0..keys {
        line += &format!(" {}", random.pick(&KEYS));
    }
    if random.one_in(60) {
        line += &format!(" {}", "k".repeat(249 + random.below(4)));
    }
    Request::new(&(line + "\r\n"))
}

fn touch(random: &mut Random, key: &str) -> Request {
    Request::new(&format!("touch {key} {}{}\r\n", random.pick(&TIMES), random.pick(&["", "", " noreply"])))
}

fn count(random: &mut Random, key: &str) -> Request {
    let (verb, delta) = (random.pick(&["incr", "decr"]), delta(random));
    Request::new(&format!("{verb} {key} {delta}{}\r\n", random.pick(&["", "", " noreply"])))
}

fn delta(random: &mut Random) -> &'static str {
    random.pick(&["1", "1", "5", "0", "95", "4999", "18446744073709551615", "x"])
}

/// The key of a meta command, and its flag.
fn meta_key(random: &mut Random, key: &'static str) -> (&'static str, &'static str) {
    match random.below(6) {
        0 => (BINARY[random.below(BINARY.len())], " b"),
        _ => (key, ""),
    }
}

fn push_flags(random: &mut Random, request: &mut Request, flags: &[&str], times: &[&str]) {
    let mut seen = Vec::new();
    for _ in 0..random.below(6) {
        let flag = if random.one_in(3) && !times.is_empty() {
            format!("{}{}", random.pick(times), random.pick(&TIMES))
        } else {
            random.pick(flags).to_string()
        };
        // Twice is wrong, which is tried now and then.
        if !seen.contains(&flag.as_bytes()[0]) || random.one_in(12) {
            seen.push(flag.as_bytes()[0]);
            request.push(&format!(" {flag}"));
        }
    }
    if random.one_in(100) {
        request.push(&format!(" O{}", "o".repeat(30 + random.below(4))));
    }
}

fn meta_get(random: &mut Random, key: &'static str) -> Request {
    let (key, binary) = meta_key(random, key);
    let mut request = Request::new(&format!("mg {key}{binary}"));
    let flags = [
        "v", "v", "v", "c", "f", "h", "k", "l", "Oopaque", "q", "s", "t", "t", "u", "R50", "R1000",
        "R1000000", "R0", "R-1", "Lpath", "P", "I", "Mx", "Y", "Tx",
    ];
    // No `R` of one of the times that items end after: which second it is would decide.
    push_flags(random, &mut request, &flags, &["T", "N", "N"]);
    request.push("\r\n");
    request
}

fn meta_set(random: &mut Random, key: &'static str) -> Request {
    let (name, binary) = meta_key(random, key);
    let value = value(random);
    let mut request = Request::new(&format!("ms {name} {}{binary}", value.len()));
    let modes = ["ME", "MR", "MS", "MA", "MP", "Mx", "Mxy"];
    let flags = ["c", "k", "Oopaque", "q", "F5", "F0", "I", "I", "Fx", "Tx", "Y", "v", "t", "Lpath"];
    push_flags(random, &mut request, &flags, &["T"]);
    if random.one_in(3) {
        let mode = random.pick(&modes);
        // As with `append`.
        if !(matches!(mode, "MA" | "MP") && name == "foo") {
            request.push(&format!(" {mode}"));
        }
    }
    if random.one_in(3) {
        push_compare(random, &mut request, key, name);
    }
    request.push("\r\n");
    request.push_bytes(&value);
    request.push("\r\n");
    request
}

fn meta_delete(random: &mut Random, key: &'static str) -> Request {
    let (name, binary) = meta_key(random, key);
    let mut request = Request::new(&format!("md {name}{binary}"));
    push_flags(random, &mut request, &["q", "k", "Oopaque", "I", "I", "I", "Y", "v", "Tx"], &["T"]);
    if random.one_in(4) {
        push_compare(random, &mut request, key, name);
    }
    request.push("\r\n");
    request
}

fn meta_count(random: &mut Random, key: &'static str) -> Request {
    let mut request = Request::new(&format!("ma {key}"));
    let flags = [
        "v", "v", "c", "k", "t", "q", "Oopaque", "MI", "M+", "MD", "M-", "Mx", "J13", "Jx", "D5", "D0",
        "D95", "Dx",
    ];
    push_flags(random, &mut request, &flags, &["N", "N", "T"]);
    if random.one_in(4) {
        push_compare(random, &mut request, key, key);
    }
    request.push("\r\n");
    request
}

/// A request with one thing wrong, or at least unusual, about it.
fn spoilt(random: &mut Random, request: &Request) -> Request {
    // A number that only the server knows would be in the way; there are others.
    let [Part::Bytes(bytes)] = &request.parts[..] else { return request.clone() };
    let end = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| at + 1);
    let (line, body) = bytes.split_at(end);
    let text = String::from_utf8_lossy(line);
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let mut body = body.to_vec();
    let mut ending = "\r\n";
    let (at, junk) = (random.below(words.len() + 1), random.pick(&JUNK));
    match random.below(10) {
        0 if at < words.len() => _ = words.remove(at),
        1 if at < words.len() => words.insert(at, words[at]),
        2 if at < words.len() && at > 0 => words[at] = junk,
        3 => words.push(junk),
        4 => words.insert(at, ""),
        5 => ending = random.pick(&["\n", " \r\n", "\r\r\n"]),
        6 => _ = body.pop(),
        7 => body.extend_from_slice(b"more\r\n"),
        8 if body.len() > 2 => _ = body.remove(0),
        _ => words.insert(0, random.pick(&["", "x", "get"])),
    }
    let mut spoilt = Request::new(&(words.join(" ") + ending));
    spoilt.push_bytes(&body);
    spoilt
}

#[test]
fn a_flush_with_a_delay_is_the_last_request() {
    let mut flushes = 0;
    for seed in 0..30_000 {
        let Sequence { batches } = sequence(&mut Random::new(seed), Words::New);
        let requests: Vec<&Request> = batches.iter().flat_map(|batch| &batch.requests).collect();
        let is_late = |request: &&Request| avoided::is_late_flush(&request.bytes(|_, _| 1));
        if let Some(place) = requests.iter().position(is_late) {
            assert_eq!(place + 1, requests.len(), "seed {seed}");
            flushes += 1;
        }
    }
    assert!(flushes > 0, "they are compared, too");
}
