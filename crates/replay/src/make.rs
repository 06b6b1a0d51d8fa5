use std::collections::HashMap;
use std::io::{self, Write};

use dist::{Arrivals, KeySampler, Popularity, Process, Purpose, Streams, mixed};
use rand::RngExt;
use units::Rate;

use crate::formats::oracle_general;
use crate::{Format, Op};

/// A trace that is made: look-aside, so that a get that misses is followed by a set of its key.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// How it is written.
    pub format: Format,
    /// Requests in all.
    pub requests: u64,
    /// Different keys. Fewer occur if they are unpopular.
    pub keys: u64,
    /// How often each key is drawn.
    pub popularity: Popularity,
    /// The mean rate. Bounds: times are whole seconds in some formats, and absent from some.
    pub rate: Rate,
    /// The same seed gives the same trace.
    pub seed: u64,
}

impl Default for Recipe {
    fn default() -> Recipe {
        Recipe {
            format: Format::Twitter,
            requests: 10_000,
            keys: 1_000,
            popularity: Popularity::Zipf { alpha: 0.99 },
            rate: Rate::new(1_000.0).expect("it is over 0"),
            seed: 1,
        }
    }
}

/// The first moment: 2024-01-01. Units: s since 1970.
const EPOCH: u64 = 1_704_067_200;
/// Shares of deletes and of sets that follow no miss; the rest are gets. Units: per cent.
const DELETES: u32 = 2;
const SETS: u32 = 6;

/// A request that is to be written.
struct Made {
    /// Units: ns after [`EPOCH`].
    at_ns: u64,
    op: Op,
    key: u64,
    /// Of a get 0 if it misses in a cache that loses nothing.
    size: u32,
    ttl_s: u32,
}

