//! Who is whose friend.

use dist::{Purpose, Rng, Scatter, Streams};
use rand::Rng as _;

use crate::people::degrees::{degrees, mean_degree};

/// The share of a user's friends that are to be of the user's community. Source: ours; a community is where most friends
/// know each other, and some friends are from elsewhere.
pub const WITHIN: f64 = 0.8;

/// The fewest users of a community. Source: ours.
const COMMUNITY: u32 = 50;
/// Members of a community for each friend of the mean. Source: ours; of 50 members none can have 58 friends, as four of
/// five of 72 are.
const ROOM: f64 = 6.0;
/// Most attempts to exchange an end without a partner for one of an existing friendship, before it is dropped.
const EXCHANGES: usize = 100;

/// Keep communities and friendships independent of other draws from the seed. Source: the fractions of √29 and √31.
const COMMUNITIES: u64 = 0x629a_292a_367c_d507;
const STREAMS: u64 = 0x9159_015a_3070_dd17;

/// The size of a community in a network of `users` users.
pub fn community_size(users: u32) -> u32 {
    COMMUNITY.max((ROOM * mean_degree(users)).round() as u32).min(users)
}

/// The friends of each user, one list after the other.
#[derive(Debug)]
pub(crate) struct Graph {
    /// Where the list of each user begins, and at last where all end.
    starts: Vec<u32>,
    friends: Vec<u32>,
    places: Scatter,
    size: u32,
    communities: u32,
}

