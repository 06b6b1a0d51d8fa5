//! `taillight app images`: the container images of an application, from this machine's own programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use app::{Deployment, ImageFolder, Layout};
use clap::Args;
use launch::Interrupt;
use units::Bytes;

use super::{Which, out};
use crate::shown::or_interrupted;
use crate::terminal::{say, tell};

/// Make the container images of an application from programs of this machine, without a base image.
#[derive(Args, Debug)]
pub(super) struct ImagesArgs {
    #[command(flatten)]
    which: Which,
    /// A folder of programs that were built before, in place of those of `taillight movies build`; it holds bin. May be given more
    /// than once.
    #[arg(long, value_name = "FOLDER")]
    built: Vec<PathBuf>,
    /// The folder of a data set that was made before, in place of making one.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// The folder for the contents of the images, one folder with a Containerfile for each [default: a temporary one].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// The program that builds them: podman, docker, or another that takes the same arguments.
    #[arg(long, default_value = "podman", value_name = "PROGRAM")]
    builder: String,
    /// Only write the folders.
    #[arg(long, requires = "out")]
    no_build: bool,
    /// Only these images, by the names that are printed without it: plot, java. May be given more than once.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

pub(super) fn run(args: &ImagesArgs) -> Result<()> {
    let interrupt = Interrupt::on_signals()?;
    let mut plan = args.which.plan()?;
    if !args.built.is_empty() {
        plan.built.clone_from(&args.built);
    }
    plan.data.clone_from(&args.data);
    let name = plan.app().name.clone();
    // Both layouts run from the same images.
    let deployment = Deployment::new(plan, Layout::Together)?;
    let temporary = tempfile::tempdir()?;
    let folder = match &args.out {
        Some(_) => out(args.out.as_ref(), &name)?,
        None => temporary.path().to_owned(),
    };
    let mut last = String::new();
    let mut goes_on = |what: &str| {
        if last != what {
            tell(&format!("{name}: {what}"));
            what.clone_into(&mut last);
        }
        interrupt.cause().is_none()
    };
    let written = deployment.write_images(&folder, &args.only, &mut goes_on);
    for image in &or_interrupted(written, &interrupt)? {
        if args.no_build {
            say(&format!("{}: {}\n", image.name, image.folder.display()))?;
            continue;
        }
        interrupt.check()?;
        built(&args.builder, image)?;
        say(&format!("{}: {}\n", image.name, size(&args.builder, &image.name)?))?;
    }
    Ok(())
}

/// Builds one image; prints the builder's output if it fails.
fn built(builder: &str, image: &ImageFolder) -> Result<()> {
    let file = image.folder.join("Containerfile");
    let words = ["build", "--quiet", "--tag", image.name.as_str(), "--file"].map(Path::new);
    let output = Command::new(builder)
        .args(words)
        .args([&file, &image.folder])
        .stdin(Stdio::null())
        .output()
        .with_context(|| {
            format!("cannot start {builder}; install it (apt-get install podman), or --no-build")
        })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    bail!("{builder} cannot build {}: {}", image.name, said.trim());
}

fn size(builder: &str, name: &str) -> Result<String> {
    let output = Command::new(builder).args(["image", "inspect", "--format", "{{.Size}}", name]).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let bytes = said
        .trim()
        .parse::<u64>()
        .with_context(|| format!("{builder} says '{}' of its size", said.trim()))?;
    Ok(Bytes(bytes).to_string())
}
