//! `schedscope man`: manual pages, made of what the command line says about itself.

use std::fs;
use std::io::Write as _;

use anyhow::{Context as _, bail};
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use super::args::{Cli, ManArgs};
use super::exit;

/// Prints a page, or writes all of them. The answer is the exit code.
pub(super) fn run(args: &ManArgs) -> anyhow::Result<u8> {
    let mut program = Cli::command();
    program.build();
    if let Some(folder) = &args.out {
        fs::create_dir_all(folder).with_context(|| format!("--out: making {}", folder.display()))?;
        for command in shown(&program) {
            let page = Man::new(command.clone());
            let path = folder.join(page.get_filename());
            fs::write(&path, text(&page)?).with_context(|| format!("--out: writing {}", path.display()))?;
        }
        return Ok(exit::OK);
    }
    let mut command = &program;
    for name in &args.subcommands {
        let Some(found) = command.find_subcommand(name) else {
            bail!("there is no subcommand {name:?} of {}", command.get_bin_name().unwrap_or("schedscope"));
        };
        command = found;
    }
    std::io::stdout().write_all(&text(&Man::new(command.clone()))?)?;
    Ok(exit::OK)
}

fn text(page: &Man) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    page.render(&mut text)?;
    Ok(text)
}

/// The command and every subcommand of it that the help shows.
fn shown(command: &Command) -> Vec<&Command> {
    let below = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
        .flat_map(shown);
    std::iter::once(command).chain(below).collect()
}
