//! The sizes of keys and values.
//!
//! Every size is drawn by inversion of one uniform number ([`Size::quantile`]), which the crate `dist` draws.
//!
//! Try it: `cargo test -p spec size`.

mod etc;
mod law;
mod parse;
mod shape;
mod web;

use statrs::function::erf::erfc;
use units::{Bytes, ParseError};

use crate::Notation;
pub use law::growth;
use shape::Shape;

/// A distribution of sizes, in whole bytes, clipped to a least and a most.
///
/// A size drawn beyond a bound is clipped to the bound. Continuous laws are rounded to the nearest byte.
///
/// Bounds: 0 to [`Size::MAX`]; a law without an upper end of its own is clipped at [`Size::VALUE_MAX`], `etc-key` at
/// [`Size::KEY_MAX`], `web` at [`Size::WEB_MAX`], unless `[LEAST..MOST]` after it says otherwise.
/// Cost: fixed 1 ns, uniform 2 ns, others 10 to 60 ns.
#[derive(Clone, Debug, PartialEq)]
pub struct Size {
    shape: Shape,
    /// As a person gave them.
    bounds: Option<(u64, u64)>,
    /// The least and the most that can be drawn.
    ends: (u64, u64),
}

impl Size {
    /// The largest size: 1 GiB, the most that memcached lets an item be (`-I 1g`).
    pub const MAX: Bytes = Bytes(1 << 30);

    /// The longest key that memcached's protocol allows.
    pub const KEY_MAX: Bytes = Bytes(250);

    /// The bound of values without an end of their own: 10⁶ B. Memcached refuses items over 1 MiB by default, key and
    /// header included, so that a value of 1 MiB itself could never be stored.
    pub const VALUE_MAX: Bytes = Bytes(1_000_000);

    /// The bound of the files of a web site: 16 MiB, which clips 1 of 16 107 of them. The tail of the sizes has no
    /// known end (the 32 GB given for its 99th percentile are 1400 times the value that the other two shares allow),
    /// and a few huge files would make up most of the bytes and of the transfer times.
    pub const WEB_MAX: Bytes = Bytes(16 << 20);

    /// Always the same size. Errors: over [`Size::MAX`].
    pub fn fixed(size: Bytes) -> Result<Size, ParseError> {
        format!("fixed:{}", size.0).parse()
    }

    /// The size clipped to `min` … `max` if no bounds were given; a workload narrows a law to its own limits this way.
    ///
    /// Fixed, uniform and listed sizes stay: their ends are explicit, and a size out of bounds is a mistake to report.
    pub fn or_clipped(self, min: Bytes, max: Bytes) -> Size {
        match self.shape {
            Shape::Law(_) | Shape::EtcKey | Shape::EtcValue | Shape::Web
                if self.bounds.is_none() && min <= max =>
            {
                Size::of(self.shape, Some((min.0, max.0.min(Size::MAX.0))))
            }
            _ => self,
        }
    }

    /// The size that a share `u` of the draws does not exceed. Bounds: `u` from 0 to 1; others count as the nearer end.
    #[inline]
    pub fn quantile(&self, u: f64) -> u64 {
        // As integers saturate, an infinite quantile becomes the bound, too.
        (self.shape.quantile(u.clamp(0.0, 1.0)) as u64).clamp(self.ends.0, self.ends.1)
    }

    /// The smallest that can be drawn.
    pub fn min(&self) -> Bytes {
        Bytes(self.ends.0)
    }

    /// The largest that can be drawn.
    pub fn max(&self) -> Bytes {
        Bytes(self.ends.1)
    }

    /// How this one is written.
    pub fn notation(&self) -> &'static Notation {
        Notation::of(&Size::FORMS, self)
    }

    /// A checked shape with checked bounds.
    fn of(shape: Shape, bounds: Option<(u64, u64)>) -> Size {
        let most = match shape {
            Shape::Law(_) | Shape::EtcValue => Size::VALUE_MAX.0,
            Shape::EtcKey => Size::KEY_MAX.0,
            Shape::Web => Size::WEB_MAX.0,
            Shape::Uniform(..) | Shape::List(_) => Size::MAX.0,
        };
        let (min, max) = bounds.unwrap_or((0, most));
        let end = |u: f64| (shape.quantile(u) as u64).clamp(min, max);
        let ends = (end(0.0), end(1.0));
        Size { shape, bounds, ends }
    }
}

/// The normal law's chance of at most `x`.
pub fn normal_below(mean: f64, sd: f64, x: f64) -> f64 {
    0.5 * erfc((mean - x) / (sd * std::f64::consts::SQRT_2))
}

#[cfg(test)]
mod tests;
