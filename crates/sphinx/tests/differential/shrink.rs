use crate::differential::sequence::Sequence;

/// Removes all parts that the difference does not need; returns the rest, and its difference.
pub(crate) fn shrink(
    mut sequence: Sequence,
    mut difference: String,
    mut differs: impl FnMut(&Sequence) -> Option<String>,
) -> (Sequence, String) {
    loop {
        let mut shorter = None;
        for candidate in candidates(&sequence) {
            if let Some(found) = differs(&candidate) {
                shorter = Some((candidate, found));
                break;
            }
        }
        match shorter {
            Some((found, why)) => (sequence, difference) = (found, why),
            None => return (sequence, difference),
        }
    }
}

/// Sequences with one thing less, large things first.
fn candidates(sequence: &Sequence) -> impl Iterator<Item = Sequence> {
    let without_batch = (0..sequence.batches.len()).map(|i| {
        let mut shorter = sequence.clone();
        shorter.batches.remove(i);
        shorter
    });
    let uncut = sequence.batches.iter().any(|batch| !batch.cuts.is_empty()).then(|| {
        let mut whole = sequence.clone();
        whole.batches.iter_mut().for_each(|batch| batch.cuts.clear());
        whole
    });
    let places = sequence.batches.iter().enumerate();
    let places: Vec<(usize, usize)> =
        places.flat_map(|(i, batch)| (0..batch.requests.len()).map(move |j| (i, j))).collect();
    let without_request = places.into_iter().map(|(i, j)| {
        let mut shorter = sequence.clone();
        shorter.batches[i].requests.remove(j);
        shorter
    });
    let all: Vec<Sequence> = without_batch.chain(uncut).chain(without_request).collect();
    all.into_iter()
}

#[test]
fn only_what_makes_the_difference_is_left() {
    use crate::differential::sequence::{Batch, Request};
    let batch = |names: &[&str]| Batch {
        requests: names.iter().map(|name| Request::new(name)).collect(),
        cuts: vec![500],
    };
    let sequence = Sequence { batches: vec![batch(&["a", "b"]), batch(&["c"]), batch(&["d", "e", "f"])] };
    let names = |sequence: &Sequence| -> Vec<String> {
        let requests = sequence.batches.iter().flat_map(|batch| &batch.requests);
        requests.map(|request| String::from_utf8(request.bytes(|_, _| 0)).unwrap()).collect()
    };
    let differs = |sequence: &Sequence| {
        let names = names(sequence);
        (names.contains(&"b".into()) && names.contains(&"e".into())).then(|| names.join(" "))
    };
    let first = differs(&sequence).unwrap();
    let (shortest, difference) = shrink(sequence, first, differs);
    assert_eq!((difference.as_str(), names(&shortest).len()), ("b e", 2));
    assert!(shortest.batches.iter().all(|batch| batch.cuts.is_empty()));
}
