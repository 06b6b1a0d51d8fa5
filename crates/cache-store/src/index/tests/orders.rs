//! Every order in which one reader and the writer can meet, on buckets of two entries.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use crate::epochs::{Epochs, Seat};
use crate::hash::KeyHash;
use crate::index::{Index, Look, Usage};
use crate::records::Location;

/// A hash with this home bucket, if the table has that many, and this tag.
fn hash(bucket: u64, tag: u64) -> KeyHash {
    KeyHash::from_u64(tag << 32 | bucket)
}

/// Records lie where their tag says; the bucket of each.
const BUCKETS: [u64; 7] = [0, 2, 0, 0, 1, 1, 1];

fn hash_of(at: Location) -> KeyHash {
    hash(BUCKETS[at.0 as usize], at.0)
}

fn index(records: &[u64], epochs: &Arc<Epochs>) -> Index {
    let mut index = Index::new(8, Arc::clone(epochs));
    for &record in records {
        index.insert(hash_of(Location(record)), Location(record), Usage::default(), hash_of);
    }
    index
}

fn remove(index: &mut Index, record: u64) {
    let (slot, _) = index.find(hash_of(Location(record)), |at| at.0 == record).unwrap();
    index.remove(slot, hash_of(Location(record)));
}

/// Looks for records that stay while `write` runs: none may be missed.
fn check(records: &'static [u64], stay: &'static [u64], write: impl Fn(&mut Index) + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || {
        let epochs = Epochs::new(1, || ());
        let mut index = index(records, &epochs);
        let table = index.table();
        let reader = thread::spawn(move || {
            let mut seat = Seat::take(&epochs).unwrap();
            seat.enter();
            for &record in stay {
                let look = table.look(hash_of(Location(record)), 0, |at| (at.0 == record).then_some(true));
                assert!(look != Look::Missing, "record {record} was missed");
            }
        });
        write(&mut index);
        reader.join().unwrap();
        for &record in stay {
            let look =
                index.table().look(hash_of(Location(record)), 0, |at| (at.0 == record).then_some(true));
            assert!(matches!(look, Look::Found(at, _) if at.0 == record), "{look:?}");
        }
    });
}

#[test]
fn loom_no_entry_is_missed_while_its_bucket_is_split() {
    // The third entry has bucket 0 split: record 1 moves to bucket 2.
    check(&[0, 1], &[1, 0], |index| {
        index.insert(hash_of(Location(2)), Location(2), Usage::default(), hash_of)
    });
}

#[test]
fn loom_no_entry_is_missed_while_buckets_are_merged() {
    // Bucket 2, with record 1 and a piece of its own, goes back to bucket 0 when the third entry is removed.
    check(&[0, 1, 2], &[1], |index| {
        remove(index, 0);
        remove(index, 2);
        assert_eq!(index.homes(), 2);
    });
}

#[test]
fn loom_no_entry_is_missed_while_its_chain_is_shortened() {
    // Bucket 0 has an overflow bucket, whose entry replaces the removed one.
    check(&[0, 4, 5, 2, 3], &[3], |index| remove(index, 0));
}

#[test]
fn loom_no_entry_is_missed_while_an_overflow_bucket_changes_its_chain() {
    // Bucket 1 is full, so that its next entry uses the overflow bucket that bucket 0 has just freed.
    check(&[4, 5, 0, 2, 3], &[3], |index| {
        remove(index, 0);
        index.insert(hash_of(Location(6)), Location(6), Usage::default(), hash_of);
    });
}

#[test]
fn loom_a_record_is_written_before_it_is_found() {
    loom::model(|| {
        let mut index = index(&[], &Epochs::new(0, || ()));
        let table = index.table();
        let record = Arc::new([UnsafeCell::new(0), UnsafeCell::new(0)]);
        let reader = {
            let record = Arc::clone(&record);
            thread::spawn(move || {
                if let Look::Found(at, _) = table.look(hash(0, 9), 0, |_| Some(true)) {
                    // SAFETY: an entry's record is not written any more; loom checks every order.
                    record[at.0 as usize].with(|text| assert_eq!(unsafe { *text }, 7 + at.0));
                }
            })
        };
        // SAFETY: no reader can find it yet.
        record[0].with_mut(|text| unsafe { *text = 7 });
        index.insert(hash(0, 9), Location(0), Usage::default(), |_| hash(0, 9));
        // SAFETY: as above.
        record[1].with_mut(|text| unsafe { *text = 8 });
        let (slot, _) = index.find(hash(0, 9), |_| true).unwrap();
        index.replace(slot, hash(0, 9), Location(1), Usage::default());
        reader.join().unwrap();
    });
}
