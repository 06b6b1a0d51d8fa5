use crate::digits::{append_i64, append_u64};

/// One flag of a meta command; memcached's `protocol.txt` lists the flags of each command.
///
/// Bounds: the server refuses duplicate and unknown flags.
/// Source: memcached 1.6's `proto_text.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaFlag<'k> {
    /// `b`: the key is written in base 64.
    Base64Key,
    /// `c`: return the unique number.
    ReturnCas,
    /// `C`: only if the item still has this unique number.
    CompareCas(u64),
    /// `E`: the unique number that the item is to have.
    NewCas(u64),
    /// `f`: return the client's own number.
    ReturnFlags,
    /// `F`: the client's own number to store.
    Flags(u32),
    /// `h`: return whether the item was read before.
    ReturnHitBefore,
    /// `I`: mark the item stale (`md`), or store even if the unique number is older (`ms`).
    Invalidate,
    /// `J`: the initial value of a counter that `N` creates.
    InitialValue(u64),
    /// `k`: return the key.
    ReturnKey,
    /// `l`: return the seconds since the last access.
    ReturnLastAccess,
    /// `N`: create a missing item with this time to live. Units: seconds.
    Vivify(i32),
    /// `O`: a token that the reply repeats. Bounds: 31 bytes without blanks.
    Opaque(&'k [u8]),
    /// `q`: no reply in the ordinary case: a miss of `mg`, success of the others.
    Quiet,
    /// `R`: the first client that reads it with less than this to live is elected to store it again. Units: seconds.
    Recache(i32),
    /// `s`: return the length of the value.
    ReturnSize,
    /// `t`: return the seconds left to live, −1 forever.
    ReturnTtl,
    /// `T`: set the time to live. Units: seconds, as in [`set`](crate::client::set).
    Ttl(i32),
    /// `u`: do not count this as an access.
    NoBump,
    /// `v`: return the value.
    ReturnValue,
    /// `x`: remove the value, but keep the item.
    RemoveValue,
    /// `D`: the step of a counter; 1 if absent.
    Delta(u64),
    /// `M`: in which way to store or to count.
    Mode(MetaMode),
}

/// The values of the mode flag `M` of `ms` and `ma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaMode {
    /// `ms`: only if the key has no item.
    Add,
    /// `ms`: append to the item's value.
    Append,
    /// `ms`: before the item's value.
    Prepend,
    /// `ms`: only over an item.
    Replace,
    /// `ms`: always; the default of `ms`.
    Set,
    /// `ma`: upwards; the default of `ma`.
    Increment,
    /// `ma`: downwards, not below 0.
    Decrement,
}

impl MetaFlag<'_> {
    /// Appends a blank, the letter and its token.
    #[inline]
    pub(crate) fn append(self, out: &mut Vec<u8>) {
        use MetaFlag as F;
        let number = |out: &mut Vec<u8>, letter: u8, number: u64| {
            out.extend_from_slice(&[b' ', letter]);
            append_u64(out, number);
        };
        let seconds = |out: &mut Vec<u8>, letter: u8, seconds: i32| {
            out.extend_from_slice(&[b' ', letter]);
            append_i64(out, i64::from(seconds));
        };
        let plain = match self {
            F::CompareCas(unique) => return number(out, b'C', unique),
            F::NewCas(unique) => return number(out, b'E', unique),
            F::Flags(flags) => return number(out, b'F', u64::from(flags)),
            F::InitialValue(value) => return number(out, b'J', value),
            F::Delta(delta) => return number(out, b'D', delta),
            F::Vivify(time) => return seconds(out, b'N', time),
            F::Recache(time) => return seconds(out, b'R', time),
            F::Ttl(time) => return seconds(out, b'T', time),
            F::Opaque(token) => {
                out.extend_from_slice(b" O");
                return out.extend_from_slice(token);
            }
            F::Mode(mode) => return out.extend_from_slice(&[b' ', b'M', mode.letter()]),
            F::Base64Key => b'b',
            F::ReturnCas => b'c',
            F::ReturnFlags => b'f',
            F::ReturnHitBefore => b'h',
            F::Invalidate => b'I',
            F::ReturnKey => b'k',
            F::ReturnLastAccess => b'l',
            F::Quiet => b'q',
            F::ReturnSize => b's',
            F::ReturnTtl => b't',
            F::NoBump => b'u',
            F::ReturnValue => b'v',
            F::RemoveValue => b'x',
        };
        out.extend_from_slice(&[b' ', plain]);
    }
}

impl MetaMode {
    fn letter(self) -> u8 {
        match self {
            MetaMode::Add => b'E',
            MetaMode::Append => b'A',
            MetaMode::Prepend => b'P',
            MetaMode::Replace => b'R',
            MetaMode::Set => b'S',
            MetaMode::Increment => b'I',
            MetaMode::Decrement => b'D',
        }
    }
}
