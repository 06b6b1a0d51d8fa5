use std::ops::Range;

use dist::Rng;
use rand::RngExt;

use crate::engine::{Binding, Load, Plan};
use crate::waiting::Line;

/// Which connection takes a request: of those to its endpoint, by the plan's binding.
pub(super) struct Choice {
    /// The connections of each endpoint.
    ranges: Vec<Range<usize>>,
    /// For [`Binding::Idle`]: the pool of each endpoint.
    pools: Option<Vec<Pool>>,
    /// Virtual clients that are drawn for each arrival; 0 where every connection is one.
    clients: u32,
}

impl Choice {
    pub(super) fn new(plan: &Plan) -> Choice {
        let mut ranges = Vec::new();
        let mut next = 0;
        for endpoint in &plan.endpoints {
            ranges.push(next..next + endpoint.connections);
            next += endpoint.connections;
        }
        let pools = matches!((plan.binding, &plan.load), (Binding::Idle, Load::Open { .. }))
            .then(|| ranges.iter().map(|range| Pool::new(range.clone())).collect());
        let clients = match &plan.load {
            Load::Open { .. } => plan.clients.unwrap_or(0),
            Load::Closed { .. } => plan.clients(),
        };
        Choice { ranges, pools, clients: clients as u32 }
    }

    /// Whether a request waits for any connection to its endpoint, rather than for one.
    #[inline]
    pub(super) fn is_pool(&self) -> bool {
        self.pools.is_some()
    }

    /// What waits for the first free connection to `endpoint`, where the binding has pools.
    #[inline]
    pub(super) fn pool(&mut self, endpoint: usize) -> Option<&mut Line> {
        self.pools.as_mut().map(|pools| &mut pools[endpoint].line)
    }

    /// A connection to `endpoint` is left alone for a while, or no longer.
    pub(super) fn note_down(&mut self, endpoint: usize, down: bool) {
        if let Some(pools) = &mut self.pools {
            let count = &mut pools[endpoint].down;
            *count = if down { *count + 1 } else { *count - 1 };
        }
    }

    /// Whether all connections of a pool are down: requests for it fail.
    pub(super) fn is_down(&self, endpoint: usize) -> bool {
        self.pools.as_ref().is_some_and(|pools| pools[endpoint].down == self.ranges[endpoint].len())
    }

    /// Draws the virtual client of an arrival.
    #[inline]
    pub(super) fn client(&self, rng: &mut Rng) -> u32 {
        if self.clients > 0 { rng.random_range(0..self.clients) } else { 0 }
    }

    /// The connection to `endpoint` for a request of `client`; `None` where all of a pool are busy.
    #[inline]
    pub(super) fn connection(&self, endpoint: usize, client: Option<u32>, rng: &mut Rng) -> Option<usize> {
        if let Some(pools) = &self.pools {
            let members = &pools[endpoint].idle.members;
            let drawn = || members[rng.random_range(0..members.len())] as usize;
            return (!members.is_empty()).then(drawn);
        }
        let range = &self.ranges[endpoint];
        let count = range.end - range.start;
        Some(match client {
            // If connections suffice, clients hold equal numbers of them, to within one; else they share them.
            Some(client) => {
                let (client, step) = (client as usize % count, self.clients.max(1) as usize);
                let own = (count - client).div_ceil(step);
                let which = if own > 1 { rng.random_range(0..own) } else { 0 };
                range.start + client + step * which
            }
            None => range.start + rng.random_range(0..count),
        })
    }

    /// Whether requests belong to virtual clients.
    pub(super) fn has_clients(&self) -> bool {
        self.clients > 0
    }

    /// Keeps the sets of idle connections true.
    #[inline]
    pub(super) fn note(&mut self, endpoint: usize, index: usize, can_take: impl FnOnce() -> bool) {
        if let Some(pools) = &mut self.pools {
            pools[endpoint].idle.set(index, can_take());
        }
    }
}

/// The connections to one endpoint; any idle one takes a request.
struct Pool {
    idle: IdleSet,
    /// Requests for the first that falls free; empty while one is idle.
    line: Line,
    /// How many are left alone for a while.
    down: usize,
}

impl Pool {
    fn new(range: Range<usize>) -> Pool {
        Pool { idle: IdleSet::new(range), line: Line::default(), down: 0 }
    }
}

/// The connections that can take a request, to draw one with equal chance.
struct IdleSet {
    members: Vec<u32>,
    first: usize,
    /// The index of each connection in `members`.
    place: Vec<u32>,
}

impl IdleSet {
    const OUT: u32 = u32::MAX;

    fn new(range: Range<usize>) -> IdleSet {
        let count = range.end - range.start;
        IdleSet { members: Vec::with_capacity(count), first: range.start, place: vec![Self::OUT; count] }
    }

    fn set(&mut self, index: usize, idle: bool) {
        let place = self.place[index - self.first];
        if idle && place == Self::OUT {
            self.place[index - self.first] = self.members.len() as u32;
            self.members.push(index as u32);
        } else if !idle && place != Self::OUT {
            self.members.swap_remove(place as usize);
            if let Some(&moved) = self.members.get(place as usize) {
                self.place[moved as usize - self.first] = place;
            }
            self.place[index - self.first] = Self::OUT;
        }
    }
}
