//! Servers in containers of podman and docker, whose command lines are alike.
//!
//! podman runs the small root folder (see `image_root`) as it is; for docker an image is made of it and removed at the end.
//! podman gets a storage and a configuration of its own in the work folder unless an image of the user's is asked for,
//! so that nothing of the user's is touched; docker has one storage only, in its daemon. `podman run` and `docker run` stay in the foreground
//! as a child: they hand on SIGTERM, and the server's output.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::guardian::{self, line};
use crate::tool::{lacking, run, run_within};
use crate::{Error, Form, Spec, find_program};

/// Label of our containers and images.
const LABEL: &str = "taillight";
/// podman's settings. It takes runc where that is there, since crun 1.8 fails where both versions of control groups
/// are mounted; cgroupfs and a file for events do without systemd, and locks in files without memory that it shares with
/// the user's podman. Its own default for open files is over what root
/// may have in many a container.
const PODMAN_LIMITS: &str = "[containers]\ndefault_ulimits = [\"nofile=16384:16384\", \"nproc=32768:32768\"]\n\n\
                             [engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nlock_type = \"file\"\n";

/// podman or docker, and how it is called.
#[derive(Clone)]
pub(crate) struct Engine {
    form: Form,
    program: PathBuf,
    /// Words before the command.
    before: Vec<String>,
    env: Vec<(String, String)>,
}

/// How long an image may take to come: 2 GB at 20 Mbit/s.
const PULL_WAIT: Duration = Duration::from_secs(15 * 60);
/// The variable that names podman's configuration, in place of the user's.
const CONFIGURATION: &str = "CONTAINERS_CONF";

/// A container to be.
pub(crate) struct Container<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its file system: an image, or a folder (podman only).
    pub from: From<'a>,
    /// Its network namespace; `None` gives it one with nothing in it.
    pub space: Option<&'a Path>,
}

