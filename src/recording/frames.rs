//! Compressed recordings: zstd frames, each followed by a checksum of its bytes.
//!
//! A frame holds about a mebibyte of lines. What was flushed can be read although the frame has not ended. The
//! checksum stands in a skippable frame, so that any zstd program reads the file; it finds what changes bytes without
//! changing what they decompress to.

use std::io::{self, BufRead, Read, Write};

use crc32fast::Hasher;
use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;

use super::checksum::flipped_byte;

/// What a frame begins with.
pub(super) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// What the skippable frame with the checksum begins with: its magic number and its length.
const CHECK_LEAD: [u8; 8] = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0];
/// A frame ends at the first line behind so many bytes of lines.
const FRAME_BYTES: u64 = 1 << 20;
/// Fast, and within a few percent of what more effort gives.
const LEVEL: i32 = 3;
/// So much of a frame is searched for a flipped bit.
const SEARCHED_BYTES_MAX: usize = 4 << 20;
/// The largest window that is read, as a power of two: a bound for memory.
const WINDOW_LOG_MAX: u32 = 23;

/// Passes bytes on and works out their checksum.
struct Checked<T> {
    inner: T,
    hasher: Hasher,
    /// What was read of the frame, to find the bit that broke it; a frame that is longer is not searched.
    kept: Vec<u8>,
    /// How many bytes have come by since the beginning of the file.
    offset: u64,
}

impl<T> Checked<T> {
    fn new(inner: T) -> Self {
        Self { inner, hasher: Hasher::new(), kept: Vec::new(), offset: 0 }
    }
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..n).unwrap_or_default());
        self.offset += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: BufRead> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.inner.fill_buf()?;
        let n = available.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..n), available.get(..n)) {
            to.copy_from_slice(from);
        }
        self.consume(n);
        Ok(n)
    }
}

impl<R: BufRead> BufRead for Checked<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        if let Ok(buffered) = self.inner.fill_buf() {
            let taken = buffered.get(..n).unwrap_or_default();
            self.hasher.update(taken);
            let room = SEARCHED_BYTES_MAX.saturating_sub(self.kept.len());
            self.kept.extend_from_slice(taken.get(..n.min(room)).unwrap_or_default());
        }
        self.inner.consume(n);
        self.offset += n as u64;
    }
}

/// Writes frames.
pub(super) struct FrameWriter<W: Write> {
    state: Option<WriterState<W>>,
    in_frame: u64,
}

enum WriterState<W: Write> {
    Between(W),
    Within(Box<Encoder<'static, Checked<W>>>),
}

impl<W: Write> FrameWriter<W> {
    pub(super) fn new(inner: W) -> Self {
        Self { state: Some(WriterState::Between(inner)), in_frame: 0 }
    }

    /// Writes a line.
    pub(super) fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        let mut encoder = match self.state.take() {
            Some(WriterState::Within(encoder)) => encoder,
            Some(WriterState::Between(inner)) => {
                let checked = Checked::new(inner);
                let mut encoder = Encoder::new(checked, LEVEL)?;
                encoder.include_checksum(true)?;
                Box::new(encoder)
            }
            None => return Err(broken()),
        };
        encoder.write_all(line)?;
        self.in_frame += line.len() as u64;
        self.state = Some(WriterState::Within(encoder));
        if self.in_frame >= FRAME_BYTES { self.end_frame() } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            Some(WriterState::Within(encoder)) => encoder.flush(),
            Some(WriterState::Between(inner)) => inner.flush(),
            None => Err(broken()),
        }
    }

    /// Ends the frame and writes its checksum.
    pub(super) fn end_frame(&mut self) -> io::Result<()> {
        match self.state.take() {
            Some(WriterState::Within(encoder)) => {
                let Checked { mut inner, hasher, .. } = encoder.finish()?;
                inner.write_all(&CHECK_LEAD)?;
                inner.write_all(&hasher.finalize().to_le_bytes())?;
                inner.flush()?;
                self.in_frame = 0;
                self.state = Some(WriterState::Between(inner));
                Ok(())
            }
            Some(state) => {
                self.state = Some(state);
                self.flush()
            }
            None => Err(broken()),
        }
    }
}

/// What is answered to writes after one that failed half-way.
fn broken() -> io::Error {
    io::Error::other("an earlier write failed")
}

/// Why no more can be read of a compressed recording.
#[derive(Debug)]
pub(super) enum FrameProblem {
    /// Reading itself failed.
    Io(io::Error),
    /// The file ends in the middle of a frame, or of its checksum.
    Cut {
        /// How many bytes it has.
        at: u64,
    },
    /// Bytes are not as they were written.
    Damaged {
        /// Where the frame begins.
        from: u64,
        /// How far it was read.
        to: u64,
        /// The byte in which one flipped bit explains it.
        flipped: Option<u64>,
        /// What the decompressor says.
        reason: String,
    },
}

/// Reads frames.
pub(super) struct FrameReader<R: BufRead> {
    state: Option<ReaderState<R>>,
    frame_start: u64,
    /// How many bytes of the file were read.
    end: u64,
}

enum ReaderState<R: BufRead> {
    Between(Checked<R>),
    Within(Box<Decoder<'static, Checked<R>>>),
}

impl<R: BufRead> FrameReader<R> {
    pub(super) fn new(inner: R) -> Self {
        let checked = Checked::new(inner);
        Self { state: Some(ReaderState::Between(checked)), frame_start: 0, end: 0 }
    }

