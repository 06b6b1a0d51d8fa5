//! The tables of a site's database as text that `LOAD DATA` reads: fields with tabs between them, a row a line.

use std::io::{self, Write};

use crate::people::People;

units::named! {
    /// A table that is filled before a site is measured, each after those that its rows refer to. The numbers of users in it
    /// begin at 1.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Table {
        /// `users`.
        Users = "users",
        /// `friendship`: a friendship has a row for each of its directions.
        Friendship = "friendship",
        /// `posts`.
        Posts = "posts",
        /// `chats`.
        Chats = "chats",
        /// `messages`.
        Messages = "messages",
    }
}

/// The state of a friendship that both have agreed to.
const FRIENDS: &str = "friends";

impl Table {
    /// Its columns in the order in which they are written. Others have their defaults. Times are ms of Unix time.
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Table::Users => &["id", "name", "display", "hash", "created"],
            Table::Friendship => &["a", "b", "state", "since"],
            Table::Posts => &["id", "author", "wall", "body", "at"],
            Table::Chats => &["id", "a", "b"],
            Table::Messages => &["id", "chat", "author", "body", "at"],
        }
    }

    /// How many rows it has. Cost: for chats and messages a look at each friendship.
    pub fn rows(self, people: &People) -> u64 {
        match self {
            Table::Users => people.users().into(),
            Table::Friendship => people.friendships() * 2,
            Table::Posts => people.post_count(),
            Table::Chats => people.chats().len(),
            Table::Messages => people.chats().message_count(),
        }
    }

    /// Writes all of its rows in the order of its key; `hash` is that of every user's password. No field holds a tab, a
    /// line's end or a backslash, so that none has to be escaped.
    ///
    /// Errors: errors of `out`, which should buffer its input.
    pub fn write(self, people: &People, hash: &str, out: &mut impl Write) -> io::Result<()> {
        match self {
            Table::Users => (0..people.users()).try_for_each(|user| {
                let (name, display) = (people.name(user), people.display(user));
                writeln!(out, "{}\t{name}\t{display}\t{hash}\t{}", user + 1, people.created(user))
            }),
            Table::Friendship => (0..people.users()).try_for_each(|user| {
                people.friends(user).iter().try_for_each(|friend| {
                    let since = people.befriended(user, *friend);
                    writeln!(out, "{}\t{}\t{FRIENDS}\t{since}", user + 1, friend + 1)
                })
            }),
            Table::Posts => people.posts().try_for_each(|post| {
                writeln!(
                    out,
                    "{}\t{}\t{}\t{}\t{}",
                    post.id,
                    post.author + 1,
                    post.wall + 1,
                    post.body,
                    post.at
                )
            }),
            Table::Chats => people
                .chats()
                .iter()
                .try_for_each(|chat| writeln!(out, "{}\t{}\t{}", chat.id, chat.a + 1, chat.b + 1)),
            Table::Messages => people.chats().messages().try_for_each(|message| {
                let (id, chat, author) = (message.id, message.chat.id, message.author + 1);
                writeln!(out, "{id}\t{chat}\t{author}\t{}\t{}", message.body, message.at)
            }),
        }
    }
}
