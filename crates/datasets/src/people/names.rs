//! Names of users.

use std::sync::LazyLock;

use dist::mixed;

/// Keeps names independent of other draws from the seed. Source: the fraction of √19.
const NAMES: u64 = 0x5be0_cd19_137e_2179;

/// Source: ours, common names of many places, some of which are not ASCII, so that a site has to keep them whole.
static GIVEN: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "Ada,Aisha,Alan,Amara,Ana,Anders,Anton,Ayşe,Barbara,Björn,Carlos,Chen,Chloé,Claude,Daniel,Diego,\
     Edsger,Elena,Emre,Fatima,Felix,Frances,Grace,Hana,Haruto,Hugo,Ines,Ivan,Jana,Jean,John,José,Julia,\
     Kai,Karin,Katherine,Kofi,Lars,Leila,Leslie,Lin,Lucía,Luka,Margaret,Maria,Mei,Mila,Mohamed,Nadia,\
     Niels,Nour,Olga,Omar,Pedro,Priya,Radia,Ravi,Sofia,Tomás,Vera,Wei,Yuki,Zoë,Łukasz"
        .split(',')
        .collect()
});

/// Source: as [`GIVEN`].
static FAMILY: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "Adeyemi,Allen,Andersson,Bauer,Becker,Bianchi,Brown,Castro,Chan,Costa,Cruz,Da Silva,Dijkstra,Dubois,\
     Eriksson,Fernández,Fischer,Fontaine,García,Ghosh,Gómez,Haddad,Hansen,Hoffmann,Hopper,Ibrahim,Ito,\
     Ivanova,Jansen,Jensen,Johnson,Jones,Kaya,Khan,Kim,Kowalska,Kumar,Lamport,Larsen,Lee,Lehmann,Lopes,\
     Mbeki,Meyer,Moreau,Müller,Nakamura,Nguyen,Novák,Okafor,Olsen,Patel,Petrov,Popescu,Rossi,Sato,Schmidt,\
     Singh,Smith,Tanaka,Turing,Wang,Yılmaz,O'Brien"
        .split(',')
        .collect()
});

/// Appends `u0000001` without a formatter, for the way of a request. A million users have numbers up to 1 000 000.
#[inline]
pub(crate) fn append(user: u32, out: &mut Vec<u8>) {
    let number = u64::from(user) + 1;
    out.push(b'u');
    let digit = |place: u64| b'0' + (number / place % 10) as u8;
    out.extend_from_slice(&[1_000_000, 100_000, 10_000, 1_000, 100, 10, 1].map(digit));
}

/// The name that others see.
pub(crate) fn display(seed: u64, user: u32) -> String {
    let drawn = mixed(mixed(seed ^ NAMES).wrapping_add(u64::from(user)));
    let (given, family) = (drawn % 64, drawn >> 32 & 63);
    format!("{} {}", GIVEN[given as usize], FAMILY[family as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::ChiSquare;

    #[test]
    fn a_name_has_seven_digits() {
        for user in [0, 1, 9, 99, 123_456, 999_999] {
            let mut name = Vec::new();
            append(user, &mut name);
            let name = String::from_utf8(name).unwrap();
            assert_eq!(name, format!("u{:07}", user + 1));
        }
    }

    #[test]
    fn every_name_is_shown_as_often_as_another() {
        let (mut given, mut family) = ([0; 64], [0; 64]);
        for user in 0..64_000 {
            let name = display(7, user);
            let (one, other) = name.split_once(' ').unwrap();
            given[GIVEN.iter().position(|name| *name == one).unwrap()] += 1;
            family[FAMILY.iter().position(|name| *name == other).unwrap()] += 1;
        }
        for counts in [given, family] {
            let test = ChiSquare::test(&counts, &[1.0; 64]).unwrap();
            assert!(test.p_value > 1e-3, "{test:?}");
        }
    }

    #[test]
    fn seeds_give_other_names() {
        let of = |seed| (0..100).map(|user| display(seed, user)).collect::<Vec<_>>();
        assert_eq!(of(1), of(1));
        assert!(of(1).iter().zip(of(2)).filter(|(one, other)| **one == *other).count() < 10);
    }
}
