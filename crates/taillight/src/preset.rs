//! Presets: words of the command line that stand for others.

use dist::{Parameter, Preset};

/// `argv` with the options of the preset that it names, but for those that it has itself.
///
/// A preset that is not known stays as it is: whoever reads the command line says so.
pub(crate) fn expanded(argv: Vec<String>) -> Vec<String> {
    let Some((at, name)) = find(&argv) else { return argv };
    let Ok(preset) = name.parse::<Preset>() else { return argv };
    let options: Vec<String> =
        taken(&preset, &argv).flat_map(|p| [p.option.to_owned(), p.value.to_owned()]).collect();
    let mut words = argv;
    words.splice(at..at, options);
    words
}

/// The options of a preset that are not typed in `argv`.
pub(crate) fn taken(preset: &Preset, argv: &[String]) -> impl Iterator<Item = &'static Parameter> {
    let is_typed = |option: &str| {
        argv.iter()
            .any(|word| word == option || word.strip_prefix(option).is_some_and(|w| w.starts_with('=')))
    };
    preset.parameters.iter().filter(move |parameter| !is_typed(parameter.option))
}

/// Where the options of the preset belong, and its name.
fn find(argv: &[String]) -> Option<(usize, String)> {
    argv.iter().enumerate().find_map(|(i, word)| match word.strip_prefix("--preset") {
        Some("") => argv.get(i + 1).map(|name| (i + 2, name.clone())),
        Some(rest) => rest.strip_prefix('=').map(|name| (i + 1, name.to_owned())),
        None => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_stands_for_its_options_and_the_typed_ones_count_more() {
        let expand = |line: &str| expanded(line.split(' ').map(str::to_owned).collect()).join(" ");
        let whole = expand("load cache --preset ycsb-b --rate 1k");
        assert!(whole.contains("--mix get:95,set:5") && whole.contains("--popularity zipf:0.99"), "{whole}");
        assert!(whole.ends_with("--rate 1k"), "{whole}");
        let part = expand("load cache --mix=get:100 --preset=ycsb-b --keys 5");
        assert!(!part.contains("get:95") && part.matches("--keys").count() == 1, "{part}");
        for same in ["load cache --rate 1k", "load cache --preset", "load cache --preset no-such"] {
            assert_eq!(expand(same), same);
        }
    }
}
