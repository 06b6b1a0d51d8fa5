//! `taillight completions` and `taillight man`: what shells and `man` know about both programs, from the same
//! definitions as `--help`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Command, CommandFactory, ValueEnum};
use clap_complete::Shell;

use crate::Cli;
use crate::terminal::say;

/// Print the completions of a shell, for its folder of completions.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
    /// The program to complete.
    #[arg(default_value = "taillight")]
    program: Program,
}

/// Write the manual pages: of taillight, each of its commands, and sphinxd.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The folder, which is made if it is missing, such as ~/.local/share/man/man1.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Program {
    Taillight,
    Sphinxd,
}

impl Program {
    /// Its command line, under its own name and version: the same for every build of a version.
    fn command(self) -> Command {
        let command = match self {
            Program::Taillight => Cli::command(),
            Program::Sphinxd => sphinx::CommandLine::command().display_name("sphinxd").before_help(None),
        };
        command.version(env!("CARGO_PKG_VERSION"))
    }
}

pub(crate) fn print_completions(args: &CompletionsArgs) -> Result<()> {
    let mut command = args.program.command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    say(&String::from_utf8(script)?)
}

pub(crate) fn write_pages(args: &ManArgs) -> Result<()> {
    let write = |folder: &Path| {
        fs::create_dir_all(folder)?;
        clap_mangen::generate_to(Program::Taillight.command(), folder)?;
        clap_mangen::generate_to(Program::Sphinxd.command(), folder)
    };
    write(&args.folder).with_context(|| format!("cannot write pages to {}", args.folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_and_the_cache_have_a_page_without_the_build_in_it() {
        let folder = tempfile::tempdir().unwrap();
        write_pages(&ManArgs { folder: folder.path().join("man1") }).unwrap();
        let page =
            |name: &str| fs::read_to_string(folder.path().join("man1").join(format!("{name}.1"))).unwrap();
        for command in Cli::command().get_subcommands() {
            assert!(page(&format!("taillight-{}", command.get_name())).contains(".SH OPTIONS"));
        }
        let cache = page("sphinxd");
        assert!(cache.contains("\\fB\\-m\\fR") && cache.contains(".TH sphinxd 1"), "{cache}");
        assert!([cache, page("taillight")].iter().all(|page| !page.contains(env!("BUILT_FROM"))));
        let file = folder.path().join("man1/taillight.1");
        let error = write_pages(&ManArgs { folder: file.clone() }).unwrap_err();
        assert!(format!("{error:#}").contains(&file.display().to_string()), "{error:#}");
    }

    #[test]
    fn completions_know_commands_and_flags() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = |program: Program| {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut program.command(), "x", &mut script);
                String::from_utf8(script).unwrap()
            };
            assert!(script(Program::Taillight).contains("data-set"), "{shell}");
            assert!(script(Program::Sphinxd).contains("memory-limit"), "{shell}");
        }
    }
}