    /// Reads decompressed bytes; 0 at the end of the file. Reads nothing any more after a problem.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, FrameProblem> {
        loop {
            match self.state.take() {
                None => return Ok(0),
                Some(ReaderState::Between(mut inner)) => {
                    if inner.fill_buf().map_err(FrameProblem::Io)?.is_empty() {
                        return Ok(0);
                    }
                    self.frame_start = inner.offset;
                    inner.hasher = Hasher::new();
                    inner.kept.clear();
                    let mut decoder = Decoder::with_buffer(inner).map_err(FrameProblem::Io)?.single_frame();
                    decoder.window_log_max(WINDOW_LOG_MAX).map_err(FrameProblem::Io)?;
                    self.state = Some(ReaderState::Within(Box::new(decoder)));
                }
                Some(ReaderState::Within(mut decoder)) => match decoder.read(buffer) {
                    Ok(0) => {
                        let mut inner = decoder.finish();
                        self.check_frame(&mut inner)?;
                        self.end = inner.offset;
                        self.state = Some(ReaderState::Between(inner));
                    }
                    Ok(n) => {
                        self.end = decoder.get_ref().offset;
                        self.state = Some(ReaderState::Within(decoder));
                        return Ok(n);
                    }
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        return Err(FrameProblem::Cut { at: decoder.get_ref().offset });
                    }
                    Err(error) => {
                        let (from, to) = (self.frame_start, decoder.get_ref().offset);
                        let flipped = find_flipped(decoder.get_mut(), from);
                        let reason = error.to_string();
                        return Err(FrameProblem::Damaged { from, to, flipped, reason });
                    }
                },
            }
        }
    }

    /// Where the frame that was read last begins in the file, and how far it was read.
    pub(super) fn span(&self) -> (u64, u64) {
        (self.frame_start, self.end)
    }

    /// The byte in which one flipped bit explains why what the frame holds is wrong. Nothing can be read any more.
    pub(super) fn flipped(&mut self) -> Option<u64> {
        match self.state.take()? {
            ReaderState::Within(mut decoder) => find_flipped(decoder.get_mut(), self.frame_start),
            ReaderState::Between(_) => None,
        }
    }

    /// Reads the checksum behind a frame and compares it.
    fn check_frame(&self, inner: &mut Checked<R>) -> Result<(), FrameProblem> {
        let found = std::mem::take(&mut inner.hasher).finalize();
        let n_frame = inner.kept.len();
        let expected: Vec<u8> = CHECK_LEAD.into_iter().chain(found.to_le_bytes()).collect();
        for (i, expected) in expected.into_iter().enumerate() {
            let Some(byte) = inner.fill_buf().map_err(FrameProblem::Io)?.first().copied() else {
                return Err(FrameProblem::Cut { at: inner.offset });
            };
            if byte != expected {
                let (from, to) = (self.frame_start, inner.offset + 1);
                let is_in_lead = i < CHECK_LEAD.len();
                let flipped = if is_in_lead {
                    ((byte ^ expected).count_ones() == 1).then_some(inner.offset)
                } else {
                    inner.kept.truncate(n_frame);
                    // The checksum is read once more with what is left of it.
                    inner.kept.extend(CHECK_LEAD);
                    inner.kept.extend(found.to_le_bytes().into_iter().take(i - CHECK_LEAD.len()));
                    find_flipped(inner, from)
                };
                let reason = if is_in_lead {
                    "the checksum of the frame is not where it should be"
                } else {
                    "the checksum of the frame is wrong"
                };
                return Err(FrameProblem::Damaged { from, to, flipped, reason: reason.to_owned() });
            }
            inner.consume(1);
        }
        Ok(())
    }
}

/// Reads on to the checksum of a frame that begins at `start` and of which `inner` has kept what was read, and looks
/// for the one flipped bit that explains why it is another one.
fn find_flipped<R: BufRead>(inner: &mut Checked<R>, start: u64) -> Option<u64> {
    let mut from = 0;
    loop {
        let bytes = &inner.kept;
        let at = bytes.get(from..)?.windows(CHECK_LEAD.len()).position(|window| window == CHECK_LEAD);
        let digits = at.and_then(|at| bytes.get(from + at + CHECK_LEAD.len()..)?.first_chunk::<4>());
        if let (Some(at), Some(digits)) = (at, digits) {
            let frame = bytes.get(..from + at)?;
            let difference = crc32fast::hash(frame) ^ u32::from_le_bytes(*digits);
            let in_digits = difference.to_le_bytes().iter().position(|byte| *byte != 0);
            if let (1, Some(digit)) = (difference.count_ones(), in_digits) {
                return Some(start + (from + at + CHECK_LEAD.len() + digit) as u64);
            }
            if let Some(found) = flipped_byte(frame, difference) {
                return Some(start + found as u64);
            }
            from += at + 1;
            continue;
        }
        from = from.max(bytes.len().saturating_sub(CHECK_LEAD.len() + 4));
        let n = inner.fill_buf().ok()?.len();
        if n == 0 || inner.kept.len() >= SEARCHED_BYTES_MAX {
            return None;
        }
        inner.consume(n);
    }
}
