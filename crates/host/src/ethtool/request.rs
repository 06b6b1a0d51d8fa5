//! Requests in the kernel's layout, and how to read its answers. Source: `linux/ethtool.h`.

use std::collections::BTreeMap;

use super::{Channels, Coalescing, Ethtool, Feature, Rings, Rules};

const GET_COALESCING: u32 = 0x0e;
const GET_RINGS: u32 = 0x10;
const GET_STRINGS: u32 = 0x1b;
const GET_RULE_COUNT: u32 = 0x2e;
const GET_STRING_COUNT: u32 = 0x37;
const GET_INDIRECTION: u32 = 0x38;
const GET_FEATURES: u32 = 0x3a;
const GET_CHANNELS: u32 = 0x3c;

/// The set of strings that names the features: `ETH_SS_FEATURES`.
const FEATURE_NAMES: u32 = 4;
/// The bytes of each string: `ETH_GSTRING_LEN`.
const NAME: usize = 32;
/// Flag in the size of a rule table: the driver chooses places itself. `RX_CLS_LOC_SPECIAL`.
const DRIVER_CHOOSES: u32 = 0x8000_0000;

/// No kernel has more features (64 today) or a longer indirection table (mlx5 has 8192); a larger answer is damaged.
const MOST: u32 = 1 << 16;

/// Features that affect the steering and batching of packets.
const OF_INTEREST: [&str; 8] = [
    "rx-ntuple-filter",
    "rx-hashing",
    "rx-gro",
    "rx-gro-hw",
    "rx-lro",
    "tx-generic-segmentation",
    "tx-tcp-segmentation",
    "hw-tc-offload",
];

/// A question: a command and room for its answer.
#[derive(Debug)]
pub(super) struct Request(Vec<u32>);

impl Request {
    /// A structure of `length` words of 32 bits; the first is the command.
    fn new(command: u32, length: usize) -> Request {
        let mut words = vec![0; length];
        words[0] = command;
        Request(words)
    }

    fn with(mut self, index: usize, value: u32) -> Request {
        self.0[index] = value;
        self
    }

    pub(super) fn into_words(self) -> Vec<u32> {
        self.0
    }
}

/// All facts that `ask` gets from a driver.
pub(super) fn answers(ask: impl Fn(Request) -> Option<Vec<u32>>) -> Ethtool {
    Ethtool {
        // `struct ethtool_channels` has 9 words, `ethtool_ringparam` 9, `ethtool_coalesce` 23.
        channels: ask(Request::new(GET_CHANNELS, 9)).map(|words| channels(&words)),
        indirection: indirection(&ask).unwrap_or_default(),
        features: features(&ask).unwrap_or_default(),
        // `struct ethtool_rxnfc` has 192 bytes: command, flow type, 64 bits of data, a rule of 168, the count.
        rules: ask(Request::new(GET_RULE_COUNT, 48)).map(|words| rules(&words)),
        coalescing: ask(Request::new(GET_COALESCING, 23)).map(|words| coalescing(&words)),
        rings: ask(Request::new(GET_RINGS, 9)).map(|words| rings(&words)),
    }
}

fn channels(words: &[u32]) -> Channels {
    Channels {
        receive_most: words[1],
        transmit_most: words[2],
        combined_most: words[4],
        receive: words[5],
        transmit: words[6],
        combined: words[8],
    }
}

fn rings(words: &[u32]) -> Rings {
    Rings { receive_most: words[1], transmit_most: words[4], receive: words[5], transmit: words[8] }
}

fn coalescing(words: &[u32]) -> Coalescing {
    Coalescing {
        receive_us: words[1],
        receive_packets: words[2],
        transmit_us: words[5],
        adaptive_receive: words[10] != 0,
    }
}

fn rules(words: &[u32]) -> Rules {
    // The size of the table is the low half of 64 bits at byte 8; the count follows the rule, at byte 184.
    let size = words[if cfg!(target_endian = "little") { 2 } else { 3 }];
    Rules { used: words[46], most: size & !DRIVER_CHOOSES }
}

fn indirection(ask: &impl Fn(Request) -> Option<Vec<u32>>) -> Option<Vec<u32>> {
    // Without room for an answer, the driver returns the length that it needs.
    let length = plausible(ask(Request::new(GET_INDIRECTION, 2))?[1])?;
    let mut words = ask(Request::new(GET_INDIRECTION, 2 + length as usize).with(1, length))?;
    Some(words.split_off(2))
}

