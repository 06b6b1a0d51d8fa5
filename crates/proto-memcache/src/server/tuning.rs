//! Commands that tune memcached's own workings: their syntax is checked as memcached does, and they have no effect.
//!
//! Source: memcached 1.6.45's `process_slabs_command`, `process_lru_command`, `process_lru_crawler_command` and
//! `process_extstore_command`.

use crate::server::Refusal;
use crate::server::number::{strict_i32, strict_u32};

/// Classes of sizes that memcached's commands can name: 1 to 63.
const CLASSES: u32 = 64;
/// Names of `extstore` settings; each takes a whole number.
const EXTSTORE: [&[u8]; 9] = [
    b"item_size",
    b"item_age",
    b"low_ttl",
    b"recache_rate",
    b"compact_under",
    b"drop_under",
    b"max_sleep",
    b"drop_unread",
    b"max_frag",
];

/// Whether memcached would answer the command with `OK`; `words` are the first of `count`.
pub(super) fn check(command: &[u8], words: &[&[u8]], count: usize) -> Result<(), Refusal> {
    match command {
        b"slabs" => slabs(words, count),
        b"lru" => lru(words),
        b"lru_crawler" => crawler(words, count),
        _ => extstore(words),
    }
}

fn slabs(words: &[&[u8]], count: usize) -> Result<(), Refusal> {
    match words {
        [b"reassign", from, to] if count == 3 => reassign(from, to),
        [b"automove", b"ratio" | b"freeratio", rest @ ..] => {
            rest.first().and_then(|word| decimal(word)).map(drop).ok_or(Refusal::Unknown)
        }
        [b"automove", b"window", rest @ ..] => {
            let window = rest.first().and_then(|word| strict_u32(word)).ok_or(Refusal::BadFormat)?;
            // Source: memcached's limits. Units: seconds.
            if (3..=1800).contains(&window) { Ok(()) } else { Err(Refusal::AutomoveWindow) }
        }
        [b"automove", level, ..] => match strict_u32(level) {
            None => Err(Refusal::BadFormat),
            Some(0..=2) => Ok(()),
            Some(_) => Err(Refusal::Unknown),
        },
        _ => Err(Refusal::Unknown),
    }
}

/// `slabs reassign`. A source below 0 leaves the choice to the server.
fn reassign(from: &[u8], to: &[u8]) -> Result<(), Refusal> {
    let number = |word| strict_i32(word).ok_or(Refusal::BadFormat);
    let (from, to) = (number(from)?, number(to)?);
    let classes = 1..CLASSES as i32;
    if from == to {
        return Err(Refusal::SameClass);
    }
    if (from < 0 || classes.contains(&from)) && classes.contains(&to) {
        Ok(())
    } else {
        Err(Refusal::BadMove)
    }
}

fn lru(words: &[&[u8]]) -> Result<(), Refusal> {
    match words {
        [b"tune", hot, warm, hot_factor, warm_factor, ..] => {
            let shares = strict_u32(hot).zip(strict_u32(warm));
            let factors = decimal(hot_factor).zip(decimal(warm_factor));
            let ((hot, warm), (hot_factor, warm_factor)) = shares.zip(factors).ok_or(Refusal::Unknown)?;
            if u64::from(hot) + u64::from(warm) > 80 {
                return Err(Refusal::LruShares);
            }
            if hot_factor <= 0.0 || warm_factor <= 0.0 { Err(Refusal::LruFactors) } else { Ok(()) }
        }
        [b"mode", b"flat" | b"segmented", ..] => Ok(()),
        [b"temp_ttl", ttl, ..] if strict_i32(ttl).is_some() => Ok(()),
        _ => Err(Refusal::Unknown),
    }
}

fn crawler(words: &[&[u8]], count: usize) -> Result<(), Refusal> {
    if words.len() != count {
        return Err(Refusal::Unknown);
    }
    match words {
        [b"enable" | b"disable"] => Ok(()),
        [b"crawl", classes] => Classes::read(classes).map(drop).ok_or(Refusal::BadClass),
        [b"tocrawl", number] => strict_u32(number).map(drop).ok_or(Refusal::BadFormat),
        [b"sleep", number] => match strict_u32(number) {
            None => Err(Refusal::BadFormat),
            // Units: µs.
            Some(1_000_001..) => Err(Refusal::CrawlerSleep),
            Some(_) => Ok(()),
        },
        _ => Err(Refusal::Unknown),
    }
}

