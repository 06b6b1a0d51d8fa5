//! `taillight app pods`: one pod with all services, for podman.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use app::{Deployment, Layout, POD, SECRET_FILE};
use clap::Args;

use super::{Which, out, write};
use crate::terminal::say;

/// Write a pod with all services, for `podman play kube`, and a secret next to it, unless one exists.
#[derive(Args, Debug)]
pub(super) struct PodsArgs {
    #[command(flatten)]
    which: Which,
    /// The folder for the files [default: NAME-pods].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// The port of the entrance on loopback; 0: no port, for networks without a bridge (--network none, ns:PATH).
    #[arg(long, default_value_t = 8080, value_name = "PORT")]
    port: u16,
    /// The folder of files that a web server serves.
    #[arg(long, value_name = "FOLDER")]
    files: Option<PathBuf>,
}

pub(super) fn run(args: &PodsArgs) -> Result<()> {
    let mut plan = args.which.plan()?;
    if let Some(files) = &args.files {
        let found = files.canonicalize().with_context(|| format!("--files {}", files.display()))?;
        if !found.is_dir() {
            bail!("--files {}: it is no folder", files.display());
        }
        plan.files = Some(found);
    }
    let name = plan.app().name.clone();
    let deployment = Deployment::new(plan, Layout::Together)?;
    let folder = out(args.out.as_ref(), &format!("{name}-pods"))?;
    write(&folder, &deployment.podman(args.port)?, false)?;
    // An existing secret may be in use.
    if !folder.join(SECRET_FILE).exists() {
        write(&folder, &deployment.new_secret()?, true)?;
    }
    let (pod, secret) = (folder.join(POD), folder.join(SECRET_FILE));
    let (pod, secret) = (pod.display(), secret.display());
    say(&format!(
        "{pod}: {name} as one pod; its images are made by `taillight app images {name}`\n\
         start: podman play kube --configmap {secret} {pod}\n\
         stop:  podman play kube --down {pod}; podman volume rm {name}-config\n",
    ))?;
    if args.port != 0 {
        say(&format!("entrance: 127.0.0.1:{}\n", args.port))?;
    }
    Ok(())
}
