//! Random commands in random pieces, of which Redis and Sphinx must answer each alike.

use super::talk::{Talk, command, redis, sphinxd};
use crate::support::{MODES, Random};

/// Batches of a sequence, and the most commands of a batch.
const BATCHES: u64 = 40;
const BATCH: u64 = 60;

/// A command of which the reply does not depend on the time that it takes: no item expires within the test.
fn draw(random: &mut Random) -> Vec<String> {
    let key = |random: &mut Random| format!("key-{}", random.below(8));
    let number = |random: &mut Random| (random.below(2001) as i64 - 1000).to_string();
    let value = |random: &mut Random| match random.below(6) {
        0 => "v".repeat(random.below(10_000) as usize),
        1 => String::new(),
        2 => "\r\n$-1\r\n".into(),
        3 => format!("text {}", random.below(100)),
        _ => number(random),
    };
    let own = key(random);
    let words: Vec<String> = match random.below(32) {
        0..=5 => vec!["GET".into(), own],
        6..=9 => vec!["set".into(), own, value(random)],
        10 => vec!["SET".into(), own, value(random), "NX".into()],
        11 => vec!["SET".into(), own, value(random), "XX".into(), "GET".into()],
        12 => vec!["SET".into(), own, value(random), "EX".into(), "5000".into()],
        13 => vec!["SET".into(), own, value(random), "KEEPTTL".into()],
        14 => vec!["SETNX".into(), own, value(random)],
        15 => vec!["GETSET".into(), own, value(random)],
        16 => vec!["GETDEL".into(), own],
        17 => vec!["GETEX".into(), own, "PERSIST".into()],
        18 => {
            let mut words = vec!["MGET".into(), own];
            words.extend((0..random.below(9)).map(|_| key(random)));
            words
        }
        19 => {
            let mut words = vec!["MSET".into()];
            (0..=random.below(5)).for_each(|_| words.extend([key(random), value(random)]));
            words
        }
        20 | 21 => {
            let name = ["DEL", "UNLINK", "EXISTS", "TOUCH"][random.below(4) as usize];
            let mut words = vec![name.into(), own];
            words.extend((0..random.below(6)).map(|_| key(random)));
            words
        }
        22 => vec!["INCR".into(), own],
        23 => vec!["DECRBY".into(), own, number(random)],
        24 => vec!["INCRBY".into(), own, number(random)],
        25 => vec!["APPEND".into(), own, number(random)],
        26 => vec!["STRLEN".into(), own],
        27 => vec!["EXPIRE".into(), own, (2000 + random.below(3) * 2000).to_string(), "XX".into()],
        28 => vec!["EXPIRE".into(), own, (2000 + random.below(3) * 2000).to_string(), "NX".into()],
        29 => vec!["PERSIST".into(), own],
        30 => vec!["TYPE".into(), own],
        _ => vec!["NOSUCH".into(), own],
    };
    words
}

fn sequence(mode: &str, seed: u64) {
    let Some(redis) = redis() else { return };
    let (_sphinx, address) = sphinxd(&format!("-t 3 {mode}"));
    let mut random = Random(seed);
    let (mut theirs, mut ours) = (Talk::connect(redis.address), Talk::connect(address));
    for batch in 0..BATCHES {
        let commands: Vec<_> = (0..=random.below(BATCH)).map(|_| draw(&mut random)).collect();
        let bytes: Vec<u8> = commands
            .iter()
            .flat_map(|words| command(&words.iter().map(String::as_bytes).collect::<Vec<_>>()))
            .collect();
        theirs.send(&bytes);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let most = if random.below(2) == 0 { 40 } else { 20_000 };
            let (piece, left) = rest.split_at(rest.len().min(1 + random.below(most) as usize));
            ours.send(piece);
            rest = left;
        }
        for words in &commands {
            let (expect, got) = (theirs.reply(), ours.reply());
            assert!(
                got == expect,
                "{mode}, seed {seed}, batch {batch}: {words:.80?} is answered {got:.200} and not {expect:.200}"
            );
        }
    }
}

#[test]
fn random_commands_are_answered_as_by_redis() {
    let named = std::env::var("SEED").ok().map(|seed| seed.parse().expect("a number"));
    let seed = named.unwrap_or(1);
    println!("seed {seed}; SEED={seed} repeats it");
    for mode in MODES {
        sequence(mode, seed);
    }
}
