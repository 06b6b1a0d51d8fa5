//! Texts that users write: sentences of common words, of drawn lengths.

use std::sync::LazyLock;

use dist::Rng;

use crate::people::graph::{below, unit};

/// The most words of a text: of the longest words it stays below the 2000 characters that a site takes.
const MOST: usize = 150;

/// 128 of them. Source: ours, common words of at most ten letters.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "a about after again all almost always an and another any around as at away back beautiful because \
     been before best better bike book bread bring but by cake call can cat city coffee cold come could \
     dance day dinner dog done early evening ever every family film find first for forest friend from \
     game garden good great happy have here hike home hope house how in is it just kitchen lake last late \
     learn like little long look love lunch made maybe meet moon morning mountain music my never new next \
     night nothing now of old on our over park photo picture play rain read really river see should sing \
     snow some song soon story summer sun tea that the this today train walk was we winter"
        .split(' ')
        .collect()
});

/// Appends a text of at least `least` words, whose number is geometric with `mean` more.
pub(crate) fn append(rng: &mut Rng, least: usize, mean: f64, text: &mut String) {
    // The quantile of an exponential distribution, rounded down, is geometric.
    let more = (-(1.0 - unit(rng)).ln() * mean) as usize;
    let words = (least + more).min(MOST);
    let mut begins = true;
    for place in 0..words {
        let word = WORDS[below(rng, WORDS.len())];
        if begins {
            text.push(word.as_bytes()[0].to_ascii_uppercase().into());
            text.push_str(&word[1..]);
        } else {
            text.push_str(word);
        }
        // A sentence has eight words on average.
        begins = below(rng, 8) == 0;
        text.push_str(match (place + 1 == words, begins) {
            (true, _) => ".",
            (false, true) => ". ",
            (false, false) => " ",
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dist::{Purpose, Streams};

    #[test]
    fn a_text_is_sentences_of_at_most_2000_characters() {
        let mut rng = Streams::new(1).stream(Purpose::Other(0), 0);
        let (mut words, n) = (0, 20_000);
        for _ in 0..n {
            let mut text = String::new();
            append(&mut rng, 4, 8.0, &mut text);
            assert!(text.ends_with('.') && text.len() <= 2000, "{text}");
            assert!(text.starts_with(|c: char| c.is_ascii_uppercase()), "{text}");
            assert!(text.bytes().all(|byte| byte.is_ascii_alphabetic() || b" .".contains(&byte)), "{text}");
            words += text.split(' ').count();
        }
        // Rounded down, the mean of 8 is 1 / (e^(1/8) − 1) = 7.51; its standard deviation is 8, so five of them are 0.28.
        let mean = words as f64 / f64::from(n);
        assert!((mean - 11.51).abs() < 0.28, "{mean}");
        assert_eq!(WORDS.len(), 128);
        let longest = WORDS.iter().map(|word| word.len()).max().unwrap();
        assert!(MOST * (longest + 2) <= 2000);
    }
}
