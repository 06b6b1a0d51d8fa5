use std::ops::RangeInclusive;
use std::sync::Arc;

use units::ParseError;

use crate::people::graph::Graph;
use crate::people::names;

/// How many users there may be. Below ten the distribution of friends has no shape; a million of them keep 480 MB of
/// friendships.
pub const USERS: RangeInclusive<u32> = 10..=1_000_000;

/// The users of a social network, numbered from 0, and their friendships.
///
/// Shape: a friendship is mutual, and each user has at least one.
/// Cost: about 30 MB at 100k users, made in about 1 s; a clone shares them.
#[derive(Clone, Debug)]
pub struct People {
    users: u32,
    seed: u64,
    graph: Arc<Graph>,
}

/// How many friends users have: a summary for a person to read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Degrees {
    /// The mean.
    pub mean: f64,
    /// The fewest.
    pub min: u32,
    /// Half of the users have at most this many.
    pub median: u32,
    /// Nine of ten users have at most this many.
    pub p90: u32,
    /// 99 of 100 users have at most this many.
    pub p99: u32,
    /// The most.
    pub max: u32,
    /// The share of friendships whose two are of one community.
    pub within: f64,
}

impl People {
    /// The people of this number and seed. Two seeds give other friends to each user, and other texts.
    ///
    /// Errors: the number is outside of [`USERS`].
    pub fn new(users: u32, seed: u64) -> Result<People, ParseError> {
        if !USERS.contains(&users) {
            return Err(ParseError {
                what: "number of users",
                given: users.to_string(),
                problem: format!("there may be from {} to {} users", USERS.start(), USERS.end()),
                hint: "try 1k",
            });
        }
        Ok(People { users, seed, graph: Arc::new(Graph::new(users, seed)) })
    }

    /// How many users there are.
    pub fn users(&self) -> u32 {
        self.users
    }

    /// The seed of friendships and texts.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The name that a user logs in by: `u0000001` is that of user 0. Bounds: `user` below [`People::users`], here and
    /// below.
    pub fn name(&self, user: u32) -> String {
        let mut name = Vec::new();
        self.append_name(user, &mut name);
        name.into_iter().map(char::from).collect()
    }

    /// Appends that name, whose length is the same for all.
    #[inline]
    pub fn append_name(&self, user: u32, out: &mut Vec<u8>) {
        names::append(user, out);
    }

    /// The display name of a user; several may share one.
    pub fn display(&self, user: u32) -> String {
        names::display(self.seed, user)
    }

    /// The friends of a user, in ascending order; never none.
    #[inline]
    pub fn friends(&self, user: u32) -> &[u32] {
        self.graph.friends(user)
    }

    /// Whether two users are friends; no user is their own.
    pub fn are_friends(&self, one: u32, other: u32) -> bool {
        self.friends(one).binary_search(&other).is_ok()
    }

    /// How many friendships there are; a friendship of two counts once.
    pub fn friendships(&self) -> u64 {
        self.graph.ends() / 2
    }

    /// The community of a user: most friends are of the same one.
    pub fn community(&self, user: u32) -> u32 {
        self.graph.community(user)
    }

    /// How many friends users have. Cost: one look at each friendship.
    pub fn degrees(&self) -> Degrees {
        let mut degrees: Vec<u32> = (0..self.users).map(|user| self.friends(user).len() as u32).collect();
        degrees.sort_unstable();
        let at = |share: f64| degrees[((degrees.len() as f64 * share).ceil() as usize).max(1) - 1];
        let is_within = |user: u32, friend: &&u32| self.community(user) == self.community(**friend);
        let within: usize = (0..self.users)
            .map(|user| self.friends(user).iter().filter(|friend| is_within(user, friend)).count())
            .sum();
        Degrees {
            mean: self.graph.ends() as f64 / f64::from(self.users),
            min: degrees[0],
            median: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: at(1.0),
            within: within as f64 / self.graph.ends() as f64,
        }
    }
}

#[cfg(test)]
mod tests;
