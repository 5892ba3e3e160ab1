//! Reads recordings, whole ones, cut ones and damaged ones.
//!
//! Streams: memory is a line, its objects and the objects of the cluster. Nothing that a file may hold makes it panic.

use std::collections::BTreeSet;
use std::io::{self, BufRead};
use std::ops::Range;

use crate::api::ObjectStore;

use super::checksum::{Break, Chain};
use super::decode;
use super::frames::{FrameProblem, FrameReader, ZSTD_MAGIC};
use super::header::{FORMAT_VERSION, Header, MAGIC};
use super::record::Record;

/// The longest line that is read.
pub const LINE_BYTES_MAX: usize = 64 << 20;
/// So many bytes are read at a time.
const CHUNK: usize = 1 << 16;

/// Why a recording cannot be read, or no further.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Reading itself failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("it is not a recording: {0}")]
    NotARecording(String),
    /// It was written by a later version.
    #[error("its format is version {found}, and this version reads {FORMAT_VERSION}")]
    Format {
        /// The version of the file.
        found: u64,
    },
    /// It has no end. What was there was read.
    #[error("it was cut off at byte {at}, behind line {lines}")]
    Cut {
        /// How many whole lines it has.
        lines: u64,
        /// Where it ends, in bytes of the file.
        at: u64,
    },
    /// Bytes are not as they were written.
    #[error("line {line} is damaged {place}: {reason}")]
    Damaged {
        /// The number of the line, from 1.
        line: u64,
        /// Where.
        place: Place,
        /// What is wrong.
        reason: String,
    },
}

/// Where bytes are not as they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At this byte of the file: one flipped bit of it explains everything.
    Byte(u64),
    /// Somewhere between these bytes of the file.
    Bytes(u64, u64),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Byte(at) => write!(f, "at byte {at}"),
            Self::Bytes(from, to) => write!(f, "between bytes {from} and {to}"),
        }
    }
}

/// A record with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The number of its line, from 1; the header is line 1.
    pub line: u64,
    /// The record.
    pub record: Record,
}

enum Source<R: BufRead> {
    Plain(R),
    Zstd(FrameReader<R>),
}

/// A line as it stands in the file.
enum RawLine {
    /// With its line feed.
    Whole(Range<usize>),
    /// What is left at the end of the file.
    Rest(Range<usize>),
}

/// Reads lines and checks them.
struct Lines<R: BufRead> {
    source: Source<R>,
    /// What was read and not yet used.
    buffer: Vec<u8>,
    /// Where the next line begins in it.
    at: usize,
    /// Where the next line begins in the text of the recording.
    offset: u64,
    /// How many lines were used.
    count: u64,
    chain: Chain,
}

impl<R: BufRead> Lines<R> {
    /// The next line; its bytes stay in the buffer until `advance`.
    fn next(&mut self) -> Result<RawLine, ReadError> {
        let mut searched = self.at;
        loop {
            let unread = self.buffer.get(searched..).unwrap_or_default();
            if let Some(found) = unread.iter().position(|byte| *byte == b'\n') {
                return Ok(RawLine::Whole(self.at..searched + found));
            }
            searched = self.buffer.len();
            if searched - self.at > LINE_BYTES_MAX {
                let reason = format!("it is longer than {LINE_BYTES_MAX} bytes");
                return Err(self.damaged_somewhere(searched - self.at, reason));
            }
            // Lines that were used make room.
            self.buffer.drain(..self.at);
            searched -= self.at;
            self.at = 0;
            let old_len = self.buffer.len();
            self.buffer.resize(old_len + CHUNK, 0);
            let room = self.buffer.get_mut(old_len..).unwrap_or_default();
            let read = match &mut self.source {
                Source::Plain(reader) => read_some(reader, room).map_err(ReadError::Io),
                Source::Zstd(frames) => frames.read(room).map_err(|problem| frame_error(problem, self.count)),
            };
            self.buffer.truncate(old_len + read.as_ref().copied().unwrap_or(0));
            if read? == 0 {
                return Ok(RawLine::Rest(self.at..self.buffer.len()));
            }
        }
    }

    fn text(&self, line: Range<usize>) -> &[u8] {
        self.buffer.get(line).unwrap_or_default()
    }

