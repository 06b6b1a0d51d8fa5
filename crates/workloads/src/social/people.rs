//! The users of one thread, logged in and not, and the texts that they write.

use std::io::Write;

use datasets::people::{PASSWORD, People};
use dist::Rng;
use rand::RngExt;

use crate::social::config::Known;
use crate::social::session::Session;
use crate::social::site::Value;

/// Most attempts to find a user who is not a friend. Source: with half of all users as friends, the most possible, this
/// many fail with a chance of 10⁻⁵.
const TRIES: u32 = 16;
/// The text that users write, of which each text has a part. Source: ours; plain words with characters that must be
/// encoded and escaped.
const WORDS: &[u8] = b"met the others at the lake & it was <great>, we should do that again soon; bring a friend, some bread \
                       and \"that\" book of yours. The train leaves at half past nine + 5 minutes, 100% sure. See you there!";
/// The least and the most of it. Units: bytes.
const WORDS_LEAST: usize = 20;

/// The users of one thread who are not logged in.
///
/// Cost: 4 bytes each; drawing one and taking one back is a swap.
#[derive(Clone, Debug)]
pub(super) struct Offline {
    users: Vec<u32>,
}

impl Offline {
    /// The users of share `share.0` of `share.1` of all of them, at most `most`, in a random order.
    pub(super) fn new(users: u32, share: (u32, u32), most: usize, rng: &mut Rng) -> Offline {
        let own = (share.0..users).step_by(share.1.max(1) as usize);
        let mut offline = Offline { users: own.collect() };
        let drawn: Vec<u32> = (0..most).map_while(|_| offline.draw(rng)).collect();
        offline.users = drawn;
        offline
    }

    /// Takes one of them out; `None` if all are logged in.
    pub(super) fn draw(&mut self, rng: &mut Rng) -> Option<u32> {
        if self.users.is_empty() {
            return None;
        }
        let place = rng.random_range(0..self.users.len());
        Some(self.users.swap_remove(place))
    }

    /// One has logged out.
    pub(super) fn take_back(&mut self, user: u32) {
        self.users.push(user);
    }
}

/// A friend of a user.
pub(super) fn friend(people: &People, user: u32, rng: &mut Rng) -> u32 {
    let friends = people.friends(user);
    let place = rng.random::<f64>() * friends.len() as f64;
    friends.get(place as usize).copied().unwrap_or(user)
}

/// One who is neither the user nor a friend, unless all are.
pub(super) fn stranger(people: &People, user: u32, rng: &mut Rng) -> u32 {
    let mut other = user;
    for _ in 0..TRIES {
        other = rng.random_range(0..people.users());
        if other != user && !people.are_friends(user, other) {
            return other;
        }
    }
    if other == user { (user + 1) % people.users() } else { other }
}

/// The user whom the article is about that someone reads, searches or edits.
///
/// Source: Wikipedia, "Does Wikipedia traffic obey Zipf's law?": of the 5th to the 1000th page the hits fall with the square root of
/// the rank. The share of the first k of N is then √(k/N), so that the rank is N times the square of a uniform number.
pub(super) fn page(people: &People, rng: &mut Rng) -> u32 {
    let drawn = rng.random::<f64>();
    ((f64::from(people.users()) * drawn * drawn) as u32).min(people.users() - 1)
}

/// A function that appends the values of a user's requests.
pub(super) fn values<'a>(known: &'a Known, session: &'a Session) -> impl Fn(Value, &mut Vec<u8>) + 'a {
    move |value, out| append(known, session, value, out)
}

fn append(known: &Known, session: &Session, value: Value, out: &mut Vec<u8>) {
    match value {
        Value::Name => known.people.append_name(session.user, out),
        Value::Password => out.extend_from_slice(PASSWORD.as_bytes()),
        // Writing into a vector cannot fail.
        Value::New => drop(write!(out, "n{}_{:x}", known.run, session.number)),
        Value::Display => out.extend_from_slice(b"New User"),
        Value::Friend => known.people.append_name(session.friend, out),
        Value::Stranger => known.people.append_name(session.stranger, out),
        Value::Stamp => drop(write!(out, "{}.{:x}.{}", known.run, session.number, session.done)),
        Value::Page => known.people.append_name(session.article, out),
        Value::Body => {
            append(known, session, Value::Stamp, out);
            out.extend_from_slice(b": ");
            let length = WORDS_LEAST + session.words as usize % (WORDS.len() - WORDS_LEAST + 1);
            out.extend_from_slice(&WORDS[..length]);
        }
        Value::Each => known.people.append_name(session.each.unwrap_or(session.user), out),
        Value::Taken(place) => out.extend_from_slice(&session.taken[usize::from(place)]),
    }
}

#[cfg(test)]
mod tests {
    use dist::{Purpose, Streams};

    use super::*;

    #[test]
    fn threads_have_users_of_their_own() {
        let mut rng = Streams::new(1).stream(Purpose::Keys, 0);
        let all = |share: u32, most: usize, rng: &mut Rng| {
            let mut offline = Offline::new(100, (share, 3), most, rng);
            let length = offline.len();
            let drawn: Vec<u32> = std::iter::from_fn(|| offline.draw(rng)).collect();
            assert_eq!((drawn.len(), offline.len()), (length, 0));
            drawn
        };
        let mut users: Vec<u32> = (0..3).flat_map(|share| all(share, 1_000, &mut rng)).collect();
        users.sort_unstable();
        assert_eq!(users, (0..100).collect::<Vec<u32>>());
        assert_eq!(all(2, 5, &mut rng).len(), 5);
        let mut one = Offline::new(10, (0, 10), 9, &mut rng);
        assert_eq!((one.draw(&mut rng), one.draw(&mut rng)), (Some(0), None));
        one.take_back(0);
        assert_eq!(one.draw(&mut rng), Some(0));
    }

    #[test]
    fn a_quarter_of_the_pages_has_half_of_the_hits() {
        let people = People::new(1_000, 1).unwrap();
        let mut rng = Streams::new(1).stream(Purpose::Keys, 0);
        let drawn: Vec<u32> = (0..10_000).map(|_| page(&people, &mut rng)).collect();
        let among = |first: u32| drawn.iter().filter(|page| **page < first).count();
        assert!((4_800..5_200).contains(&among(250)), "{}", among(250));
        // √(10/1000) is a tenth.
        assert!((900..1_100).contains(&among(10)), "{}", among(10));
        assert_eq!(among(1_000), 10_000);
    }

    #[test]
    fn friends_are_friends_and_strangers_are_not() {
        let people = People::new(100, 1).unwrap();
        let mut rng = Streams::new(1).stream(Purpose::Keys, 0);
        for user in 0..100 {
            assert!(people.are_friends(user, friend(&people, user, &mut rng)));
            let other = stranger(&people, user, &mut rng);
            assert!(other != user && !people.are_friends(user, other), "{user} and {other}");
        }
    }

    impl Offline {
        /// The number of users who are offline.
        pub(crate) fn len(&self) -> usize {
            self.users.len()
        }
    }
}
