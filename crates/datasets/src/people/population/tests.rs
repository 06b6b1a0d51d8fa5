use super::*;
use crate::people::{Table, mean_degree};
use stats::ChiSquare;

fn people(users: u32, seed: u64) -> People {
    People::new(users, seed).unwrap()
}

#[test]
fn friendships_go_both_ways_and_none_is_with_oneself() {
    for (users, seed) in [(10, 1), (11, 2), (50, 3), (99, 4), (1_000, 5), (10_000, 6)] {
        let people = people(users, seed);
        let mut ends = 0;
        for user in 0..users {
            let friends = people.friends(user);
            assert!(!friends.is_empty() && friends.is_sorted_by(|one, next| one < next), "{users}: {user}");
            // A user whose only friendship was dropped becomes a friend of another, beyond that user's limit.
            assert!(friends.len() as u32 <= users / 2 + 1, "{users}: {user}: {}", friends.len());
            for friend in friends {
                assert!(*friend != user && people.are_friends(*friend, user), "{users}: {user} {friend}");
            }
            ends += friends.len() as u64;
        }
        assert_eq!(people.friendships() * 2, ends);
    }
}

#[test]
fn degrees_are_those_that_are_cited() {
    for (users, share) in [(1_000, 0.03), (10_000, 0.01), (100_000, 0.01)] {
        let degrees = people(users, 1).degrees();
        // Some ends find no other, and a network of 1000 has room for few who know half of it.
        assert!((degrees.mean / mean_degree(users) - 1.0).abs() < share, "{users}: {degrees:?}");
        // Facebook's median is 99 / 191 of its mean.
        let median = f64::from(degrees.median) / degrees.mean;
        assert!((median - 99.0 / 191.0).abs() < 0.04, "{users}: {degrees:?}");
        assert!(degrees.min == 1 && degrees.max <= 5000.min(users / 2) + 1, "{users}: {degrees:?}");
        // Users who want more than half of their community find the others outside of it.
        assert!((0.6..=0.82).contains(&degrees.within), "{users}: {degrees:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_people_and_another_others() {
    let write = |seed| {
        let mut all = Vec::new();
        for table in Table::ALL {
            table.write(&people(500, seed), "hash", &mut all).unwrap();
        }
        all
    };
    assert_eq!(write(1), write(1));
    assert_ne!(write(1), write(2));
    let friends =
        |seed: u64| (0..500).map(|user| people(500, seed).friends(user).to_vec()).collect::<Vec<_>>();
    assert!(friends(1).iter().zip(friends(2)).filter(|(one, other)| **one == *other).count() < 25);
}

#[test]
fn a_seed_means_the_same_in_every_version() {
    // Reference draws: when this fails, old seeds no longer mean the same.
    let people = people(1_000, 1);
    let golden = (people.display(0), people.friends(0).len(), people.friendships(), people.chats().len());
    assert_eq!(golden, ("Chloé Wang".to_owned(), 5, 9611, 940));
}

#[test]
fn friends_are_drawn_evenly_from_elsewhere() {
    // Which community a friend of another community is of: as often as its members have ends outside of theirs.
    let people = people(20_000, 9);
    let communities = (0..20_000).map(|user| people.community(user)).max().unwrap() as usize + 1;
    let mut ends = vec![0; communities];
    let (first, mut seen) = (0..10, vec![0; communities]);
    for user in 0..20_000 {
        for friend in people.friends(user) {
            let (from, to) = (people.community(user), people.community(*friend));
            if from != to {
                ends[to as usize] += 1;
                if first.contains(&from) && !first.contains(&to) {
                    seen[to as usize] += 1;
                }
            }
        }
    }
    let weights: Vec<f64> = ends[10..].iter().map(|ends| f64::from(*ends)).collect();
    let test = ChiSquare::test(&seen[10..], &weights).unwrap();
    assert!(test.p_value > 1e-3, "{test:?}");
}

#[test]
fn posts_are_in_order_and_evenly_from_all() {
    let people = people(1_000, 3);
    let (mut authors, mut elsewhere, mut before) = (vec![0; 1_000], 0, 0);
    for (place, post) in people.posts().enumerate() {
        assert_eq!(post.id, place as u64 + 1);
        assert!(post.at >= before && post.at >= people.created(post.author));
        before = post.at;
        authors[post.author as usize] += 1;
        if post.wall != post.author {
            assert!(people.are_friends(post.wall, post.author));
            elsewhere += 1;
        }
    }
    assert_eq!(authors.iter().sum::<u64>(), people.post_count());
    let test = ChiSquare::test(&authors, &vec![1.0; 1_000]).unwrap();
    assert!(test.p_value > 1e-3, "{test:?}");
    // A fifth of 10 000 has a standard deviation of 40.
    assert!((1_800..=2_200).contains(&elsewhere), "{elsewhere}");
}

#[test]
fn messages_are_between_friends_and_in_order() {
    let people = people(2_000, 3);
    let chats = people.chats();
    // A tenth of some 25 000 friendships have a chat; the standard deviation is 47.
    let expect = people.friendships() as f64 / 10.0;
    assert!((chats.len() as f64 - expect).abs() < 5.0 * expect.sqrt(), "{} of {expect}", chats.len());
    assert!(chats.iter().all(|chat| chat.a < chat.b && people.are_friends(chat.a, chat.b)));
    let (mut sent, mut first, mut before) = (vec![0; chats.len() as usize], 0, 0);
    for (place, message) in chats.messages().enumerate() {
        assert_eq!(message.id, place as u64 + 1);
        assert!(message.at >= before);
        before = message.at;
        assert!([message.chat.a, message.chat.b].contains(&message.author));
        first += u64::from(message.author == message.chat.a);
        sent[message.chat.id as usize - 1] += 1;
    }
    let test = ChiSquare::test(&sent, &vec![1.0; sent.len()]).unwrap();
    assert!(test.p_value > 1e-3, "{test:?}");
    let test = ChiSquare::test(&[first, chats.message_count() - first], &[1.0, 1.0]).unwrap();
    assert!(test.p_value > 1e-3, "{test:?}");
}

#[test]
fn tables_have_their_rows_and_columns() {
    let people = people(300, 2);
    for table in Table::ALL {
        let mut text = Vec::new();
        table.write(&people, "$2y$10$hash", &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count() as u64, table.rows(&people), "{}", table.name());
        assert!(!text.contains('\\'));
        for line in text.lines() {
            assert_eq!(line.split('\t').count(), table.columns().len(), "{line}");
        }
    }
}

#[test]
fn friends_came_before_they_met_and_met_before_they_wrote() {
    let people = people(200, 8);
    for user in 0..200 {
        for friend in people.friends(user) {
            let met = people.befriended(user, *friend);
            assert_eq!(met, people.befriended(*friend, user));
            assert!(met >= people.created(user) && met < people.posts().next().unwrap().at);
        }
    }
}

#[test]
fn a_number_out_of_bounds_is_refused() {
    for users in [0, 9, 1_000_001, u32::MAX] {
        let error = People::new(users, 1).unwrap_err().to_string();
        assert!(error.contains("from 10 to 1000000 users"), "{error}");
    }
}