    /// The line up to this place of the buffer was used.
    fn advance(&mut self, to: usize) {
        self.offset += (to - self.at) as u64;
        self.at = to;
        self.count += 1;
    }

    /// So many bytes of the next line are there, and then the file ends.
    fn cut(&self, n_bytes: usize) -> ReadError {
        let at = match &self.source {
            Source::Plain(_) => self.offset + n_bytes as u64,
            Source::Zstd(frames) => frames.span().1,
        };
        ReadError::Cut { lines: self.count, at }
    }

    /// Something is wrong with the next line, which has so many bytes.
    fn damaged_somewhere(&self, n_bytes: usize, reason: String) -> ReadError {
        let place = match &self.source {
            Source::Plain(_) => Place::Bytes(self.offset, self.offset + n_bytes as u64),
            Source::Zstd(frames) => Place::Bytes(frames.span().0, frames.span().1),
        };
        ReadError::Damaged { line: self.count + 1, place, reason }
    }

    /// The next line, which has so many bytes, does not check.
    fn damaged(&mut self, n_bytes: usize, broken: Break) -> ReadError {
        let flipped = match (broken, &mut self.source) {
            (Break::Flipped(at), Source::Plain(_)) => Some(self.offset + at as u64),
            (Break::Unknown, Source::Plain(_)) => None,
            (_, Source::Zstd(frames)) => frames.flipped(),
        };
        match flipped {
            Some(at) => ReadError::Damaged {
                line: self.count + 1,
                place: Place::Byte(at),
                reason: "one bit of it was flipped".to_owned(),
            },
            None => {
                let reason = "its checksum is wrong, or lines before it are missing".to_owned();
                self.damaged_somewhere(n_bytes, reason)
            }
        }
    }
}

/// Reads a recording record by record.
pub struct RecordingReader<R: BufRead> {
    lines: Lines<R>,
    header: Header,
    known: ObjectStore,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// More is to come.
    Reading,
    /// The line that ends the recording was read.
    Ended,
    /// The end, or an error, was told.
    Done,
}

impl<R: BufRead> std::fmt::Debug for RecordingReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordingReader").field("lines", &self.lines.count).finish_non_exhaustive()
    }
}

impl<R: BufRead> RecordingReader<R> {
    /// Begins to read: the header.
    ///
    /// # Errors
    /// If it is no recording, of another version, or damaged or cut off already there.
    pub fn new(mut reader: R) -> Result<Self, ReadError> {
        let beginning = reader.fill_buf()?;
        if let Some(at) = almost_zstd(beginning) {
            let reason = "one bit keeps it from being a zstd frame".to_owned();
            return Err(ReadError::Damaged { line: 1, place: Place::Byte(at), reason });
        }
        let is_zstd =
            !beginning.is_empty() && beginning.iter().zip(ZSTD_MAGIC).all(|(is, should)| *is == should);
        let source = if is_zstd { Source::Zstd(FrameReader::new(reader)) } else { Source::Plain(reader) };
        let mut lines =
            Lines { source, buffer: Vec::new(), at: 0, offset: 0, count: 0, chain: Chain::default() };
        let header = read_header(&mut lines)?;
        Ok(Self { lines, header, known: ObjectStore::default(), state: State::Reading })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The next record; `None` behind the end of a recording that has one.
    ///
    /// # Errors
    /// If the recording was cut off or is damaged there. Nothing is read after an error.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        if self.state == State::Done {
            return Ok(None);
        }
        let entry = self.read_entry();
        if !matches!(entry, Ok(Some(_))) {
            self.state = State::Done;
        }
        entry
    }

    fn read_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        let (line, is_whole) = match self.lines.next()? {
            RawLine::Whole(line) => (line, true),
            RawLine::Rest(line) => (line, false),
        };
        let chain = self.lines.chain;
        let text = self.lines.text(line.clone());
        if self.state == State::Ended {
            if text.is_empty() && !is_whole {
                return Ok(None);
            }
            let reason = "something stands behind the end of the recording".to_owned();
            return Err(self.lines.damaged_somewhere(text.len(), reason));
        }
        let chain = match chain.check(text) {
            Ok(chain) => chain,
            Err(Break::Flipped(at)) if is_whole || at < text.len() => {
                return Err(self.lines.damaged(line.len(), Break::Flipped(at)));
            }
            Err(Break::Unknown) if is_whole => return Err(self.lines.damaged(line.len(), Break::Unknown)),
            Err(_) => return Err(self.lines.cut(text.len())),
        };
        let record = decode::record(text, &mut self.known)
            .map_err(|reason| self.lines.damaged_somewhere(text.len(), reason))?;
        self.lines.chain = chain;
        // A line that lacks nothing but its line feed counts, and the cut is told next.
        self.lines.advance(if is_whole { line.end + 1 } else { line.end });
        if is_whole && matches!(record, Record::End { .. }) {
            self.state = State::Ended;
        }
        Ok(Some(Entry { line: self.lines.count, record }))
    }
}

