//! Writes recordings.

use std::io::{self, Write};

use crate::api::{ObjectStore, Time};
use crate::scheduler::input::Input;

use super::checksum::Chain;
use super::encode::Line;
use super::frames::FrameWriter;
use super::header::Header;
use super::slim::Slim;

/// Whether a recording is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Compression {
    /// Plain JSON Lines.
    #[default]
    None,
    /// zstd.
    Zstd,
}

impl Compression {
    /// What a file of that name has: `.zst` at the end means zstd.
    pub fn of_name(name: &str) -> Self {
        if name.ends_with(".zst") { Self::Zstd } else { Self::None }
    }
}

enum Sink<W: Write> {
    Plain(W),
    Zstd(FrameWriter<W>),
}

/// Writes a recording line by line. After an error nothing more can be written.
pub struct RecordingWriter<W: Write> {
    sink: Sink<W>,
    chain: Chain,
    line: Line,
    /// The objects as they were last recorded: an update of one is written without what it was before.
    known: ObjectStore,
    slim: Slim,
    inputs: u64,
    bytes: u64,
}

impl<W: Write> std::fmt::Debug for RecordingWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordingWriter").field("inputs", &self.inputs).finish_non_exhaustive()
    }
}

impl<W: Write> RecordingWriter<W> {
    /// Begins a recording.
    ///
    /// # Errors
    /// If the sink does not take the header.
    pub fn new(sink: W, compression: Compression, header: &Header, slim: Slim) -> io::Result<Self> {
        let sink = match compression {
            Compression::None => Sink::Plain(sink),
            Compression::Zstd => Sink::Zstd(FrameWriter::new(sink)),
        };
        let mut writer = Self {
            sink,
            chain: Chain::default(),
            line: Line::default(),
            known: ObjectStore::default(),
            slim,
            inputs: 0,
            bytes: 0,
        };
        writer.line.bytes = header.line();
        writer.write_line()?;
        writer.flush()?;
        Ok(writer)
    }

    /// How many inputs there are.
    pub fn inputs(&self) -> u64 {
        self.inputs
    }

    /// How many bytes of lines were written, before compression.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds an input, with the checksum of what was decided upon it.
    ///
    /// # Errors
    /// If the sink does not take it.
    pub fn input(&mut self, at: Time, input: &Input, decided: Option<u32>) -> io::Result<()> {
        self.line.input(at, input, decided, &mut self.known, &self.slim);
        self.write_line()?;
        self.inputs += 1;
        Ok(())
    }

    /// Adds the state of the scheduler after the inputs so far.
    ///
    /// # Errors
    /// If the sink does not take it.
    pub fn digest(&mut self, parts: &[(&'static str, u64)]) -> io::Result<()> {
        self.line.digest(self.inputs, parts);
        self.write_line()
    }

    /// Adds a marker.
    ///
    /// # Errors
    /// If the sink does not take it.
    pub fn marker(&mut self, at: Time, name: &str) -> io::Result<()> {
        self.line.marker(at, name);
        self.write_line()
    }

    /// Adds a note.
    ///
    /// # Errors
    /// If the sink does not take it.
    pub fn note(&mut self, at: Time, text: &str) -> io::Result<()> {
        self.line.note(at, text);
        self.write_line()
    }

    /// The session went back to its state behind the input of that number.
    ///
    /// # Errors
    /// If the sink does not take it.
    pub fn rewind(&mut self, input: u64) -> io::Result<()> {
        self.line.rewind(input);
        self.write_line()?;
        self.known = ObjectStore::default();
        Ok(())
    }

    /// Hands everything on that was written, so that it can be read.
    ///
    /// # Errors
    /// If the sink does not take it.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Plain(sink) => sink.flush(),
            Sink::Zstd(frames) => frames.flush(),
        }
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// If the sink does not take it.
    pub fn end(&mut self, reason: &str) -> io::Result<()> {
        self.line.end(self.inputs, reason);
        self.write_line()?;
        match &mut self.sink {
            Sink::Plain(sink) => sink.flush(),
            Sink::Zstd(frames) => frames.end_frame(),
        }
    }

    fn write_line(&mut self) -> io::Result<()> {
        self.chain.seal(&mut self.line.bytes);
        self.bytes += self.line.bytes.len() as u64;
        match &mut self.sink {
            Sink::Plain(sink) => sink.write_all(&self.line.bytes),
            Sink::Zstd(frames) => frames.write_line(&self.line.bytes),
        }
    }
}
