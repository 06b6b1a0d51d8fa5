use dist::{Purpose, Streams};
use rand::RngExt;

use crate::cache::{Control, ControlError, Items, Kind};

/// Keys asked for in one `get`.
const KEYS_PER_GET: usize = 50;
/// Bytes of values requested in one `get`, so that large ones do not pile up; at least one value in any case.
const BYTES_PER_GET: usize = 1 << 20;
/// Items to check: all of up to this many, else this many drawn at random. 20 000 leave a standard error of 0.02 % for
/// a hit ratio of 99.9 %.
const LOOKED_AT: u64 = 20_000;
/// The stream that draws them.
const SAMPLE: Purpose = Purpose::Other(1);

/// The result of a check of the servers' items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    /// Items requested; each replica is queried.
    pub(super) looked_at: u64,
    /// Items found intact.
    pub(super) good: u64,
    /// Items found with another length or content.
    pub(super) wrong: u64,
}

/// One `get` of many keys: the keys, and the expected sizes.
#[derive(Default)]
struct Batch {
    asked: Vec<SurveyedKey>,
    bytes: usize,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SurveyedKey {
    key: Vec<u8>,
    item: u64,
}

/// Checks whether the servers hold the data set: all of a small one, a sample of a large one.
pub(super) fn survey(controls: &mut [Control], items: &Items, seed: u64) -> Result<Survey, ControlError> {
    let mut rng = Streams::new(seed).stream(SAMPLE, 0);
    let mut batches: Vec<Batch> = controls.iter().map(|_| Batch::default()).collect();
    let mut found = Survey::default();
    for i in 0..items.total().min(LOOKED_AT) {
        let item = if items.total() > LOOKED_AT { rng.random_range(0..items.total()) } else { i };
        let (kind, n) = items.item(item);
        let mut key = Vec::new();
        items.append_key(kind, n, &mut key);
        for server in items.server(&key).map_or(0..controls.len(), |server| server..server + 1) {
            let batch = &mut batches[server];
            batch.asked.push(SurveyedKey { key: key.clone(), item });
            batch.bytes += items.stored_size(kind, n);
            if batch.asked.len() == KEYS_PER_GET || batch.bytes >= BYTES_PER_GET {
                batch.ask(&mut controls[server], items, &mut found)?;
            }
        }
    }
    for (batch, control) in batches.iter_mut().zip(controls) {
        batch.ask(control, items, &mut found)?;
    }
    Ok(found)
}

impl Batch {
    fn ask(&mut self, control: &mut Control, items: &Items, found: &mut Survey) -> Result<(), ControlError> {
        // An item drawn twice would be answered twice, or once: request it once.
        self.asked.sort_unstable();
        self.asked.dedup();
        if self.asked.is_empty() {
            return Ok(());
        }
        let keys: Vec<&[u8]> = self.asked.iter().map(|asked| asked.key.as_slice()).collect();
        control.get_many(&keys, |at, value| {
            match at.is_some_and(|at| is_good(&self.asked[at], value, items)) {
                true => found.good += 1,
                false => found.wrong += 1,
            }
        })?;
        found.looked_at += keys.len() as u64;
        self.asked.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// Whether a value is as it was stored.
fn is_good(asked: &SurveyedKey, value: &[u8], items: &Items) -> bool {
    let (kind, n) = items.item(asked.item);
    match kind {
        Kind::Data => items.check(n, &asked.key, value).is_ok(),
        // Both change with every operation on them.
        Kind::Counter => !value.is_empty() && value.trim_ascii_end().iter().all(u8::is_ascii_digit),
        Kind::Grown => value.len() >= items.stored_size(kind, n),
    }
}
