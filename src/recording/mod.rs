//! Recordings: a session as the list of its inputs, in a file that decides the same again anywhere.
//!
//! The scheduler is deterministic, so its configuration and its inputs with their times are all there is to keep. A
//! recording is JSON Lines, plain or zstd: a header, a line per input, now and then the digest of each component of
//! the scheduler, markers and notes, and an end. Every line carries a checksum that continues the one before.
//! `docs/recording.md` describes the format field by field.
//!
//! Not here: files, threads, clocks. The writer takes any [`std::io::Write`], the reader any [`std::io::BufRead`].

mod check;
mod checksum;
mod compare;
mod decisions;
mod decode;
mod encode;
mod exact;
mod frames;
mod header;
mod reader;
mod record;
mod redact;
mod slim;
mod writer;

pub use check::{CheckReport, Divergence, Judge, Replay, ReplayError, check, last_way};
pub use compare::{
    Comparison, Ending, Moved, NodeLoad, NodePoints, Open, Reason, Standing, Waits, compare, reason_of,
};
pub use decisions::decisions_check;
pub use header::{DIGEST_VERSION, FORMAT_VERSION, Header, HeaderError, QueueHeader, without_keys};
pub use reader::{Entry, LINE_BYTES_MAX, Place, ReadError, RecordingReader};
pub use record::Record;
pub use redact::{LiveRedaction, RedactError, RedactReport, Redactor, Shadow, WHAT_REMAINS, redact};
pub use slim::{READ_ANNOTATIONS, Slim};
pub use writer::{Compression, RecordingWriter};