impl Graph {
    /// Draws friendships such that users have the degrees of [`degrees`], nearly: a configuration model within each
    /// community and one among all of them.
    ///
    /// Source: Molloy and Reed, 1995; a friendship with oneself or a duplicate exchanges its ends with an existing
    /// friendship, as in Milo et al., 2003.
    pub(crate) fn new(users: u32, seed: u64) -> Graph {
        let size = community_size(users);
        let mut graph = Graph {
            starts: Vec::new(),
            friends: Vec::new(),
            places: Scatter::new(u64::from(users), seed ^ COMMUNITIES),
            size,
            // The last takes the remainder, and has up to twice as many.
            communities: (users / size).max(1),
        };
        let wanted = degrees(users, seed);
        let mut rng = Streams::new(seed ^ STREAMS).stream(Purpose::Other(0), 0);
        // In a community at most half are friends of one of its members.
        let inner: Vec<u32> = wanted
            .iter()
            .map(|degree| {
                let share = (f64::from(*degree) * WITHIN + unit(&mut rng)) as u32;
                share.min(size / 2).min(*degree)
            })
            .collect();
        let mut drawing = Drawing::new(&wanted);
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); graph.communities as usize];
        for user in 0..users {
            members[graph.community(user) as usize].push(user);
        }
        for community in &members {
            let ends =
                community.iter().flat_map(|user| std::iter::repeat_n(*user, inner[*user as usize] as usize));
            drawing.connect(ends.collect(), &mut rng, |_, _| true);
        }
        let all = (0..users).flat_map(|user| {
            std::iter::repeat_n(user, (wanted[user as usize] - inner[user as usize]) as usize)
        });
        let apart = |one, other| graph.communities == 1 || graph.community(one) != graph.community(other);
        drawing.connect(all.collect(), &mut rng, apart);
        // A user whose only end was dropped becomes a friend of another of the community.
        for community in &members {
            for (place, user) in community.iter().enumerate() {
                if drawing.of(*user).is_empty() && !drawing.extra.iter().any(|(_, other)| other == user) {
                    drawing.extra.push((*user, community[(place + 1) % community.len()]));
                }
            }
        }
        (graph.starts, graph.friends) = drawing.lists();
        graph
    }

    #[inline]
    pub(crate) fn friends(&self, user: u32) -> &[u32] {
        let at = user as usize;
        &self.friends[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Both ends of each friendship.
    pub(crate) fn ends(&self) -> u64 {
        self.friends.len() as u64
    }

    pub(crate) fn community(&self, user: u32) -> u32 {
        (self.places.apply(u64::from(user)) as u32 / self.size).min(self.communities - 1)
    }
}

/// Friendships as they are drawn: each user has room for as many as are wanted.
struct Drawing {
    starts: Vec<u32>,
    friends: Vec<u32>,
    counts: Vec<u32>,
    /// Further friendships, for which there may be no room.
    extra: Vec<(u32, u32)>,
}

impl Drawing {
    fn new(wanted: &[u32]) -> Drawing {
        let mut starts = vec![0];
        for degree in wanted {
            starts.push(starts.last().expect("it has one") + degree);
        }
        let ends = *starts.last().expect("it has one") as usize;
        Drawing { starts, friends: vec![0; ends], counts: vec![0; wanted.len()], extra: Vec::new() }
    }

    /// The friends of `user` so far.
    fn of(&self, user: u32) -> &[u32] {
        let start = self.starts[user as usize] as usize;
        &self.friends[start..start + self.counts[user as usize] as usize]
    }

    /// Whether the two are not one, and no friends yet. Cost: a look at the shorter of two lists.
    fn may(&self, one: u32, other: u32) -> bool {
        let (one, other) =
            if self.of(one).len() <= self.of(other).len() { (one, other) } else { (other, one) };
        one != other && !self.of(one).contains(&other)
    }

    fn add(&mut self, one: u32, other: u32) {
        for (user, friend) in [(one, other), (other, one)] {
            let at = self.starts[user as usize] + self.counts[user as usize];
            self.friends[at as usize] = friend;
            self.counts[user as usize] += 1;
        }
    }

    fn remove(&mut self, one: u32, other: u32) {
        for (user, friend) in [(one, other), (other, one)] {
            let start = self.starts[user as usize] as usize;
            let count = &mut self.counts[user as usize];
            *count -= 1;
            let list = &mut self.friends[start..=start + *count as usize];
            let at = list.iter().position(|one| *one == friend).expect("they are friends");
            let last = list.len() - 1;
            list.swap(at, last);
        }
    }

    /// Joins the ends in pairs; a pair must be `allowed`.
    fn connect(&mut self, mut ends: Vec<u32>, rng: &mut Rng, allowed: impl Fn(u32, u32) -> bool) {
        for last in (1..ends.len()).rev() {
            ends.swap(last, below(rng, last + 1));
        }
        let (mut joined, mut left) = (Vec::with_capacity(ends.len() / 2), Vec::new());
        for pair in ends.chunks_exact(2) {
            let (one, other) = (pair[0], pair[1]);
            if allowed(one, other) && self.may(one, other) {
                self.add(one, other);
                joined.push((one, other));
            } else {
                left.push((one, other));
            }
        }
        for (one, other) in left {
            for _ in 0..EXCHANGES.min(joined.len() * EXCHANGES) {
                let at = below(rng, joined.len());
                let (third, fourth) = joined[at];
                let fits = [(one, fourth), (third, other)];
                // The two new ones must differ from each other, too.
                let same = one == third && fourth == other || one == other && fourth == third;
                if !same && fits.iter().all(|(a, b)| allowed(*a, *b) && self.may(*a, *b)) {
                    self.remove(third, fourth);
                    self.add(one, fourth);
                    self.add(third, other);
                    joined[at] = fits[0];
                    joined.push(fits[1]);
                    break;
                }
            }
        }
    }

    /// The lists without gaps, each in ascending order.
    fn lists(self) -> (Vec<u32>, Vec<u32>) {
        let mut extra: Vec<(u32, u32)> = self.extra.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]).collect();
        extra.sort_unstable();
        let ends = self.counts.iter().sum::<u32>() as usize + extra.len();
        let (mut starts, mut friends) = (vec![0], Vec::with_capacity(ends));
        let mut extra = extra.into_iter().peekable();
        for user in 0..self.counts.len() as u32 {
            let from = friends.len();
            friends.extend_from_slice(self.of(user));
            while let Some((_, friend)) = extra.next_if(|(of, _)| *of == user) {
                friends.push(friend);
            }
            friends[from..].sort_unstable();
            starts.push(friends.len() as u32);
        }
        (starts, friends)
    }
}

/// A number below `n`. Its share is wrong by less than n / 2⁶⁴.
pub(crate) fn below(rng: &mut Rng, n: usize) -> usize {
    ((u128::from(rng.next_u64()) * n as u128) >> 64) as usize
}

/// A number from 0 to below 1.
pub(crate) fn unit(rng: &mut Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}
