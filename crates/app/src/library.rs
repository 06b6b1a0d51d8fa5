//! Where applications come from: compiled in from `apps/`, or a folder of the user's.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use crate::files::{Files, inflated};
use crate::unpack::listed;
use crate::{App, Error, check, like};

include!(concat!(env!("OUT_DIR"), "/apps.rs"));

const DESCRIPTION: &str = "app.toml";

/// The names of the applications that are compiled in.
pub fn names() -> impl Iterator<Item = &'static str> {
    APPS.iter().map(|(name, _)| *name)
}

/// The application `name` that is compiled in.
///
/// Errors: there is none, with those that there are.
pub fn of_name(name: &str) -> Result<App, Error> {
    let file = format!("apps/{name}/{DESCRIPTION}");
    whole(&file, name, compiled(name)?, compiled)
}

/// The application that `folder` describes.
///
/// Errors: it has no `app.toml`, or that is wrong.
pub fn of_folder(folder: &Path) -> Result<App, Error> {
    let file = folder.join(DESCRIPTION);
    let found = read(folder)?;
    let folder = found.1.folder.clone().unwrap_or_default();
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    whole(&file.display().to_string(), &name, found, |base| read(&folder.with_file_name(base)))
}

type DescriptionFiles = (String, Files);

/// The complete application of a description, including the keys of its base application, whose description `beside`
/// reads.
fn whole(
    file: &str,
    name: &str,
    (mut text, mut files): DescriptionFiles,
    beside: impl Fn(&str) -> Result<DescriptionFiles, Error>,
) -> Result<App, Error> {
    let Some(base) = like::name(&text) else { return check::read(file, name, &text, files) };
    let problem = |problem| Error::Description { file: format!("{file}, with what '{base}' says"), problem };
    let (of_base, mut all) = beside(&base)?;
    text = like::joined(&text, &of_base).map_err(problem)?;
    all.templates.append(&mut files.templates);
    files = all;
    check::read(&format!("{file}, with what '{base}' says"), name, &text, files)
}

fn compiled(name: &str) -> Result<DescriptionFiles, Error> {
    let Some((_, files)) = APPS.iter().find(|(found, _)| *found == name) else {
        let near = check::nearest(name, names());
        return Err(Error::Unknown {
            name: name.into(),
            known: names().collect::<Vec<_>>().join(", "),
            near: near.map_or_else(String::new, |near| format!("; did you mean '{near}'?")),
        });
    };
    let file = format!("apps/{name}/{DESCRIPTION}");
    let text = |(name, bytes): &(&str, &'static [u8])| {
        String::from_utf8(inflated(bytes))
            .map(|text| ((*name).to_owned(), text))
            .map_err(|e| Error::Description { file: file.clone(), problem: format!("{name}: {e}") })
    };
    let is_text = |name: &str| name == DESCRIPTION || name.ends_with(".j2");
    let texts = files.iter().filter(|(name, _)| is_text(name)).map(text);
    let mut templates = texts.collect::<Result<BTreeMap<_, _>, _>>()?;
    let description = templates.remove(DESCRIPTION).unwrap_or_default();
    Ok((description, Files { templates, compiled: files, folder: None }))
}

fn read(folder: &Path) -> Result<DescriptionFiles, Error> {
    let file = folder.join(DESCRIPTION);
    let error = |problem: String| Error::Description { file: file.display().to_string(), problem };
    let folder = fs::canonicalize(folder)
        .map_err(|e| error(format!("{e}; name a folder that holds an {DESCRIPTION}")))?;
    let text = fs::read_to_string(folder.join(DESCRIPTION))
        .map_err(|e| error(format!("{e}; the folder of an application holds an {DESCRIPTION}")))?;
    let templates = templates(&folder).map_err(|e| error(format!("its templates: {e}")))?;
    Ok((text, Files { templates, compiled: &[], folder: Some(folder) }))
}

fn templates(folder: &Path) -> io::Result<BTreeMap<String, String>> {
    let names = listed(folder)?.into_iter().filter(|name| name.ends_with(".j2"));
    names.map(|name| fs::read_to_string(folder.join(&name)).map(|text| (name, text))).collect()
}
