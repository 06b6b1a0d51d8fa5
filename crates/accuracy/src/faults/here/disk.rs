//! A disk that is full before the trial is written.

use anyhow::{Result, bail};
use launch::{Process, Spec, find_program};
use rustix::process::geteuid;

use super::{Bench, PATIENCE, Processors, taillight, too_few};
use crate::faults::chance::Chance;
use crate::faults::fault::{Fault, Judged, Outcome};
use crate::faults::right::{DoseResult, Right};

pub(crate) const FAULTS: &[Fault] = &[Fault {
    name: "disk-full",
    planted: "the trial is written to a file system that is too small for it",
    doses: "4 to 24 KiB",
    right: "an error that says so, and no verdict",
    truth: "no figures: the size is known",
    plant: full,
}];

/// Unit of allocation of a file system in memory. Units: KiB.
const PAGE_KIB: u64 = 4;

fn full(chance: &mut Chance) -> Result<Outcome> {
    let Some(processors) = Processors::two()? else { return Ok(too_few()) };
    if find_program("unshare").is_none() || !Process::spawn(apart(&["true"]))?.wait(PATIENCE)?.success() {
        return Ok(Outcome::Skipped("a mount of its own takes root, or user namespaces (unshare)".into()));
    }
    let bench = Bench::start(chance, processors)?;
    let size = PAGE_KIB * chance.count(1, 6);
    let folder = bench.folder.path().display().to_string();
    let load = taillight(&bench.load(&bench.file().display().to_string()))?.command_line();
    // Only this process and its children see the mount, which ends with them.
    let script = format!("mount -t tmpfs -o size={size}k none \"$0\" && exec \"$@\"");
    let words =
        ["sh", "-c", script.as_str(), folder.as_str()].into_iter().chain(load.iter().map(String::as_str));
    let mut generator = Process::spawn(apart(&words.collect::<Vec<_>>()))?;
    let status = generator.wait(PATIENCE)?;
    let said = generator.stderr_tail().join(" / ");
    let given = match status.success() {
        true => DoseResult::Verdict(results::Verdict::Valid),
        false if said.contains("No space left") => DoseResult::Refused(said),
        false => bail!("it failed for another reason, {status}: {said}"),
    };
    bench.server.stop()?;
    let dose = format!("{size} KiB");
    Ok(Judged { dose, right: Right::Refused, given, truth: None, measured: None }.into())
}

/// A command in its own mount namespace.
fn apart(words: &[&str]) -> Spec {
    let user: &[&str] = if geteuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
    Spec::new("unshare", "unshare").arg("--mount").args(user.iter().copied()).args(words.iter().copied())
}
