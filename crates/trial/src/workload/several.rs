use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Error, Result, bail};

use crate::generate::Interrupted;

/// Users who log in, or whose data are requested, at once before a load. Source: ours; enough to keep the processors of
/// a small server busy with password hashes, and far fewer than its programs can serve.
pub(crate) const AT_ONCE: usize = 4;

/// Applies `work` to each of `items`, some at a time; results are in order of completion. Each worker keeps its state
/// from one item to the next.
///
/// Errors: the first error of `work`, after which no further item is begun; `stop` is set.
pub(super) fn several<I: Sync, K: Default, T: Send, E: std::error::Error + Send + Sync + 'static>(
    items: &[I],
    stop: &AtomicBool,
    work: impl Fn(&mut K, &I) -> Result<T, E> + Sync,
) -> Result<Vec<T>> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(items.len())));
    let failed = Mutex::new(None::<E>);
    let turns = || {
        let mut kept = K::default();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            match work(&mut kept, item) {
                Ok(made) => found.lock().expect("no thread panics with it").push(made),
                Err(error) => {
                    failed.lock().expect("no thread panics with it").get_or_insert(error);
                    next.store(items.len(), Ordering::Relaxed);
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(items.len()) {
            scope.spawn(turns);
        }
    });
    if stop.load(Ordering::Relaxed) {
        bail!(Interrupted);
    }
    match failed.into_inner().expect("no thread panicked with it") {
        Some(error) => Err(Error::new(error)),
        None => Ok(found.into_inner().expect("no thread panicked with it")),
    }
}
