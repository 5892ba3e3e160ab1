//! A recording as a film: asciicast v3, or v2 (docs.asciinema.org/manual/asciicast).
//!
//! JSON Lines: a header, then events `[time, code, data]`. In v3 the time is the interval since the event before, in v2
//! the time since the beginning; both in seconds. Code `o` is output, `m` a marker (players stop there, or jump to it),
//! `x` the exit status (v3). Times are whole milliseconds, so that nothing is rounded on the way.
//!
//! A frame is shown for as long as the moment lasted, divided by the speed, but no shorter and no longer than the
//! options say: attempts of a simulation are microseconds apart, and backoffs take minutes.

use std::io::{BufRead, Write};
use std::time::Duration as Elapsed;

use ratatui::buffer::Buffer;
use serde_json::{Value, json};

use super::picture::{Picture, PictureOptions};
use super::{ExportError, Range, ansi, attempts_since, millis, outcome_text, play_range, session_view};
use crate::api::Duration;
use crate::driver::playback::{Mark, Moment, Outline};
use crate::driver::session::{RunState, Speed};
use crate::framework::runtime::Registry;
use crate::tui::widgets::text::clean;

/// The version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastVersion {
    /// Absolute times; every player reads it.
    V2,
    /// Intervals.
    V3,
}

/// How the film is made.
#[derive(Clone, Debug)]
pub struct CastOptions {
    /// How the console looks.
    pub picture: PictureOptions,
    /// Which part of the recording.
    pub range: Range,
    /// The format.
    pub version: CastVersion,
    /// How many times faster than it was.
    pub speed: u32,
    /// A frame stands at least so long.
    pub frame_min: Duration,
    /// A frame stands at most so long.
    pub frame_max: Duration,
}

/// Writes a film of a recording.
///
/// # Errors
/// If the recording cannot be played or has no such range, or nothing can be written.
pub fn cast(
    outline: &Outline,
    reader: impl BufRead,
    registry: &Registry,
    options: &CastOptions,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut film = Film {
        options,
        out,
        at: 0,
        written: 0,
        picture: None,
        shown: Buffer::empty(ratatui::layout::Rect::new(0, 0, options.picture.columns, options.picture.rows)),
        n_notices: 0,
        last_cycle: None,
    };
    film.header(outline)?;
    play_range(outline, reader, registry, &options.range, &mut |moment| film.moment(moment))?;
    film.event("o", ansi::END)?;
    if options.version == CastVersion::V3 {
        film.event("x", "0")?;
    }
    Ok(())
}

struct Film<'a> {
    options: &'a CastOptions,
    out: &'a mut dyn Write,
    /// The film's own time, in milliseconds.
    at: u64,
    /// The time of the last event.
    written: u64,
    picture: Option<Picture>,
    /// What is on the screen.
    shown: Buffer,
    n_notices: u64,
    /// The last attempt that a marker was made for.
    last_cycle: Option<u64>,
}

impl Film<'_> {
    fn header(&mut self, outline: &Outline) -> Result<(), ExportError> {
        let picture = &self.options.picture;
        let ((fr, fg, fb), (br, bg, bb)) = picture.colors();
        let theme = json!({
            "fg": format!("#{fr:02x}{fg:02x}{fb:02x}"),
            "bg": format!("#{br:02x}{bg:02x}{bb:02x}"),
            "palette": super::svg::PALETTE.map(|(r, g, b)| format!("#{r:02x}{g:02x}{b:02x}")).join(":"),
        });
        let timestamp = outline.header.start.as_nanos() / 1_000_000_000;
        let title = format!("schedscope: {}", clean(&outline.header.source));
        let header = match self.options.version {
            CastVersion::V3 => json!({
                "version": 3,
                "term": {"cols": picture.columns, "rows": picture.rows, "type": "xterm-256color", "theme": theme},
                "timestamp": timestamp,
                "title": title,
            }),
            CastVersion::V2 => json!({
                "version": 2,
                "width": picture.columns,
                "height": picture.rows,
                "timestamp": timestamp,
                "title": title,
                "env": {"TERM": "xterm-256color"},
                "theme": theme,
            }),
        };
        self.line(&header)
    }

    fn line(&mut self, value: &Value) -> Result<(), ExportError> {
        writeln!(self.out, "{value}")?;
        Ok(())
    }

    fn event(&mut self, code: &str, data: &str) -> Result<(), ExportError> {
        let millis = match self.options.version {
            CastVersion::V3 => self.at - self.written,
            CastVersion::V2 => self.at,
        };
        self.written = self.at;
        let data = Value::from(data);
        writeln!(self.out, "[{}.{:03}, \"{code}\", {data}]", millis / 1000, millis % 1000)?;
        Ok(())
    }

    fn moment(&mut self, moment: &Moment<'_>) -> Result<(), ExportError> {
        let view = session_view(
            moment,
            RunState::Running,
            Speed::Times(self.options.speed.max(1)),
            &mut self.n_notices,
        );
        let marks: Vec<String> = moment
            .marks
            .iter()
            .map(|mark| match mark {
                Mark::Marker(name) => format!("marker: {}", clean(name)),
                Mark::Note(text) => format!("note: {}", clean(text)),
            })
            .collect();
        // What ended before the range is no news.
        let cycles: Vec<(u64, String)> = match self.last_cycle {
            None => Vec::new(),
            Some(last) => attempts_since(&view.scheduler, last)
                .into_iter()
                .map(|line| {
                    let outcome = outcome_text(&line.outcome);
                    let pod = line.pod.to_string();
                    (line.number, format!("cycle {}: {} {}", line.number, clean(&pod), clean(&outcome)))
                })
                .collect(),
        };
        let newest = view.scheduler.history.back().map_or(0, |line| line.number);
        self.last_cycle = Some(self.last_cycle.unwrap_or(newest).max(newest));
        match &mut self.picture {
            None => {
                self.event("o", ansi::BEGIN)?;
                self.picture = Some(Picture::new(view, &self.options.picture, false));
            }
            Some(picture) => picture.show(view, Elapsed::from_millis(self.at)),
        }
        for label in cycles.into_iter().map(|(_, label)| label).chain(marks) {
            self.event("m", &label)?;
        }
        self.draw()?;
        self.stand(moment)
    }

    /// Draws, and writes what is new on the screen.
    fn draw(&mut self) -> Result<(), ExportError> {
        let Some(picture) = &mut self.picture else { return Ok(()) };
        let buffer = picture.draw();
        let news = ansi::difference(&self.shown, buffer);
        self.shown.clone_from(buffer);
        if news.is_empty() { Ok(()) } else { self.event("o", &news) }
    }

    /// Lets the moment stand. What goes out or vanishes by itself meanwhile does.
    fn stand(&mut self, moment: &Moment<'_>) -> Result<(), ExportError> {
        let lasts = moment.next_at.map_or(0, |next| millis(next - moment.now()));
        let least = millis(self.options.frame_min);
        let most = millis(self.options.frame_max).max(least);
        let until = self.at + (lasts / u64::from(self.options.speed.max(1))).clamp(least, most);
        loop {
            let deadline = self.picture.as_ref().and_then(Picture::deadline).map(|at| {
                // A moment that is not a whole millisecond has come at the next one.
                u64::try_from(at.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
            });
            let Some(deadline) = deadline.filter(|at| *at > self.at && *at < until) else { break };
            self.at = deadline;
            if let Some(picture) = &mut self.picture {
                picture.wait(Elapsed::from_millis(deadline));
            }
            self.draw()?;
        }
        self.at = until;
        Ok(())
    }
}