fn features(ask: &impl Fn(Request) -> Option<Vec<u32>>) -> Option<BTreeMap<String, Feature>> {
    // `struct ethtool_sset_info`: command, reserved, 64 bits of mask, then one count for each bit of the mask.
    let low = if cfg!(target_endian = "little") { 2 } else { 3 };
    let count = plausible(ask(Request::new(GET_STRING_COUNT, 5).with(low, 1 << FEATURE_NAMES))?[4])?;
    // `struct ethtool_gstrings`: command, set, count, the strings. The kernel writes all of its strings and ignores the
    // count: the number is fixed when the kernel is built, so it equals the count just read.
    let room = 3 + count as usize * NAME / 4;
    let strings = ask(Request::new(GET_STRINGS, room).with(1, FEATURE_NAMES).with(2, count))?;
    // `struct ethtool_gfeatures`: command, number of blocks, then available, requested, active and never changed
    // for each 32 features.
    let blocks = count.div_ceil(32);
    let states = ask(Request::new(GET_FEATURES, 2 + 4 * blocks as usize).with(1, blocks))?;
    let named = strings[3..].chunks_exact(NAME / 4).map(name).enumerate();
    let wanted = named.filter(|(_, name)| OF_INTEREST.contains(&name.as_str()));
    Some(
        wanted
            .map(|(index, name)| {
                let block = &states[2 + index / 32 * 4..];
                let bit = |field: usize| block[field] >> (index % 32) & 1 == 1;
                (name, Feature { on: bit(2), can_change: bit(0) && !bit(3) })
            })
            .collect(),
    )
}

fn plausible(count: u32) -> Option<u32> {
    (1..=MOST).contains(&count).then_some(count)
}

/// A string of bytes that ends in a zero, in words as they lie in memory.
fn name(words: &[u32]) -> String {
    let bytes: Vec<u8> =
        words.iter().flat_map(|word| word.to_ne_bytes()).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver with 8 of 63 pairs, 4 entries, 2 rules of 8192 and 33 features, the last of which is hashing.
    fn driver(request: Request) -> Option<Vec<u32>> {
        let mut words = request.into_words();
        match words[0] {
            GET_CHANNELS => {
                (words[4], words[8]) = (63, 8);
            }
            GET_RINGS => (words[1], words[4], words[5], words[8]) = (4096, 4096, 512, 256),
            GET_COALESCING => (words[1], words[5], words[10]) = (50, 25, 1),
            GET_RULE_COUNT => {
                words[if cfg!(target_endian = "little") { 2 } else { 3 }] = DRIVER_CHOOSES | 8192;
                words[46] = 2;
            }
            GET_INDIRECTION if words[1] == 0 => words[1] = 4,
            GET_INDIRECTION => words[2..].copy_from_slice(&[0, 1, 2, 1]),
            GET_STRING_COUNT => words[4] = 33,
            GET_STRINGS => {
                for (at, text) in [(31, "rx-ntuple-filter"), (32, "rx-hashing"), (0, "something-else")] {
                    for (place, four) in text.as_bytes().chunks(4).enumerate() {
                        let mut bytes = [0; 4];
                        bytes[..four.len()].copy_from_slice(four);
                        words[3 + at * NAME / 4 + place] = u32::from_ne_bytes(bytes);
                    }
                }
            }
            GET_FEATURES => {
                // Available, requested, active, never changed.
                words[2..6].copy_from_slice(&[1 << 31, 0, 0, 0]);
                words[6..10].copy_from_slice(&[1, 1, 1, 1]);
            }
            _ => return None,
        }
        Some(words)
    }

    #[test]
    fn reads_the_answers() {
        let found = answers(driver);
        let channels = found.channels.unwrap();
        assert_eq!((channels.combined, channels.combined_most, channels.receive), (8, 63, 0));
        assert_eq!((found.indirection.as_slice(), found.queues_used()), ([0, 1, 2, 1].as_slice(), 3));
        assert_eq!(found.rules, Some(Rules { used: 2, most: 8192 }));
        let rings = found.rings.unwrap();
        assert_eq!((rings.receive, rings.receive_most, rings.transmit), (512, 4096, 256));
        let coalescing = found.coalescing.unwrap();
        assert_eq!(
            (coalescing.receive_us, coalescing.transmit_us, coalescing.adaptive_receive),
            (50, 25, true)
        );
        let feature = |name: &str| found.features.get(name).map(|f| (f.on, f.can_change));
        assert_eq!(feature("rx-ntuple-filter"), Some((false, true)));
        assert_eq!(feature("rx-hashing"), Some((true, false)));
        assert_eq!(feature("something-else"), None);
        assert!(found.offers("rx-ntuple-filter") && !found.has_on("rx-ntuple-filter"));
    }

    #[test]
    fn a_count_beyond_belief_is_not_asked_further() {
        let asked = std::cell::Cell::new(0);
        let found = answers(|request| {
            let mut words = request.into_words();
            asked.set(asked.get() + 1);
            match words[0] {
                GET_INDIRECTION => words[1] = u32::MAX,
                GET_STRING_COUNT => words[4] = u32::MAX,
                GET_STRINGS | GET_FEATURES => panic!("asked for that many"),
                _ => return None,
            }
            Some(words)
        });
        assert_eq!((found, asked.get()), (Ethtool::default(), 6));
    }

    #[test]
    fn a_driver_that_refuses_leaves_its_facts_out() {
        assert_eq!(answers(|_| None), Ethtool::default());
    }
}
