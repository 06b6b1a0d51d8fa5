//! The store against a plain map, with little memory, so that segments are reclaimed all the time.

use crate::corpus::harness::{Op, operations, operations_from_bytes};
use cache_store::Policy;
use proptest::prelude::*;
use proto_memcache::StoreVerb;

fn any_op(keys: u8) -> impl Strategy<Value = Op> {
    let key = 0..keys;
    let verb = prop_oneof![
        6 => Just(StoreVerb::Set),
        2 => Just(StoreVerb::Add),
        2 => Just(StoreVerb::Replace),
        2 => Just(StoreVerb::Append),
        2 => Just(StoreVerb::Prepend),
        2 => (0u64..2).prop_map(StoreVerb::Cas),
    ];
    let exptime = prop_oneof![6 => Just(0), 1 => -1..8, 1 => Just(2_592_000), 1 => Just(1_700_000_009)];
    let length = prop_oneof![6 => 0u16..40, 4 => 0u16..400, 2 => 0u16..2400, 1 => 1900u16..10_500];
    let large = prop_oneof![1 => 0u16..2100, 4 => 1900u16..10_500];
    let (large_exptime, large_key) = (exptime.clone(), key.clone());
    let (reserved, any_exptime) = (length.clone(), exptime.clone());
    prop_oneof![
        8 => key.clone().prop_map(Op::Get),
        16 => (verb, key.clone(), any::<u8>(), length, exptime.clone())
            .prop_map(|(verb, key, seed, length, exptime)| Op::Store { verb, key, seed, length, exptime }),
        2 => (key.clone(), prop_oneof![0u64..1000, any::<u64>()]).prop_map(|(k, n)| Op::SetNumber(k, n)),
        4 => (key.clone(), any::<bool>(), prop_oneof![0u64..1000, any::<u64>()])
            .prop_map(|(k, up, n)| Op::Count(k, up, n)),
        2 => key.clone().prop_map(Op::Delete),
        2 => (key.clone(), exptime).prop_map(|(k, e)| Op::Touch(k, e)),
        2 => key.clone().prop_map(Op::Pin),
        1 => Just(Op::Unpin),
        4 => (key, any::<u8>(), reserved, any_exptime).prop_map(|(key, seed, length, exptime)| Op::Reserve { key, seed, length, exptime }),
        4 => (large_key, any::<u8>(), large, large_exptime).prop_map(|(key, seed, length, exptime)| Op::Claim { key, seed, length, exptime }),
        6 => Just(Op::GoOn),
        1 => Just(Op::GiveUp),
        4 => any::<u8>().prop_map(Op::Commit),
        1 => Just(Op::Abandon),
        2 => (0u8..4).prop_map(Op::Wait),
        1 => (-1..4).prop_map(Op::Flush),
        2 => Just(Op::Tend),
        1 => (0u8..48).prop_map(Op::Memory),
    ]
}

fn any_policy() -> impl Strategy<Value = Policy> {
    prop_oneof![Just(Policy::TwoQueues), Just(Policy::SecondChance), Just(Policy::Fifo), Just(Policy::Never)]
}

proptest! {
    // The slow tier has more, by PROPTEST_CASES.
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn a_few_keys_in_little_memory(policy in any_policy(), segments in 2usize..6, ops in prop::collection::vec(any_op(6), 0..400)) {
        operations(segments, policy, false, &ops);
    }

    #[test]
    fn many_keys_in_little_memory(policy in any_policy(), segments in 2usize..40, ops in prop::collection::vec(any_op(255), 0..600)) {
        operations(segments, policy, false, &ops);
    }

    #[test]
    fn keys_whose_hashes_are_all_equal(policy in any_policy(), segments in 2usize..40, ops in prop::collection::vec(any_op(60), 0..300)) {
        operations(segments, policy, true, &ops);
    }

    #[test]
    fn operations_read_from_bytes(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        operations_from_bytes(&bytes);
    }
}
