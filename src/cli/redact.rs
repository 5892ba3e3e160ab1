//! `schedscope redact`: a recording without names that decides the same.

use std::fs::File;
use std::io::{BufReader, BufWriter};

use anyhow::Context as _;

use super::args::RedactArgs;
use super::run::print;
use super::{Main, exit, tell};
use crate::driver::recorder::new_file;
use crate::recording::{Compression, WHAT_REMAINS, redact};

/// Redacts and prints what remains. The answer is the exit code.
pub(super) fn run(args: &RedactArgs, program: &Main) -> anyhow::Result<u8> {
    let (input, output) = (args.input.display(), args.output.display());
    let mut open = || Ok(BufReader::new(File::open(&args.input)?));
    let file = new_file(&args.output).with_context(|| output.to_string())?;
    let mut begin = || {
        file.set_len(0)?;
        Ok(BufWriter::new(&file))
    };
    let compression = Compression::of_name(&args.output.to_string_lossy());
    let outcome = redact(&mut open, &mut begin, compression, program.registry());
    let report = match outcome {
        Ok(report) => report,
        Err(error) => {
            // What is there is not what was asked for.
            std::fs::remove_file(&args.output).with_context(|| output.to_string())?;
            return Err(anyhow::Error::new(error).context(input.to_string()));
        }
    };
    let mut text = format!(
        "{output}: {} words and {} uids replaced; upon each of {} inputs the same is decided as before\nwhat remains:\n",
        report.words, report.uids, report.inputs
    );
    for what in WHAT_REMAINS {
        text.push_str(&format!("- {what}\n"));
    }
    print(&text)?;
    Ok(match report.cut {
        None => exit::OK,
        Some(cut) => {
            tell(&format!("{input}: {cut}"));
            exit::CUT
        }
    })
}
