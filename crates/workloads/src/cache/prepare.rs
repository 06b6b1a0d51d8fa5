use crate::cache::fill::fill;
use crate::cache::survey::{Survey, survey};
use crate::cache::{CacheConfig, Control, ControlError, FillPolicy, Holdings, Items, holdings};

/// The least hit ratio of a data set that counts as filled.
pub const FILLED: f64 = 0.999;

/// The state of the data set in the servers.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet {
    /// Items checked; each replica is queried.
    pub looked_at: u64,
    /// Share of them found intact, 0 to 1: with the right length, and with `verify` the content.
    pub hit_ratio: f64,
    /// How many of them were found, but wrong.
    pub wrong: u64,
    /// Whether it was filled just now.
    pub filled_now: bool,
    /// Each server's items before and after, if it reports them; others' items count, too.
    pub items_before: Vec<Option<u64>>,
    /// As of `items_before`.
    pub items_after: Vec<Option<u64>>,
    /// Items that the data set has on all servers together.
    pub items_expected: u64,
    /// The facts that the servers did not tell, with the reasons.
    pub unknown: Vec<String>,
    /// The number of this run among those that verify this data set, for [`Versions::begin`]; 0 without `verify`.
    ///
    /// [`Versions::begin`]: crate::cache::Versions::begin
    pub run: u64,
}

impl DataSet {
    /// Whether the servers hold the data set.
    pub fn is_complete(&self) -> bool {
        self.hit_ratio >= FILLED
    }
}

/// How to reach and fill the servers.
pub struct Preparation<'a> {
    /// Makes a new connection to the server of that index.
    pub connect: &'a (dyn Fn(usize) -> Result<Control, ControlError> + Sync),
    /// Threads that fill, each with a connection to every server. 2 to 4 fill a server of as many threads.
    pub threads: usize,
    /// When to fill.
    pub policy: FillPolicy,
    /// Whether others' items on the servers may be mixed with ours or evicted.
    pub agreed: bool,
    /// Chooses the sample to check if there are too many items to check all.
    pub seed: u64,
    /// Told the number of items stored so far, from any thread.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// Sees to it that the servers hold the data set, as the policy says, and begins a run of its versions.
///
/// Never removes others' items: keys carry a prefix, and nothing is flushed. A load that stores is refused if it could
/// evict others' items, unless that is agreed to. A data set that does not fit is not an error then; the trial is judged
/// by the hit ratio returned.
///
/// With `verify`, values must have the form that can be checked. A filled data set records that by an item of its own
/// on each server, `<prefix>:runs`: it exists while every value has that form, and counts the runs. A run that fills or
/// stores without `verify` deletes it first. In addition, a sample of the values is checked.
///
/// Errors: a server that cannot be reached or does not serve reads; one that holds others' items, has too little room or
/// does not tell, before a load that stores; a refused item.
pub fn prepare(config: &CacheConfig, items: &Items, how: &Preparation<'_>) -> Result<DataSet, ControlError> {
    let connect_all = || (0..items.servers()).map(how.connect).collect::<Result<Vec<_>, _>>();
    let mut controls = connect_all()?;
    learn_slots(config, items, &mut controls[0])?;
    let (verifies, writes) = (config.verifies(), config.writes());
    let marker = [config.options.key_prefix.as_bytes(), b":runs"].concat();
    // In a Redis Cluster the marker belongs to one node, as every key does.
    let marked = match items.slots().map(|slots| slots.of(&marker)) {
        Some(server) => server..server + 1,
        None => 0..controls.len(),
    };
    let before = held(&mut controls, how)?;
    let items_expected = items.total() * if config.cluster.is_sharded() { 1 } else { items.servers() as u64 };
    // Until the run is known, no version is from the future.
    items.versions().begin(u64::MAX, false);
    let mut run = match verifies {
        true => next_run(&mut controls[marked.clone()], &marker, how.policy != FillPolicy::Never || writes)?,
        false => None,
    };
    let mut found = Survey::default();
    let mut filled_now = false;
    if how.policy != FillPolicy::Always {
        found = survey(&mut controls, items, how.seed)?;
    }
    let is_there = hit_ratio(&found) >= FILLED && (!verifies || run.is_some() && found.wrong == 0);
    let fills = how.policy == FillPolicy::Always || how.policy == FillPolicy::Auto && !is_there;
    if (fills || writes) && !how.agreed {
        let told = || before.iter().take(holdings::asked(config));
        let count: Option<u64> = told().map(|held| held.as_ref().ok()?.items).sum();
        if how.policy == FillPolicy::Always && count.is_some_and(|count| count > 0) {
            found = survey(&mut controls, items, how.seed)?;
        }
        // Each server may hold a marker, too.
        let most = items_expected + items.servers() as u64;
        let is_ours =
            found.good > 0 && found.good == found.looked_at && count.is_some_and(|count| count <= most);
        if !is_ours {
            holdings::check(config, items, how, &before)?;
        }
    }
    if !verifies && (fills || writes) {
        controls[marked.clone()].iter_mut().try_for_each(|control| control.delete(&marker))?;
    }
    if fills {
        let mut workers = Vec::new();
        for _ in 1..how.threads.max(1) {
            workers.push(connect_all()?);
        }
        workers.push(std::mem::take(&mut controls));
        fill(&mut workers, items, |item| config.expiry_of_fill(item), how.progress)?;
        controls = workers.pop().expect("it was pushed");
        if verifies {
            run = Some(run.unwrap_or(1));
            remember(&mut controls[marked], &marker, run.unwrap_or(1))?;
        }
        found = survey(&mut controls, items, how.seed)?;
        filled_now = true;
    }
    if let Some(run) = run {
        items.versions().begin(run, true);
    }
    let after = match before.iter().all(Result::is_ok) {
        true => held(&mut controls, how)?,
        false => before.clone(),
    };
    let names = || config.cluster.servers.iter();
    let untold = names().zip(&before).filter_map(|(server, held)| Some((server, held.as_ref().err()?)));
    let unknown = untold.map(|(server, why)| format!("the number of items on {server}: {why}")).collect();
    let counts = |all: Vec<Result<Holdings, String>>| {
        all.into_iter().map(|held| held.ok()?.items).collect::<Vec<Option<u64>>>()
    };
    Ok(DataSet {
        looked_at: found.looked_at,
        hit_ratio: hit_ratio(&found),
        wrong: found.wrong,
        filled_now,
        items_before: counts(before),
        items_after: counts(after),
        items_expected,
        unknown,
        run: run.unwrap_or(0),
    })
}

