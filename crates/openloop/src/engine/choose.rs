use std::ops::Range;

use dist::Rng;
use rand::RngExt;

use crate::engine::{Binding, Load, Plan};

/// Which connection takes a request: of those to its endpoint, by the plan's binding.
pub(super) struct Choice {
    /// The connections of each endpoint.
    ranges: Vec<Range<usize>>,
    /// For [`Binding::Idle`]: which of an endpoint's connections can take a request now.
    idle: Option<Vec<IdleSet>>,
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
        let idle = matches!((plan.binding, &plan.load), (Binding::Idle, Load::Open { .. }))
            .then(|| ranges.iter().map(|range| IdleSet::new(range.clone())).collect());
        let clients = match &plan.load {
            Load::Open { .. } => plan.clients.unwrap_or(0),
            Load::Closed { .. } => plan.clients(),
        };
        Choice { ranges, idle, clients: clients as u32 }
    }

    /// Whether an arrival that is due could be bound at all.
    pub(super) fn has_room(&self) -> bool {
        self.idle.as_ref().is_none_or(|sets| sets.iter().all(|set| !set.members.is_empty()))
    }

    /// Draws the virtual client of an arrival.
    #[inline]
    pub(super) fn client(&self, rng: &mut Rng) -> u32 {
        if self.clients > 0 { rng.random_range(0..self.clients) } else { 0 }
    }

    /// The connection to `endpoint` for a request of `client`.
    #[inline]
    pub(super) fn connection(&self, endpoint: usize, client: Option<u32>, rng: &mut Rng) -> usize {
        if let Some(sets) = &self.idle {
            let members = &sets[endpoint].members;
            if !members.is_empty() {
                return members[rng.random_range(0..members.len())] as usize;
            }
        }
        let range = &self.ranges[endpoint];
        let count = range.end - range.start;
        match client {
            // Clients hold equal numbers of connections where there are enough, else they share them.
            Some(client) => {
                let (client, step) = (client as usize, self.clients.max(1) as usize);
                let own = (count / step).max(1);
                let which = if own > 1 { rng.random_range(0..own) } else { 0 };
                range.start + (client + step * which) % count
            }
            None => range.start + rng.random_range(0..count),
        }
    }

    /// Whether clients are told apart.
    pub(super) fn has_clients(&self) -> bool {
        self.clients > 0
    }

    /// Keeps the sets of idle connections true.
    #[inline]
    pub(super) fn note(&mut self, endpoint: usize, index: usize, can_take: impl FnOnce() -> bool) {
        if let Some(sets) = &mut self.idle {
            sets[endpoint].set(index, can_take());
        }
    }
}

/// The connections that can take a request, to draw one with equal chance.
struct IdleSet {
    members: Vec<u32>,
    first: usize,
    /// Where each connection stands in `members`.
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