/// Writes a trace. Every size is a key's own, from 1 to 500 B; a fifth of the keys expire, after an hour and more, which no
/// trace of this length sees.
///
/// Errors: keys or popularity that cannot be, or of the writer.
pub fn make(recipe: &Recipe, to: &mut dyn Write) -> io::Result<()> {
    let made = requests(recipe)?;
    match recipe.format {
        Format::Kvcache => writeln!(to, "key,op,size,op_count,key_size")?,
        Format::Monitor => writeln!(to, "OK")?,
        Format::Watch => writeln!(to, "OK")?,
        Format::Twitter | Format::OracleGeneral => {}
    }
    let mut next = next_accesses(&made);
    for (number, one) in made.iter().enumerate() {
        let Made { at_ns, op, key, size, ttl_s } = *one;
        let second = EPOCH + at_ns / 1_000_000_000;
        let micros = at_ns / 1000 % 1_000_000;
        let name = op.name();
        match recipe.format {
            Format::Twitter => {
                writeln!(to, "{},{key:016x},{},{size},1,{name},{ttl_s}", second - EPOCH, key_size(key))?;
            }
            Format::Kvcache => {
                // It has the size also of a value that is not there.
                writeln!(to, "{key:016x},{},{},1,{}", name.to_uppercase(), value_size(key), key_size(key))?;
            }
            Format::OracleGeneral => {
                let next = next.remove(&number).map_or(-1, |next| next as i64);
                to.write_all(&oracle_general::bytes((second - EPOCH) as u32, key, value_size(key), next))?;
            }
            Format::Watch => {
                write!(to, "ts={second}.{micros:06} gid={} ", number + 1)?;
                match op {
                    Op::Get => {
                        let status = if size > 0 { "found" } else { "not_found" };
                        writeln!(
                            to,
                            "type=item_get key={key:016x} status={status} clsid=1 cfd=9 size={size}"
                        )?;
                    }
                    Op::Delete => {
                        writeln!(to, "type=deleted key={key:016x} cmd=delete clsid=1 cfd=9 size={size}")?
                    }
                    _ => writeln!(
                        to,
                        "type=item_store key={key:016x} status=stored cmd={name} ttl={ttl_s} clsid=1 cfd=9 size={size}"
                    )?,
                }
            }
            Format::Monitor => {
                write!(to, "{second}.{micros:06} [0 127.0.0.1:50000] ")?;
                match op {
                    Op::Get => writeln!(to, "\"get\" \"{key:016x}\"")?,
                    Op::Delete => writeln!(to, "\"del\" \"{key:016x}\"")?,
                    _ => {
                        let value = "v".repeat(size as usize);
                        write!(to, "\"set\" \"{key:016x}\" \"{value}\"")?;
                        match ttl_s {
                            0 => writeln!(to)?,
                            ttl => writeln!(to, " \"EX\" \"{ttl}\"")?,
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// The requests of a recipe, in order.
fn requests(recipe: &Recipe) -> io::Result<Vec<Made>> {
    let invalid = |error: units::ParseError| io::Error::new(io::ErrorKind::InvalidInput, error.to_string());
    let mut keys = KeySampler::new(recipe.popularity, recipe.keys).map_err(invalid)?;
    let streams = Streams::new(recipe.seed);
    let mut times = streams.stream(Purpose::Arrivals, 0);
    let mut picks = streams.stream(Purpose::Keys, 0);
    let mut draws = streams.stream(Purpose::Operations, 0);
    let mut arrivals = Arrivals::new(Process::Poisson, None, recipe.rate);
    let only_gets = recipe.format == Format::OracleGeneral;
    let mut stored = std::collections::HashSet::new();
    let (mut made, mut missing) = (Vec::new(), None);
    while (made.len() as u64) < recipe.requests {
        let at_ns = arrivals.next(&mut times).unwrap_or_default() as u64;
        let (op, key) = match missing.take() {
            Some(key) => (Op::Set, key),
            None => {
                let key = mixed(keys.sample(&mut picks, recipe.keys) ^ mixed(recipe.seed));
                let drawn: u32 = draws.random_range(0..100);
                match drawn {
                    _ if only_gets => (Op::Get, key),
                    0..DELETES => (Op::Delete, key),
                    DELETES..8 => (Op::Set, key),
                    _ => (Op::Get, key),
                }
            }
        };
        let is_there = stored.contains(&key);
        match op {
            Op::Set => drop(stored.insert(key)),
            Op::Delete => drop(stored.remove(&key)),
            _ if !is_there && !only_gets => missing = Some(key),
            _ => {}
        }
        let size = if op == Op::Set || is_there { value_size(key) } else { 0 };
        let ttl_s = if op == Op::Set && key % 5 == 0 { 3_600 + (key >> 32) as u32 % 3_600 } else { 0 };
        made.push(Made { at_ns, op, key, size, ttl_s });
    }
    Ok(made)
}

const _: () = assert!(DELETES + SETS == 8);

fn value_size(key: u64) -> u32 {
    1 + (mixed(key ^ 1) % 500) as u32
}

/// As if keys had been anonymised: not the length of the written one.
fn key_size(key: u64) -> u32 {
    24 + (mixed(key ^ 2) % 40) as u32
}

/// Of each request the number of the next one of its key, if there is one.
fn next_accesses(made: &[Made]) -> HashMap<usize, usize> {
    let (mut last, mut next) = (HashMap::new(), HashMap::new());
    for (number, one) in made.iter().enumerate() {
        if let Some(before) = last.insert(one.key, number) {
            next.insert(before, number);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::tests::compiled;

    fn made(format: Format, seed: u64) -> Vec<u8> {
        let mut text = Vec::new();
        make(&Recipe { format, seed, requests: 2_000, keys: 300, ..Recipe::default() }, &mut text).unwrap();
        text
    }

    #[test]
    fn every_format_tells_the_same_requests() {
        let requests = |format| compiled(&made(format, 7), None).unwrap();
        let twitter = requests(Format::Twitter);
        for format in [Format::Kvcache, Format::Watch, Format::Monitor] {
            let other = requests(format);
            assert_eq!((other.len(), other.header().format), (2_000, format));
            for index in 0..other.len() {
                let (a, b) = (twitter.record(index), other.record(index));
                assert_eq!((a.op, a.key), (b.op, b.key), "{format} {index}");
                assert!(a.op != Op::Set || a.size == b.size, "{format} {index}");
            }
            assert_eq!(other.header().is_timed, format != Format::Kvcache);
        }
        let oracle = requests(Format::OracleGeneral);
        assert_eq!(oracle.header().count(Op::Get), 2_000);
        assert!((twitter.header().last_ns as f64 / 2e9 - 1.0).abs() < 0.7, "at 1 krps");
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(made(Format::Watch, 1), made(Format::Watch, 1));
        assert_ne!(made(Format::Watch, 1), made(Format::Watch, 2));
        let wrong = Recipe { keys: 0, ..Recipe::default() };
        assert!(make(&wrong, &mut Vec::new()).is_err());
    }
}