fn extstore(words: &[&[u8]]) -> Result<(), Refusal> {
    let is_well = match words {
        [b"free_memchunks", class, limit, ..] => {
            strict_u32(class).is_some_and(|class| class < CLASSES) && strict_u32(limit).is_some()
        }
        [b"max_frag", share, ..] => decimal(share).is_some(),
        [name, number, ..] => EXTSTORE.contains(name) && strict_u32(number).is_some(),
        _ => false,
    };
    if is_well { Ok(()) } else { Err(Refusal::Unknown) }
}

fn decimal(word: &[u8]) -> Option<f64> {
    std::str::from_utf8(word).ok()?.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// The classes of sizes that a command names. Here all items are of class 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Whether class 1 is among them.
    pub first: bool,
}

impl Classes {
    /// Reads `all`, `hash`, or numbers from 1 to 63 with a comma between two.
    pub fn read(text: &[u8]) -> Option<Classes> {
        if matches!(text, b"all" | b"hash") {
            return Some(Classes { first: true });
        }
        let mut first = false;
        for word in text.split(|&byte| byte == b',') {
            let class = strict_u32(word).filter(|class| (1..CLASSES).contains(class))?;
            first |= class == 1;
        }
        Some(Classes { first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line was tested with memcached 1.6.45, except those with an answer that depends on the content of its
    /// slabs.
    #[test]
    fn syntax_is_memcacheds() {
        let check = |line: &str, expect: Result<(), Refusal>| {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            assert_eq!(check(words[0], &words[1..], words.len() - 1), expect, "{line}");
        };
        check("slabs", Err(Refusal::Unknown));
        check("slabs automove", Err(Refusal::Unknown));
        check("slabs automove 0", Ok(()));
        check("slabs automove 2", Ok(()));
        check("slabs automove 3", Err(Refusal::Unknown));
        check("slabs automove x", Err(Refusal::BadFormat));
        check("slabs automove ratio 0.5", Ok(()));
        check("slabs automove ratio", Err(Refusal::Unknown));
        check("slabs automove freeratio x", Err(Refusal::Unknown));
        check("slabs automove window 30", Ok(()));
        check("slabs automove window 1", Err(Refusal::AutomoveWindow));
        check("slabs reassign 1 2", Ok(()));
        check("slabs reassign -1 5", Ok(()));
        check("slabs reassign 1 1", Err(Refusal::SameClass));
        check("slabs reassign 100 1", Err(Refusal::BadMove));
        check("slabs reassign 1 -1", Err(Refusal::BadMove));
        check("slabs reassign x 1", Err(Refusal::BadFormat));
        check("slabs reassign 1", Err(Refusal::Unknown));
        check("lru tune 20 40 0.1 2.0", Ok(()));
        check("lru tune 50 40 0.1 2.0", Err(Refusal::LruShares));
        check("lru tune 20 40 0 2.0", Err(Refusal::LruFactors));
        check("lru tune 20 40", Err(Refusal::Unknown));
        check("lru tune x 40 0.1 2", Err(Refusal::Unknown));
        check("lru mode flat", Ok(()));
        check("lru mode x", Err(Refusal::Unknown));
        check("lru temp_ttl -1", Ok(()));
        check("lru temp_ttl x", Err(Refusal::Unknown));
        check("lru", Err(Refusal::Unknown));
        check("lru_crawler enable", Ok(()));
        check("lru_crawler disable", Ok(()));
        check("lru_crawler tocrawl 5", Ok(()));
        check("lru_crawler tocrawl x", Err(Refusal::BadFormat));
        check("lru_crawler sleep 100", Ok(()));
        check("lru_crawler sleep 2000000", Err(Refusal::CrawlerSleep));
        check("lru_crawler crawl all", Ok(()));
        check("lru_crawler crawl 1,2", Ok(()));
        check("lru_crawler crawl 300", Err(Refusal::BadClass));
        check("lru_crawler crawl x", Err(Refusal::BadClass));
        check("lru_crawler crawl", Err(Refusal::Unknown));
        check("lru_crawler metadump", Err(Refusal::Unknown));
        check("extstore item_age 5", Ok(()));
        check("extstore max_frag 0.5", Ok(()));
        check("extstore free_memchunks 1 5", Ok(()));
        check("extstore free_memchunks 64 5", Err(Refusal::Unknown));
        check("extstore foo 5", Err(Refusal::Unknown));
        check("extstore", Err(Refusal::Unknown));
    }

    #[test]
    fn classes_are_listed_or_all() {
        let check = |text: &str, expect: Option<bool>| {
            assert_eq!(Classes::read(text.as_bytes()).map(|classes| classes.first), expect, "{text}");
        };
        check("all", Some(true));
        check("hash", Some(true));
        check("1", Some(true));
        check("2,1", Some(true));
        check("63", Some(false));
        check("64", None);
        check("0", None);
        check("1,", None);
        check("x", None);
    }
}