/// Learns which node of a Redis Cluster has which keys.
///
/// Errors: a node that was not there when the trial began.
fn learn_slots(config: &CacheConfig, items: &Items, control: &mut Control) -> Result<(), ControlError> {
    let Some(slots) = items.slots() else { return Ok(()) };
    for (first, last, node) in control.slots()? {
        let Some(server) = config.cluster.servers.iter().position(|server| *server == node) else {
            let problem = format!("{node} has joined it just now");
            return Err(ControlError::NoCluster { server: control.server().into(), problem });
        };
        slots.give(first..=last, server);
    }
    Ok(())
}

/// Each server's report of its items, or why it gives none; a connection that this costs is replaced.
///
/// Errors: a server cannot be reached again.
fn held(
    controls: &mut [Control],
    how: &Preparation<'_>,
) -> Result<Vec<Result<Holdings, String>>, ControlError> {
    let mut all = Vec::with_capacity(controls.len());
    for (server, control) in controls.iter_mut().enumerate() {
        all.push(match control.holdings() {
            Ok(holdings) if holdings.items.is_none() => Err("it names no number of items".into()),
            Ok(holdings) => Ok(holdings),
            Err(error) => {
                *control = (how.connect)(server)?;
                Err(error.fact())
            }
        });
    }
    Ok(all)
}

fn hit_ratio(found: &Survey) -> f64 {
    found.good as f64 / found.looked_at.max(1) as f64
}

/// The number of a new run; `None` if a server has no marker, so that values there may have another form.
///
/// All servers then have the same number: the highest of theirs.
fn next_run(controls: &mut [Control], marker: &[u8], counts: bool) -> Result<Option<u64>, ControlError> {
    let mut runs = Vec::new();
    for control in controls.iter_mut() {
        // A run that only reads takes the next number without leaving a trace.
        let run = control.count(marker, u64::from(counts))?;
        runs.push(run.map(|run| run + u64::from(!counts)));
    }
    let highest = runs.iter().flatten().max().copied();
    if runs.contains(&None) {
        return Ok(None);
    }
    if counts && runs.iter().any(|run| *run != highest) {
        remember(controls, marker, highest.unwrap_or(1))?;
    }
    Ok(highest)
}

fn remember(controls: &mut [Control], marker: &[u8], run: u64) -> Result<(), ControlError> {
    let text = run.to_string();
    controls.iter_mut().try_for_each(|control| control.store(marker, text.as_bytes()))
}
