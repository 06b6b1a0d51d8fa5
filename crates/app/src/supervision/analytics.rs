//! Learns the users' preferences from their reviews and rentals on a running site.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use launch::{Process, Spec};

use super::state::{Phase, State, StateFile, failed};
use crate::{App, Error, Member};

/// The member of the application, and the build that makes it.
const NAME: &str = "analytics";
/// The folder of the data set that models lie in, and what their names end with.
const FILES: &str = "files";
const ENDINGS: [&str; 2] = ["factors", "ads"];
/// The version of the models that a data set has.
const FIRST: u32 = 1;
/// The interval between two reads of its output.
const LOOK: Duration = Duration::from_millis(100);

/// A running site from which preferences can be learnt.
pub struct Learning {
    app: Arc<App>,
    state: State,
    files: PathBuf,
}

impl Learning {
    /// The name of the build that makes the program.
    pub const NAME: &str = NAME;

    /// Errors: the application has no such program, or does not run.
    pub fn on(app: &Arc<App>) -> Result<Learning, Error> {
        let app = Arc::clone(app);
        member_of(&app)?;
        let kept = StateFile::of(&app);
        let state = kept.read()?.filter(|state| kept.runs() && state.phase == Phase::Ready);
        let Some(state) = state else {
            return Err(Error::Supervision(format!(
                "{} does not run, or is not ready; start it by `taillight movies up`",
                app.name
            )));
        };
        let no_data = || Error::Supervision("the process of `up` does not say where its data set is".into());
        let files = state.data.as_ref().ok_or_else(no_data)?.join(FILES);
        Ok(Learning { app, state, files })
    }

    /// Runs `program` to its end; returns the names of the files that it wrote, and their folder. `show` receives its
    /// progress and returns whether to go on.
    ///
    /// Errors: it fails; it was stopped.
    pub fn run(
        &self,
        program: &Path,
        show: &mut dyn FnMut(&str) -> bool,
    ) -> Result<([String; 2], &Path), Error> {
        let no_folder =
            |error| Error::Supervision(format!("cannot make a folder for its configuration: {error}"));
        let folder = tempfile::tempdir().map_err(no_folder)?;
        let file = folder.path().join("service.conf");
        fs::write(&file, configuration(&self.app, member_of(&self.app)?, &self.state, &self.files)?)
            .map_err(|error| failed("write", &file, &error))?;
        let version = learnt(program, &file, show)?;
        Ok((ENDINGS.map(|ending| format!("{version:08}.{ending}")), &self.files))
    }
}

fn member_of(app: &App) -> Result<&Member, Error> {
    let member = app.members.iter().find(|member| member.name == NAME);
    member.ok_or_else(|| Error::Supervision(format!("{} has no {NAME}", app.name)))
}

/// The program's configuration, in the format of apps/movies/service.conf.j2. The program listens on no port.
fn configuration(app: &App, member: &Member, state: &State, files: &Path) -> Result<String, Error> {
    let mut text = format!(
        "service={NAME}\nid={}\ninstance=0\nlisten=127.0.0.1:1\nthreads=1\nqueue=1\nspans=\nsecret=\ndata={}\n",
        member.number,
        files.display()
    );
    for store in app.stores.iter().filter(|store| member.stores.contains(&store.name)) {
        let name = &store.name;
        let rows = state.services.iter().filter(|row| row.name == store.service);
        let shards: Vec<String> =
            rows.map(|row| format!("postgresql://{name}@{}/{name}", row.address)).collect();
        if shards.is_empty() {
            return Err(Error::Supervision(format!(
                "{}: there is no {} on this machine, whose rows it reads",
                app.name, store.service
            )));
        }
        text += &format!("store.{name}={}\n", shards.join(","));
    }
    Ok(text)
}

/// Runs it to its end; returns the version that it wrote.
fn learnt(program: &Path, file: &Path, show: &mut dyn FnMut(&str) -> bool) -> Result<u32, Error> {
    let mut process = Process::spawn(Spec::new(NAME, program).arg(file.display().to_string()))?;
    let mut version = None;
    loop {
        let line = process.next_line(LOOK);
        version = line.as_ref().and_then(|line| line.strip_prefix("wrote ")?.parse().ok()).or(version);
        if line.is_none() && process.wait(Duration::ZERO).is_ok() {
            break;
        }
        if !show(&process.stderr_tail().pop().unwrap_or_default()) {
            return Err(Error::Stopped);
        }
    }
    process.wait_success(Duration::ZERO)?;
    let unsaid = "it ended well, and does not say which version it wrote";
    version.ok_or_else(|| Error::Supervision(unsaid.into()))
}

/// Removes the models learnt from the data set `data`, except the first version, which belongs to the data set.
///
/// Errors: a file cannot be removed.
pub fn forget_learnt(data: &Path) -> Result<(), Error> {
    let folder = data.join(FILES);
    for entry in fs::read_dir(&folder).map_err(|error| failed("read", &folder, &error))? {
        let path = entry.map_err(|error| failed("read", &folder, &error))?.path();
        let is_model = path.extension().is_some_and(|end| ENDINGS.iter().any(|one| end == *one));
        let version = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u32>().ok());
        if is_model && version.is_some_and(|version| version > FIRST) {
            fs::remove_file(&path).map_err(|error| failed("remove", &path, &error))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::*;

    #[test]
    fn it_is_told_of_all_shards_of_its_stores() {
        let app = crate::of_name("movies").unwrap();
        let member = app.members.iter().find(|member| member.name == NAME).unwrap();
        let row = |name: &str, port: u16| Row {
            name: name.into(),
            address: format!("127.0.0.1:{port}"),
            ..Row::default()
        };
        let mut state = State {
            services: vec![row("movies-db", 1), row("reviews-db", 2), row("plot", 3)],
            ..State::default()
        };
        let error = configuration(&app, member, &state, Path::new("/d")).unwrap_err().to_string();
        assert!(error.contains("there is no users-db"), "{error}");
        state.services.extend([row("users-db", 4), row("users-db", 5)]);
        let text = configuration(&app, member, &state, Path::new("/d")).unwrap();
        for line in [
            "id=31",
            "data=/d",
            "store.reviews=postgresql://reviews@127.0.0.1:2/reviews",
            "store.users=postgresql://users@127.0.0.1:4/users,postgresql://users@127.0.0.1:5/users",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }

    #[test]
    fn what_was_learnt_is_forgotten_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(FILES);
        fs::create_dir(&folder).unwrap();
        let names = [
            "00000001.ads",
            "00000001.factors",
            "00000002.ads",
            "00000012.factors",
            "catalogue.tsv",
            "2.txt",
        ];
        names.iter().for_each(|name| fs::write(folder.join(name), "").unwrap());
        forget_learnt(root.path()).unwrap();
        let mut left: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|one| one.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["00000001.ads", "00000001.factors", "2.txt", "catalogue.tsv"]);
        assert!(forget_learnt(Path::new("/no/such")).is_err());
    }
}
