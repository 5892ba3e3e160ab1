//! `schedscope export`: a film, a report or a picture of a recording.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Write, stdout};

use anyhow::{Context as _, bail};

use super::args::ExportArgs;
use super::{Main, exit, tell};
use crate::driver::playback::{Outline, Position};
use crate::driver::recorder::new_file;
use crate::recording::{ReadError, ReplayError};
use crate::tui::commands::parse_duration;
use crate::tui::export::cast::{CastOptions, CastVersion, cast};
use crate::tui::export::markdown::{MarkdownOptions, markdown};
use crate::tui::export::picture::PictureOptions;
use crate::tui::export::svg::svg;
use crate::tui::export::{ExportError, Range};
use crate::tui::keymap::key::parse_chord;
use crate::tui::layout::{MIN_HEIGHT, MIN_WIDTH};
use crate::tui::theme::load::BUILT_IN;
use crate::tui::theme::{ColorDepth, Theme};

/// The largest size of a console.
const SIZE_MAX: u16 = 1000;

/// What is exported.
enum What {
    Cast(CastOptions),
    Markdown(MarkdownOptions),
    Svg(Position, PictureOptions),
}

/// Exports. The answer is the exit code.
pub(super) fn run(args: &ExportArgs, program: &Main) -> anyhow::Result<u8> {
    let what = what(args)?;
    let file = args.file.display();
    let open = || Ok(BufReader::new(File::open(&args.file)?));
    let outline = match open().and_then(Outline::read) {
        Ok(outline) => outline,
        Err(error) => {
            let error = ReplayError::Read(error);
            tell(&format!("{file}: {error}"));
            return Ok(code_of(&error));
        }
    };
    let mut sink: Box<dyn Write> = match &args.output {
        None => Box::new(BufWriter::new(stdout().lock())),
        Some(path) => Box::new(BufWriter::new(new_file(path).with_context(|| path.display().to_string())?)),
    };
    let registry = program.registry();
    let outcome = open().map_err(ReplayError::Read).map_err(ExportError::Replay).and_then(|reader| {
        match &what {
            What::Cast(options) => cast(&outline, reader, registry, options, &mut sink)?,
            What::Markdown(options) => markdown(&outline, reader, registry, options, &mut sink)?,
            What::Svg(at, options) => {
                sink.write_all(svg(&outline, reader, registry, at, options)?.as_bytes())?;
            }
        }
        Ok(sink.flush()?)
    });
    drop(sink);
    let error = match outcome {
        Ok(()) => None,
        // A reader that has had enough is no error.
        Err(ExportError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => None,
        Err(error) => Some(error),
    };
    let Some(error) = error else {
        if let Some(cut) = &outline.cut {
            tell(&format!("{file}: {cut}"));
            return Ok(exit::CUT);
        }
        return Ok(exit::OK);
    };
    if let Some(path) = &args.output {
        // What is there is not what was asked for.
        std::fs::remove_file(path).with_context(|| path.display().to_string())?;
    }
    tell(&format!("{file}: {error}"));
    Ok(match &error {
        ExportError::Replay(error) => code_of(error),
        ExportError::NoSuchPlace { .. } | ExportError::Backwards { .. } | ExportError::Write(_) => {
            exit::WRONG
        }
    })
}

/// The exit code for a recording that cannot be played to its end, as `replay --check` has it.
fn code_of(error: &ReplayError) -> u8 {
    match error {
        ReplayError::Read(ReadError::Cut { .. }) => exit::CUT,
        ReplayError::Diverged(_) | ReplayError::RewindAhead { .. } => exit::DIFFERS,
        ReplayError::Read(ReadError::Damaged { .. }) => exit::DAMAGED,
        ReplayError::Header(_) | ReplayError::Read(_) => exit::WRONG,
    }
}

/// What the arguments ask for.
fn what(args: &ExportArgs) -> anyhow::Result<What> {
    let range = || -> anyhow::Result<Range> {
        Ok(Range { from: position("--from", &args.from)?, to: position("--to", &args.to)? })
    };
    if args.markdown {
        return Ok(What::Markdown(MarkdownOptions { range: range()?, nodes_max: args.nodes.max(1) }));
    }
    let picture = picture(args)?;
    if args.svg {
        return Ok(What::Svg(position("--at", &args.at)?, picture));
    }
    let duration =
        |flag: &str, text: &str| parse_duration(text).map_err(|error| anyhow::anyhow!("{flag}: {error}"));
    Ok(What::Cast(CastOptions {
        picture,
        range: range()?,
        version: if args.cast_version == 2 { CastVersion::V2 } else { CastVersion::V3 },
        speed: args.speed,
        frame_min: duration("--frame-min", &args.frame_min)?,
        frame_max: duration("--frame-max", &args.frame_max)?,
    }))
}

fn picture(args: &ExportArgs) -> anyhow::Result<PictureOptions> {
    let size = args
        .size
        .split_once('x')
        .and_then(|(columns, rows)| Some((columns.parse::<u16>().ok()?, rows.parse::<u16>().ok()?)));
    let fits = |(columns, rows): &(u16, u16)| {
        (MIN_WIDTH..=SIZE_MAX).contains(columns) && (MIN_HEIGHT..=SIZE_MAX).contains(rows)
    };
    let Some((columns, rows)) = size.filter(fits) else {
        bail!(
            "--size: {:?} is not a size such as 120x36, from {MIN_WIDTH}x{MIN_HEIGHT} to {SIZE_MAX}x{SIZE_MAX}",
            args.size
        );
    };
    let Some(theme) = Theme::built_in(&args.theme, ColorDepth::TrueColor) else {
        bail!("--theme: there is no theme {:?}; there are {}", args.theme, BUILT_IN.join(", "));
    };
    let keys = if args.keys.trim().is_empty() {
        Vec::new()
    } else {
        parse_chord(&args.keys).map_err(|error| anyhow::anyhow!("--keys: {error}"))?
    };
    Ok(PictureOptions { columns, rows, theme, is_ascii: args.ascii, keys })
}

/// Reads a place.
fn position(flag: &str, text: &str) -> anyhow::Result<Position> {
    let number =
        |text: &str| text.parse::<u64>().with_context(|| format!("{flag}: {text:?} is not a whole number"));
    Ok(match text {
        "start" => Position::Start,
        "end" => Position::End,
        _ if text.bytes().all(|byte| byte.is_ascii_digit()) => Position::Cycle(number(text)?),
        _ => match text.split_once(':') {
            Some(("cycle", rest)) => Position::Cycle(number(rest)?),
            Some(("input", rest)) => Position::Input(number(rest)?),
            Some(("marker", name)) => Position::Marker(name.to_owned()),
            _ => Position::Elapsed(parse_duration(text).map_err(|error| {
                anyhow::anyhow!(
                    "{flag}: {error}; places are 12, cycle:12, input:345, marker:NAME, 2m14s, start, end"
                )
            })?),
        },
    })
}
