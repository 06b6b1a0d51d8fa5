//! `taillight app chart`: a chart for Kubernetes.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result, bail};
use app::Layout;
use clap::Args;

use super::{Which, out, write};
use crate::terminal::say;

/// Write a Helm chart: each instance a pod of its own, reached by those that call it.
#[derive(Args, Debug)]
pub(super) struct ChartArgs {
    #[command(flatten)]
    which: Which,
    /// The folder for the chart [default: NAME-chart].
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &ChartArgs) -> Result<()> {
    let deployment = args.which.deployment(Layout::Apart)?;
    let name = &deployment.plan().app().name;
    let folder = out(args.out.as_ref(), &format!("{name}-chart"))?;
    let files = deployment.chart()?;
    remove(&folder)?;
    write(&folder, &files, false)?;
    let folder = folder.display();
    say(&format!(
        "{folder}: a chart of {name}; its images are made by `taillight app images {name}`\n\
         start: helm install {name} {folder}\n\
         stop:  helm uninstall {name}\n"
    ))
}

/// Removes the parts of an earlier chart, because another description has other pods.
///
/// Errors: the folder is not a chart written by this program.
fn remove(folder: &Path) -> Result<()> {
    let about = folder.join("Chart.yaml");
    match fs::read_to_string(&about) {
        Ok(text) if text.starts_with("# Written by taillight") => {}
        Ok(_) => bail!("{}: it holds a chart of another's; name another folder by --out", folder.display()),
        Err(_) => return Ok(()),
    }
    for part in ["files", "templates"] {
        let part = folder.join(part);
        match fs::remove_dir_all(&part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove {}", part.display()));
            }
            _ => {}
        }
    }
    Ok(())
}
