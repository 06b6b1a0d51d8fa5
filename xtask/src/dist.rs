//! `cargo xtask dist`: the files of a release, by one command and the same bytes each time.

mod deb;
mod files;
mod image;
mod libraries;
mod programs;
mod release;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use files::Files;
use libraries::Libraries;
use programs::{TARGETS, Target};
use release::{Program, Release};

use crate::{ROOT, command};

/// Debian packages need an address, and the project has no public one: `--maintainer` gives another.
const MAINTAINER: &str = "The Taillight developers <taillight@example.org>";

/// The options of the command.
#[derive(Debug, PartialEq)]
struct Options {
    profile: String,
    /// Names of targets; all if empty.
    targets: Vec<String>,
    /// A folder of finished programs, `TARGET/taillight` and `TARGET/sphinxd`, instead of compiling.
    programs: Option<PathBuf>,
    out: Option<PathBuf>,
    registry: String,
    url: Option<String>,
    maintainer: String,
}

impl Options {
    fn read(words: &[&str]) -> Result<Options, String> {
        let mut options = Options {
            profile: "dist".into(),
            targets: Vec::new(),
            programs: None,
            out: None,
            registry: "localhost".into(),
            url: None,
            maintainer: MAINTAINER.into(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().map(|word| (*word).to_owned()).ok_or(format!("{word} needs a value"));
            match *word {
                "--profile" => options.profile = value()?,
                "--target" => options.targets.push(value()?),
                "--programs" => options.programs = Some(value()?.into()),
                "--out" => options.out = Some(value()?.into()),
                "--registry" => options.registry = value()?,
                "--url" => options.url = Some(value()?.trim_end_matches('/').to_owned()),
                "--maintainer" => options.maintainer = value()?,
                _ => {
                    return Err(format!(
                        "cannot read 'dist {word}'; there are --profile, --target, --programs, --out, --registry, --url, \
                         --maintainer"
                    ));
                }
            }
        }
        for name in &options.targets {
            if !TARGETS.iter().any(|target| target.name == name) {
                let known = TARGETS.map(|target| target.name).join(" and ");
                return Err(format!("there are no releases for {name}; there are for {known}"));
            }
        }
        Ok(options)
    }
}

/// Runs `cargo xtask dist`: compiles the programs for each target that this machine can compile for, and writes the
/// files of a release. False if nothing can be compiled.
///
/// Errors: an unknown option, programs that cannot be read or run, a tool that fails.
pub(crate) fn run(words: &[&str]) -> Result<bool, String> {
    let options = Options::read(words)?;
    let root = fs::canonicalize(ROOT).map_err(|error| format!("{ROOT}: {error}"))?;
    let mut found = Vec::new();
    for target in TARGETS
        .iter()
        .filter(|target| options.targets.is_empty() || options.targets.iter().any(|name| name == target.name))
    {
        let folder = match &options.programs {
            Some(programs) => programs.join(target.name),
            None => target.folder(&root, &options.profile),
        };
        let reason = match options.programs {
            Some(_) => (!folder.is_dir()).then(|| format!("no folder {}", folder.display())),
            None => target.lacks(),
        };
        if let Some(reason) = reason {
            println!("dist: {}: skipped: {reason}", target.name);
        } else if options.programs.is_some() || target.compile(&root, &options.profile) {
            found.push((target, folder));
        } else {
            return Ok(false);
        }
    }
    let release = read_release(&root, &options, &found)?;
    let out = options.out.unwrap_or_else(|| root.join("target/packages").join(&release.version));
    let files = release.files()?;
    let write = || {
        fs::create_dir_all(&out)?;
        files.iter().try_for_each(|(name, contents)| fs::write(out.join(name), contents))
    };
    write().map_err(|error: std::io::Error| format!("{}: {error}", out.display()))?;
    for (name, contents) in &files {
        println!("{:9.2} MB  {name}", contents.len() as f64 / 1e6);
    }
    if release.url.is_none() {
        println!("dist: the formula of Homebrew: skipped: --url says where the archives are downloaded from");
    }
    println!("in {}", out.display());
    Ok(true)
}

/// Collects the inputs of the files.
fn read_release(root: &Path, options: &Options, found: &[(&Target, PathBuf)]) -> Result<Release, String> {
    let read = |name: &str| fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"));
    let runs_here = found.iter().find(|(target, _)| target.architecture == std::env::consts::ARCH);
    let Some((_, runs_here)) = runs_here else {
        return Err(format!(
            "no programs for {}, which this machine could run: taillight itself writes its manual pages",
            std::env::consts::ARCH
        ));
    };
    let targets: Vec<&str> = found.iter().map(|(target, _)| target.name).collect();
    let libraries = Libraries::read(root, &targets)?;
    let programs: Result<Vec<Program>, String> =
        found.iter().map(|(target, folder)| target.read(folder)).collect();
    let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => output(root, "git", &["log", "-1", "--format=%ct"])?,
    };
    let epoch: u64 = epoch.parse().map_err(|_| format!("SOURCE_DATE_EPOCH is '{epoch}'; write seconds"))?;
    let time = |format: &str| output(root, "date", &["-u", "-d", &format!("@{epoch}"), format]);
    let (version, timestamp) = (env!("CARGO_PKG_VERSION").to_owned(), time("+%Y-%m-%dT%H:%M:%SZ")?);
    Ok(Release {
        commit: output(root, "git", &["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])?,
        epoch,
        date: time("-R")?,
        maintainer: options.maintainer.clone(),
        registry: options.registry.clone(),
        url: options.url.clone(),
        license: read("LICENSE")?,
        changelog: read("CHANGELOG.md")?,
        readme: read("README.md")?,
        third_party: libraries.licenses()?,
        bill: libraries.bill(&version, &timestamp),
        shared: shared(runs_here)?,
        chart: folder_of(&root.join("deploy/kubernetes/taillight"))?,
        programs: programs?,
        version,
        timestamp,
    })
}

/// Manual pages and completions of both programs, as `taillight` in the folder writes them.
fn shared(programs: &Path) -> Result<Files, String> {
    let program = programs.join("taillight");
    let program = fs::canonicalize(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    let program = program.to_str().ok_or("the path of the programs is not text")?;
    let pages = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    output(pages.path(), program, &["man", "."])?;
    let mut files = Files::default();
    for (path, contents) in folder_of(pages.path())?.iter() {
        files.add(&format!("share/man/man1/{path}"), contents);
    }
    for name in ["taillight", "sphinxd"] {
        for (shell, path) in [
            ("bash", format!("share/bash-completion/completions/{name}")),
            ("zsh", format!("share/zsh/site-functions/_{name}")),
            ("fish", format!("share/fish/vendor_completions.d/{name}.fish")),
        ] {
            files.add(&path, output(pages.path(), program, &["completions", shell, name])? + "\n");
        }
    }
    Ok(files)
}

/// All files below a folder.
fn folder_of(folder: &Path) -> Result<Files, String> {
    let mut files = Files::default();
    let mut left = vec![folder.to_owned()];
    while let Some(at) = left.pop() {
        let fail = |error: std::io::Error| format!("{}: {error}", at.display());
        for entry in fs::read_dir(&at).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            files.add(&name, fs::read(&path).map_err(fail)?);
        }
    }
    Ok(files)
}

/// The output of a program, without the end of its last line.
fn output(folder: &Path, program: &str, words: &[&str]) -> Result<String, String> {
    command::output(Command::new(program).args(words).env("LC_ALL", "C").current_dir(folder))
}
