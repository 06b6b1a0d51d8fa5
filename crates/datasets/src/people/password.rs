//! The password of every user, and its hashes.

use std::ops::RangeInclusive;

/// The password of every user: one hash for all, since 10 000 hashes of bcrypt's cost 10 would take 15 min.
pub const PASSWORD: &str = "taillight";

/// The costs of bcrypt that [`hash`] has. The least is bcrypt's own; the greatest takes 2 s for each login.
pub const COSTS: RangeInclusive<u32> = 4..=15;

/// Its hashes by cost. Source: `crypt` of PHP 8.2 with the salt `taillight/of/the/users`, so that they are the same everywhere.
const HASHES: [&str; 12] = [
    "$2y$04$taillight/of/the/userepbDBiq8ls74kgjGSDb7R7UCRP.ycxi.",
    "$2y$05$taillight/of/the/usereMuwUSRE1wXpZwL71Jgd1np6RE9RR9lq",
    "$2y$06$taillight/of/the/userex3srbs2p5zbr/W20XnbXwBCBQJjkOFy",
    "$2y$07$taillight/of/the/usereQspXCXFM53/PydJqaDku1zZ5LJgxhFm",
    "$2y$08$taillight/of/the/usereBa0KQSA0h2QzucSXDmjP5VUMzDbuYl2",
    "$2y$09$taillight/of/the/usereAkQ7vK.uyt/Bp5UF.2QGOWuaEW1rLeC",
    "$2y$10$taillight/of/the/usereNQqBjtZ28iakLOsxb8eIcP0NlZBXI5C",
    "$2y$11$taillight/of/the/usereOTqdwgGAJtZsIpvS1w5toqXeTCGJ/HG",
    "$2y$12$taillight/of/the/usereMbiCY4zqY.TiqotejOEz8midW0/FG26",
    "$2y$13$taillight/of/the/userexxBVdUlMxUs/aT5tc1QWqye6Bg2MQqW",
    "$2y$14$taillight/of/the/userenCKHgpBBURLAysrJlucZ4U5RE04zsXy",
    "$2y$15$taillight/of/the/usereZY5lydk0L1ORVeiIDzccRNH42LfssiC",
];

/// The bcrypt hash of [`PASSWORD`] with this cost; `None` if the cost is outside of [`COSTS`].
pub fn hash(cost: u32) -> Option<&'static str> {
    let place = cost.checked_sub(*COSTS.start())?;
    HASHES.get(usize::try_from(place).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cost_has_its_hash() {
        for cost in COSTS {
            assert!(
                hash(cost).unwrap().starts_with(&format!("$2y${cost:02}$taillight/of/the/user")),
                "{cost}"
            );
            assert_eq!(hash(cost).unwrap().len(), 60);
        }
        assert_eq!((hash(3), hash(16), hash(u32::MAX)), (None, None, None));
    }
}
