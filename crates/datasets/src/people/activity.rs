//! The texts of users from before the measurement: posts, and messages of chats.

use dist::{Purpose, Rng, Streams, mixed};
use rand::Rng as _;

use crate::people::graph::{below, unit};
use crate::people::{People, words};

/// Posts for each user. Source: ours; a home page shows 20 posts of all friends.
const POSTS: u64 = 10;
/// One in this many posts is on a friend's wall. Source: ours.
const ELSEWHERE: usize = 5;
/// One in this many friendships has a chat. Source: ours.
const CHATTING: u64 = 10;
/// Messages for each chat. Source: ours.
const MESSAGES: u64 = 5;

/// Time of the first post, when all users had joined: 2024-01-01 UTC. Units: ms of Unix time. Source: ours; it is in
/// the past at any measurement.
pub(crate) const BEGIN: u64 = 1_704_067_200_000;
/// How long users have written: 366 days, the year of [`BEGIN`]. Units: ms.
pub(crate) const SPAN: u64 = 366 * 86_400_000;
/// How long before that users joined. Units: ms.
const BEFORE: u64 = 365 * 86_400_000;

/// Keep the streams apart, and those of friendships. Source: the fractions of √37, √41, √43 and √47.
const POSTED: u64 = 0x152f_ecd8_f70e_5939;
const OPENED: u64 = 0x6733_2667_ffc0_0b31;
const SENT: u64 = 0x8eb4_4a87_6858_1511;
const CAME: u64 = 0xdb0c_2e0d_64f9_8fa7;

/// A post on a wall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Its number, from 1; later ones have higher numbers.
    pub id: u64,
    /// Who wrote it.
    pub author: u32,
    /// The owner of the wall: the author, or a friend.
    pub wall: u32,
    /// When it was written. Units: ms of Unix time.
    pub at: u64,
    /// The text.
    pub body: String,
}

/// A chat of two friends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chat {
    /// Its number, from 1.
    pub id: u64,
    /// The one with the lower number.
    pub a: u32,
    /// The other.
    pub b: u32,
}

/// A message of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number, from 1; later ones have higher numbers.
    pub id: u64,
    /// In which chat it was sent.
    pub chat: Chat,
    /// Who wrote it: one of the two.
    pub author: u32,
    /// When it was sent. Units: ms of Unix time.
    pub at: u64,
    /// The text.
    pub body: String,
}

/// The chats that there are. Cost: 8 bytes each.
#[derive(Clone, Debug)]
pub struct Chats {
    pairs: Vec<(u32, u32)>,
    seed: u64,
}

impl Chats {
    /// How many there are.
    pub fn len(&self) -> u64 {
        self.pairs.len() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// All of them, by their numbers.
    pub fn iter(&self) -> impl Iterator<Item = Chat> {
        (0..self.pairs.len()).map(|place| self.at(place))
    }

    fn at(&self, place: usize) -> Chat {
        let (a, b) = self.pairs[place];
        Chat { id: place as u64 + 1, a, b }
    }

    /// How many messages were sent in them.
    pub fn message_count(&self) -> u64 {
        self.len() * MESSAGES
    }

    /// The messages in the order in which they were sent.
    pub fn messages(&self) -> impl Iterator<Item = Message> {
        let mut rng = stream(self.seed ^ SENT);
        let count = self.message_count();
        (0..count).map(move |place| {
            let chat = self.at(below(&mut rng, self.pairs.len()));
            let author = if rng.next_u64() >> 63 == 0 { chat.a } else { chat.b };
            let at = moment(place, count, &mut rng);
            let mut body = String::new();
            words::append(&mut rng, 2, 6.0, &mut body);
            Message { id: place + 1, chat, author, at, body }
        })
    }
}

impl People {
    /// How many posts there are.
    pub fn post_count(&self) -> u64 {
        u64::from(self.users()) * POSTS
    }

    /// The posts in the order in which they were written. Their authors are drawn evenly.
    pub fn posts(&self) -> impl Iterator<Item = Post> {
        let mut rng = stream(self.seed() ^ POSTED);
        let count = self.post_count();
        (0..count).map(move |place| {
            let author = below(&mut rng, self.users() as usize) as u32;
            let friends = self.friends(author);
            let wall = match below(&mut rng, ELSEWHERE) {
                0 => friends[below(&mut rng, friends.len())],
                _ => author,
            };
            let at = moment(place, count, &mut rng);
            let mut body = String::new();
            words::append(&mut rng, 4, 8.0, &mut body);
            Post { id: place + 1, author, wall, at, body }
        })
    }

    /// The chats that friends have opened. Cost: a look at each friendship.
    pub fn chats(&self) -> Chats {
        let key = mixed(self.seed() ^ OPENED);
        let is_open =
            |a: u32, b: u32| mixed(key ^ mixed(u64::from(a) << 32 | u64::from(b))).is_multiple_of(CHATTING);
        let of = |a: u32| self.friends(a).iter().filter(move |b| a < **b).map(move |b| (a, *b));
        let pairs = (0..self.users()).flat_map(of).filter(|(a, b)| is_open(*a, *b)).collect();
        Chats { pairs, seed: self.seed() }
    }

    /// When a user joined, before the first post. Units: ms of Unix time.
    pub fn created(&self, user: u32) -> u64 {
        BEGIN - 1 - mixed(mixed(self.seed() ^ CAME).wrapping_add(u64::from(user))) % BEFORE
    }

    /// When two became friends, before the first post and after both joined. Units: ms of Unix time.
    pub fn befriended(&self, one: u32, other: u32) -> u64 {
        let both = self.created(one).max(self.created(other));
        let pair = u64::from(one.min(other)) << 32 | u64::from(one.max(other));
        both + mixed(mixed(!self.seed() ^ CAME) ^ mixed(pair)) % (BEGIN - both)
    }
}

fn stream(seed: u64) -> Rng {
    Streams::new(seed).stream(Purpose::Other(1), 0)
}

/// When the event at `place` of `count` happened: one in each of `count` equal parts of the time, so that events are in
/// order.
fn moment(place: u64, count: u64, rng: &mut Rng) -> u64 {
    BEGIN + ((place as f64 + unit(rng)) / count as f64 * SPAN as f64) as u64
}