pub(crate) enum From<'a> {
    Image(&'a str),
    Folder(&'a Path),
}

impl Engine {
    /// The engine of `form`. It keeps its data under `folder`, or in the user's own storage if `users`.
    ///
    /// Errors: the engine is not installed.
    pub(crate) fn find(form: Form, folder: &Path, users: bool) -> Result<Engine, Error> {
        let package = if form == Form::Docker { "docker.io" } else { "podman" };
        let program = find_program(form.name()).ok_or_else(|| lacking(form.name(), form.name(), package))?;
        let mut engine = Engine { form, program, before: Vec::new(), env: Vec::new() };
        if form == Form::Podman {
            let at = |name: &str| folder.join(name).display().to_string();
            engine.env.push((CONFIGURATION.into(), at("containers.conf")));
            if !users {
                engine.before = vec!["--root".into(), at("storage"), "--runroot".into(), at("run")];
                engine.before.extend(["--tmpdir".into(), at("tmp")]);
                engine.before.extend(["--runtime-flag".into(), format!("root={}", at("runtime"))]);
            }
        }
        Ok(engine)
    }

    /// Writes its configuration to its folder and checks that docker's daemon answers.
    pub(crate) fn set_up(&self) -> Result<(), Error> {
        if self.form == Form::Docker {
            return self.call(&["version", "--format", "{{.Server.Version}}"]).map(drop).map_err(|error| {
                let why = format!("its daemon does not answer ({error})");
                Error::NoForm {
                    form: self.form,
                    why,
                    remedy: "start dockerd, set DOCKER_HOST, or use --form podman",
                }
            });
        }
        let runtime = if find_program("runc").is_some() { "runtime = \"runc\"\n" } else { "" };
        let text = format!("{PODMAN_LIMITS}{runtime}");
        let written = self.env.iter().try_for_each(|(_, file)| fs::write(file, &text));
        written.map_err(Error::os(self.form, "cannot write its configuration"))
    }

    fn spec(&self, words: &[&str]) -> Spec {
        let mut spec = Spec::new(format!("{} {}", self.form, words.first().unwrap_or(&"")), &self.program);
        spec.env = self.env.clone();
        spec.args(self.before.iter().cloned()).args(words.iter().copied())
    }

    fn call(&self, words: &[&str]) -> Result<String, Error> {
        run(self.spec(words), self.form.name())
    }

    /// Version line printed by the engine.
    pub(crate) fn version(&self) -> Result<String, Error> {
        let said = self.call(&["--version"])?;
        Ok(said.trim().trim_start_matches("Docker version ").trim_start_matches("podman version ").into())
    }

    /// Whether it can run a plain folder. Importing an image makes podman leave a file in `/var/lib/containers`,
    /// regardless of its storage.
    pub(crate) fn runs_folders(&self) -> bool {
        self.form == Form::Podman
    }

    /// Makes the image `name` of the folder `root`; `archive` is a file for on the way.
    pub(crate) fn import(&self, root: &Path, archive: &Path, name: &str) -> Result<(), Error> {
        let (root, archive) = (root.display().to_string(), archive.display().to_string());
        run(Spec::new("tar", "tar").args(["-C", &root, "-cf", &archive, "."]), "tar")?;
        self.call(&["import", &archive, name]).map(drop)
    }

    pub(crate) fn image_id(&self, image: &str) -> Result<String, Error> {
        Ok(self.call(&["image", "inspect", "--format", "{{.Id}}", image])?.trim().into())
    }

    /// `spec` in a container: the same program with the same arguments, on the same processors and as the same user.
    pub(crate) fn wrap(&self, spec: &Spec, container: &Container<'_>) -> Spec {
        let network = match container.space {
            Some(space) => format!("ns:{}", space.display()),
            None => "none".into(),
        };
        let mut words: Vec<String> =
            ["run", "--rm", "--read-only", "--log-driver", "none"].map(Into::into).into();
        words.extend(["--name".into(), container.name.into(), "--label".into(), LABEL.into()]);
        words.extend(["--network".into(), network]);
        words.extend(spec.cpu_list().into_iter().flat_map(|cpus| ["--cpuset-cpus".into(), cpus]));
        if let Some(user) = &spec.user {
            words.extend(["--user".into(), format!("{}:{}", user.uid, user.gid)]);
        }
        for (name, value) in &spec.env {
            words.extend(["--env".into(), format!("{name}={value}")]);
        }
        for mount in &spec.mounts {
            let (folder, access) = (mount.folder.display(), if mount.writable { "rw" } else { "ro" });
            words.extend(["--volume".into(), format!("{folder}:{folder}:{access}")]);
        }
        if self.form == Form::Podman {
            // A container being removed may still exist when the same place starts again.
            words.push("--replace".into());
            // A control group of its own: the one that podman would make for all containers remains afterwards.
            let parent = container.name.split('-').next().unwrap_or_default();
            words.push(format!("--cgroup-parent=/{parent}"));
        }
        match container.from {
            From::Image(image) => words.push(image.into()),
            From::Folder(folder) => words.extend(["--rootfs".into(), folder.display().to_string()]),
        }
        words.extend(spec.command_line());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut start = self.spec(&words);
        start.name = spec.name.clone();
        start.stop = spec.stop;
        start
    }

    /// Removes a container in any state.
    pub(crate) fn remove(&self, container: &str) {
        // One that is gone already is as well.
        let _ = self.call(&["rm", "-f", container]);
    }

    /// Fetches an image of a user's. Errors: it is not available, with the engine's last words.
    pub(crate) fn pull(&self, image: &str) -> Result<(), Error> {
        run_within(self.spec(&["pull", "--quiet", image]), self.form.name(), PULL_WAIT).map(drop)
    }

    /// The first process of a container, as this machine counts; `None` while there is none.
    pub(crate) fn pid(&self, container: &str) -> Option<u32> {
        let said = self.call(&["inspect", "--format", "{{.State.Pid}}", container]).ok()?;
        said.trim().parse().ok().filter(|pid| *pid != 0)
    }

    pub(crate) fn id(&self, container: &str) -> Result<String, Error> {
        Ok(self.call(&["inspect", "--format", "{{.Id}}", container])?.trim().into())
    }

    /// The names of its containers and images, of all users.
    pub(crate) fn names(&self) -> Vec<String> {
        let containers = self.call(&["ps", "-a", "--format", "{{.Names}}"]).unwrap_or_default();
        let images = self.call(&["images", "--format", "{{.Repository}}"]).unwrap_or_default();
        let last = |line: &str| line.rsplit('/').next().unwrap_or(line).to_owned();
        containers.lines().chain(images.lines()).map(last).collect()
    }

    /// The script that removes the containers and images whose names begin with `name`.
    pub(crate) fn undo(&self, name: &str) -> String {
        let call = |words: &[&str]| {
            let env = self.env.iter().map(|(name, value)| format!("{name}={value}"));
            let program = self.program.display().to_string();
            let all: Vec<String> = std::iter::once("env".to_owned())
                .chain(env)
                .chain([program])
                .chain(self.before.iter().cloned())
                .chain(words.iter().map(|word| (*word).to_owned()))
                .collect();
            line(&all)
        };
        let names = format!("name={name}");
        // A `*` matches no `/`, and an image of ours is called `localhost/NAME`.
        let images = format!("reference=*/{name}*");
        format!(
            "{list} | while read -r one; do {remove} \"$one\"; done\n\
             {images} | while read -r one; do {unmake} \"$one\"; done\n{groups}",
            list = call(&["ps", "-a", "-q", "--filter", &names]),
            remove = call(&["rm", "-f"]),
            images = call(&["images", "-q", "--filter", &images]),
            unmake = call(&["rmi", "-f"]),
            groups = guardian::groups(&format!("*/{name}*")),
        )
    }
}
