use super::super::*;
use crate::epochs::Seat;
use std::collections::HashMap;

fn empty() -> Index {
    Index::new(100_000, Epochs::new(0, || ()))
}

/// A number that passes for the hash of the record at `location`.
fn hash_of(location: Location) -> KeyHash {
    KeyHash::from_u64(location.0.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
}

fn find(index: &Index, hash: KeyHash, location: u64) -> Option<Slot> {
    index.find(hash, |at| at.0 == location).map(|(slot, _)| slot)
}

/// Inserts `n` entries with these hashes, removes every third and moves every third, and looks for all.
fn check(n: u64, hash_of: fn(Location) -> KeyHash) {
    let mut index = empty();
    for i in 0..n {
        index.insert(hash_of(Location(i)), Location(i), Usage::default(), hash_of);
    }
    assert_eq!(index.len(), n as usize);
    for i in 0..n {
        let slot = find(&index, hash_of(Location(i)), i).unwrap_or_else(|| panic!("{i} of {n}"));
        if i % 3 == 0 {
            index.remove(slot, hash_of(Location(i)));
        }
    }
    for i in 0..n {
        assert_eq!(find(&index, hash_of(Location(i)), i).is_some(), i % 3 != 0, "{i} of {n}");
    }
    assert_eq!(index.len(), (n - n.div_ceil(3)) as usize);
}

#[test]
fn entries_are_found_at_every_size_of_the_table() {
    for n in [0, 1, 7, 8, 1024, 4608, 4609, 5000, 9216, 9217, 20_000, 70_000] {
        check(n, hash_of);
    }
}

#[test]
fn equal_hashes_are_told_apart_by_the_caller() {
    check(2000, |_| KeyHash::from_u64(0));
    check(2000, |_| KeyHash::from_u64(u64::MAX));
    // Equal buckets with different tags, and equal tags in different buckets.
    check(6000, |at| KeyHash::from_u64(at.0 << 32));
    check(6000, |at| KeyHash::from_u64(at.0));
}

#[test]
fn replaced_entries_point_elsewhere() {
    let mut index = empty();
    let hash = KeyHash::from_u64(5);
    index.insert(hash, Location(1), Usage::default(), hash_of);
    let slot = find(&index, hash, 1).unwrap();
    index.replace(slot, hash, Location(2), Usage::default());
    assert!(find(&index, hash, 1).is_none() && find(&index, hash, 2).is_some());
    assert_eq!(index.len(), 1);
}

#[test]
fn growth_is_one_bucket_at_a_time() {
    let mut index = empty();
    for i in 0..100_000 {
        let before = index.table.homes.len();
        index.insert(hash_of(Location(i)), Location(i), Usage::default(), hash_of);
        assert!(index.table.homes.len() - before <= 1);
    }
    let per_item = index.bytes() as f64 / 100_000.0;
    assert!((10.0..20.0).contains(&per_item), "{per_item} B per item");
    let mut lengths = HashMap::<usize, usize>::new();
    let mut linked = 0;
    for home in 0..index.table.homes.len() {
        let length = index.table.chain(home).count();
        linked += length - 1;
        *lengths.entry(length).or_default() += 1;
    }
    assert!(lengths.keys().all(|&length| length <= 3), "{lengths:?}");
    assert_eq!(linked + index.spare.len(), index.table.overflow.len(), "no overflow bucket is lost");
}

#[test]
fn a_walk_shows_each_entry_once_while_the_table_grows() {
    for steps in [0, 1, 100, 1000] {
        let mut index = empty();
        let add = |index: &mut Index, i| {
            index.insert(hash_of(Location(i)), Location(i), Usage::default(), hash_of);
        };
        (0..5000).for_each(|i| add(&mut index, i));
        let (homes, mut seen, mut added) = (index.homes(), HashMap::<u64, usize>::new(), 5000);
        for home in 0..homes {
            index.show(home, homes, &hash_of, &mut |at, _| *seen.entry(at.0).or_default() += 1);
            if home % 20 == 0 {
                (0..steps).for_each(|_| {
                    add(&mut index, added);
                    added += 1;
                });
            }
        }
        assert!(steps < 100 || index.homes() > homes * 3 / 2, "{}", index.homes());
        assert!((0..5000).all(|i| seen.get(&i) == Some(&1)), "{steps}");
        assert!(seen.values().all(|&times| times == 1), "{steps}");
    }
}

/// Random numbers (xorshift64, Marsaglia 2003), so that a failure repeats.
fn random(state: &mut u64, n: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as usize % n
}

#[test]
fn the_table_grows_and_shrinks_with_its_entries() {
    let epochs = Epochs::new(1, || ());
    let mut reader = Seat::take(&epochs).unwrap();
    let mut index = Index::new(100_000, Arc::clone(&epochs));
    let (mut live, mut next, mut state) = (Vec::<u64>::new(), 0, 1);
    let sizes = [60_000, 300, 30_000, 0, 5000, 100_000, 2000, 9000, 8000, 20_000, 100];
    for (round, size) in sizes.into_iter().enumerate() {
        if round % 2 == 1 {
            reader.enter();
        }
        // Pieces that were unused before the reader came may go.
        let held = index.bytes() - (index.leaving.len() << 16);
        while live.len() != size {
            let homes = index.homes();
            if live.len() < size {
                index.insert(hash_of(Location(next)), Location(next), Usage::default(), hash_of);
                live.push(next);
                next += 1;
            } else {
                let gone = live.swap_remove(random(&mut state, live.len()));
                let slot = find(&index, hash_of(Location(gone)), gone).unwrap();
                index.remove(slot, hash_of(Location(gone)));
            }
            assert!(index.homes().abs_diff(homes) <= 1, "one bucket at a time");
        }
        assert!(live.iter().all(|&i| find(&index, hash_of(Location(i)), i).is_some()), "{size}");
        let mut words: Vec<u64> = index.words().iter().map(|word| IndexEntry::order(*word) - 1).collect();
        live.sort_unstable();
        words.sort_unstable();
        assert!(words == live, "{size}");
        let most = (size * 2).div_ceil(SPARSE_HALVES).max(Pieces::PIECE) + 1;
        assert!(index.homes() <= most, "{size}: {} buckets", index.homes());
        let whole = index.homes().div_ceil(Pieces::PIECE);
        assert_eq!(index.table.homes.bytes() >> 16, whole + index.leaving.len());
        // No piece goes while a reader may look at it.
        assert!(round % 2 == 0 || index.bytes() >= held, "{size}");
        reader.leave();
        let linked: usize = (0..index.homes()).map(|home| index.table.chain(home).count() - 1).sum();
        assert_eq!(linked + index.spare.len(), index.table.overflow.len(), "no overflow bucket is lost");
    }
}

#[test]
fn a_walk_shows_each_entry_once_while_the_table_shrinks_and_grows() {
    for (start, turns) in [(40_000, 1), (40_000, 3), (100_000, 2), (12_000, 4)] {
        let mut index = empty();
        let add = |index: &mut Index, i| {
            index.insert(hash_of(Location(i)), Location(i), Usage::default(), hash_of);
        };
        (0..start).for_each(|i| add(&mut index, i));
        // Entries 1000.. go and come again while the walk is at work, at this rate.
        let (homes, mut seen) = (index.homes(), HashMap::<u64, usize>::new());
        let (mut at, mut falls, mut least) = (start, true, homes);
        let step = 2 * turns * start / homes as u64 + 1;
        for home in 0..homes {
            index.show(home, homes, &hash_of, &mut |at, _| *seen.entry(at.0).or_default() += 1);
            for _ in 0..step {
                if falls {
                    at -= 1;
                    index.remove(find(&index, hash_of(Location(at)), at).unwrap(), hash_of(Location(at)));
                } else {
                    add(&mut index, at);
                    at += 1;
                }
                falls = if at == 1000 { false } else { falls || at == start };
            }
            least = least.min(index.homes());
        }
        assert!(least < homes / 2, "{start}: {least} of {homes}");
        assert!((0..1000).all(|i| seen.get(&i) == Some(&1)), "{start} {turns}");
    }
}

#[test]
fn overflow_buckets_are_used_again() {
    let mut index = empty();
    let hash = KeyHash::from_u64(9);
    for _ in 0..50 {
        for i in 0..100 {
            index.insert(hash, Location(i), Usage::default(), |_| hash);
        }
        for i in 0..100 {
            index.remove(find(&index, hash, i).unwrap(), hash);
        }
    }
    assert!(index.table.overflow.len() <= 100usize.div_ceil(7), "{}", index.table.overflow.len());
    assert_eq!(index.spare.len(), index.table.overflow.len(), "none is left in a chain");
}

#[test]
fn use_is_noted_and_grows_old() {
    let mut index = empty();
    let hash = KeyHash::from_u64(9);
    // A home bucket and its overflow bucket.
    for i in 0..10 {
        index.insert(hash, Location(i), Usage::stored(100), |_| hash);
    }
    let usage = |index: &Index, i| index.usage(find(index, hash, i).unwrap());
    index.read(find(&index, hash, 9).unwrap(), 9000);
    assert_eq!((usage(&index, 9), usage(&index, 8)), (Usage::fetched(9000), Usage::stored(100)));
    (0..index.homes()).for_each(|home| index.age(home, 9000));
    // Long afterwards.
    assert_eq!((usage(&index, 9), usage(&index, 8)), (Usage::fetched(9000), Usage::default()));
    assert!(index.is_marked(find(&index, hash, 9).unwrap()));
}