fn read_header<R: BufRead>(lines: &mut Lines<R>) -> Result<Header, ReadError> {
    let line = match lines.next()? {
        RawLine::Whole(line) => line,
        RawLine::Rest(rest) => {
            let text = lines.text(rest);
            let begins_alike = text.iter().zip(MAGIC.as_bytes()).all(|(is, should)| is == should);
            return Err(match (text.is_empty(), begins_alike) {
                (true, _) => ReadError::NotARecording("it is empty".to_owned()),
                (false, true) => lines.cut(text.len()),
                (false, false) => unknown_beginning(text),
            });
        }
    };
    let text = lines.text(line.clone());
    let format = format_of(text);
    let chain = match (lines.chain.check(text), format) {
        (Ok(chain), Some(FORMAT_VERSION)) => chain,
        (Ok(_) | Err(Break::Unknown), Some(found)) if found != FORMAT_VERSION => {
            return Err(ReadError::Format { found });
        }
        (Err(Break::Flipped(at)), None) if at == text.len() => return Err(unknown_beginning(text)),
        (Ok(_) | Err(Break::Unknown), None) => return Err(unknown_beginning(text)),
        (Err(broken), _) => return Err(lines.damaged(line.len(), broken)),
        (Ok(_), Some(found)) => return Err(ReadError::Format { found }),
    };
    let header = serde_json::from_slice(text)
        .map_err(|error| lines.damaged_somewhere(text.len(), error.to_string()))?;
    lines.chain = chain;
    lines.advance(line.end + 1);
    Ok(header)
}

fn unknown_beginning(text: &[u8]) -> ReadError {
    let shown: String = String::from_utf8_lossy(text).chars().take(40).collect();
    ReadError::NotARecording(format!("its first line begins with {shown:?}"))
}

fn read_some(reader: &mut impl BufRead, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn frame_error(problem: FrameProblem, lines: u64) -> ReadError {
    match problem {
        FrameProblem::Io(error) => ReadError::Io(error),
        FrameProblem::Cut { at } => ReadError::Cut { lines, at },
        FrameProblem::Damaged { from, to, flipped, reason } => {
            let place = flipped.map_or(Place::Bytes(from, to), Place::Byte);
            ReadError::Damaged { line: lines + 1, place, reason }
        }
    }
}

/// The byte in which one flipped bit keeps the file from being a zstd frame.
fn almost_zstd(beginning: &[u8]) -> Option<u64> {
    let beginning = beginning.get(..ZSTD_MAGIC.len())?;
    let mut wrong = beginning.iter().zip(ZSTD_MAGIC).enumerate().filter(|(_, (is, should))| **is != *should);
    let (at, (is, should)) = wrong.next()?;
    (wrong.next().is_none() && (is ^ should).count_ones() == 1).then_some(at as u64)
}

/// The version of the format that a first line names.
fn format_of(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(MAGIC.as_bytes())?;
    let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(rest.get(..digits)?).ok()?.parse().ok()
}

/// The numbers of the inputs to which a recording goes back, up to where it was cut off.
pub(super) fn places_gone_back_to<R: BufRead>(reader: R) -> Result<BTreeSet<u64>, ReadError> {
    let mut reader = RecordingReader::new(reader)?;
    let mut places = BTreeSet::new();
    loop {
        match reader.next_entry() {
            Ok(Some(entry)) => {
                if let Record::Rewind { input } = entry.record {
                    places.insert(input);
                }
            }
            Ok(None) | Err(ReadError::Cut { .. }) => return Ok(places),
            Err(error) => return Err(error),
        }
    }
}
