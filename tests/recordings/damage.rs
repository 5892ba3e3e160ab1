//! Files that were cut, flipped, or are something else.

use proptest::prelude::*;
use schedscope::api::Object;
use schedscope::api::objects::{Node, Pod};
use schedscope::recording::{Compression, Place, ReadError, Record, RecordingReader, Slim};
use schedscope::scheduler::input::{Command, Input};

use super::{checked, header, read, recording_of, records};
use crate::support::world::START;

/// A small recording; its header is most of it.
fn small(compression: Compression) -> Vec<u8> {
    let mut node = Node::default();
    node.metadata.name = "n".into();
    let mut pod = Pod::default();
    pod.metadata.name = "p".into();
    pod.metadata.uid = "u".into();
    let inputs = [
        Input::Added(Object::from(node)),
        Input::Added(Object::from(pod)),
        Input::Command(Command::ScheduleOne),
    ];
    recording_of(&inputs.map(|input| (START, input)), compression, Slim::default())
}

/// Where the lines of a plain recording end.
fn line_ends(bytes: &[u8]) -> Vec<usize> {
    (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect()
}

#[test]
fn a_cut_at_any_byte_leaves_everything_before_it() {
    let whole = small(Compression::None);
    let all = records(&whole);
    let ends = line_ends(&whole);
    for cut in 0..whole.len() {
        let (found, error) = read(&whole[..cut]);
        // A line that lacks nothing but its line feed is whole.
        let n_lines = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(found, all[..n_lines.saturating_sub(1)], "cut at {cut}");
        match error {
            Some(ReadError::NotARecording(_)) => assert_eq!(cut, 0),
            Some(ReadError::Cut { at, .. }) => assert_eq!(at, cut as u64),
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn a_compressed_recording_that_is_cut_at_any_byte_says_so() {
    let whole = small(Compression::Zstd);
    for cut in 0..whole.len() {
        let (_, error) = read(&whole[..cut]);
        match error {
            Some(ReadError::NotARecording(_)) => assert_eq!(cut, 0),
            Some(ReadError::Cut { at, .. }) => assert!(at <= cut as u64, "cut at {cut}, told at {at}"),
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn what_was_flushed_can_be_read_although_the_rest_is_missing() {
    for compression in [Compression::None, Compression::Zstd] {
        let memory = super::Memory::default();
        let mut writer = schedscope::recording::RecordingWriter::new(
            memory.clone(),
            compression,
            &header(),
            Slim::default(),
        )
        .unwrap();
        for _ in 0..10 {
            writer.input(START, &Input::Timeout, None).unwrap();
        }
        writer.flush().unwrap();
        let flushed = memory.bytes();
        let (found, error) = read(&flushed);
        assert_eq!(found.len(), 10);
        assert!(matches!(error, Some(ReadError::Cut { .. })), "{error:?}");
        let (report, outcome) = checked(&flushed);
        assert_eq!(report.inputs, 10);
        assert!(outcome.is_err());
    }
}

#[test]
fn every_flipped_bit_is_found_where_it_is() {
    let whole = small(Compression::None);
    let ends = line_ends(&whole);
    // The header is long, and one line is as good as another.
    let header_end = ends[0];
    let places = (0..150).chain(header_end - 100..whole.len());
    for at in places {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let (_, error) = read(&damaged);
            let Some(ReadError::Damaged { line, place, .. }) = error else {
                panic!("bit {bit} of byte {at}: {error:?}");
            };
            assert_eq!(place, Place::Byte(at as u64), "bit {bit} of byte {at}");
            assert_eq!(line, 1 + ends.iter().filter(|end| **end < at).count() as u64);
        }
    }
}

#[test]
fn every_flipped_bit_of_a_compressed_recording_is_found() {
    let whole = small(Compression::Zstd);
    let mut n_located = 0;
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let (_, error) = read(&damaged);
            match error {
                Some(ReadError::Damaged { place: Place::Byte(place), .. }) => {
                    assert_eq!(place, at as u64, "bit {bit} of byte {at}");
                    n_located += 1;
                }
                // A length that was flipped may reach beyond the end of the file.
                Some(ReadError::Damaged { .. } | ReadError::Cut { .. }) => {}
                other => panic!("bit {bit} of byte {at}: {other:?}"),
            }
        }
    }
    assert!(n_located * 100 > whole.len() * 8 * 95, "{n_located} of {}", whole.len() * 8);
}

#[test]
fn lines_that_are_missing_swapped_or_repeated_are_found() {
    let whole = small(Compression::None);
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for order in [
        vec![0, 2, 3, 4],
        vec![0, 2, 1, 3, 4],
        vec![0, 1, 1, 2, 3, 4],
        vec![0, 1, 2, 4],
        vec![0, 1, 2, 3, 4, 4],
    ] {
        let changed: Vec<u8> = order.iter().flat_map(|line| lines[*line].to_vec()).collect();
        let (_, error) = read(&changed);
        assert!(matches!(error, Some(ReadError::Damaged { .. })), "{order:?}: {error:?}");
    }
}

#[test]
fn another_format_and_other_files_are_told_from_damage() {
    let newer = br#"{"schedscope":"recording","format":2,"seal":"of another kind"}"#;
    let error = RecordingReader::new(&[newer.as_slice(), b"\n"].concat()[..]).unwrap_err();
    assert_eq!(error.to_string(), "its format is version 2, and this version reads 1");
    for text in [
        "",
        "\n",
        "apiVersion: v1\nkind: List\n",
        "{\"version\": 3, \"term\": {}}\n[0.1, \"o\", \"x\"]\n",
        "\u{0}\u{0}",
    ] {
        let error = RecordingReader::new(text.as_bytes()).unwrap_err();
        assert!(matches!(error, ReadError::NotARecording(_)), "{text:?}: {error:?}");
    }
}

#[test]
fn a_line_that_checks_and_makes_no_sense_is_named() {
    let whole = small(Compression::None);
    let text = String::from_utf8(whole).unwrap();
    let mut chain = crc32fast::Hasher::new();
    let mut resealed = String::new();
    for line in text.lines() {
        let body = line.rsplit_once(",\"crc\"").unwrap().0.replace("\"scheduleOne\"", "\"fly\"");
        chain.update(body.as_bytes());
        let sum = chain.clone().finalize();
        resealed.push_str(&format!("{body},\"crc\":\"{sum:08x}\"}}\n"));
        chain = crc32fast::Hasher::new_with_initial(sum);
    }
    let (found, error) = read(resealed.as_bytes());
    assert_eq!(found.len(), 2);
    let text = error.unwrap().to_string();
    assert!(text.starts_with("line 4 is damaged between bytes "), "{text}");
    assert!(text.ends_with(": \"fly\" is not an input that this version knows"), "{text}");
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes: Vec<u8>, compressed: bool) {
        let magic: &[u8] = if compressed { &[0x28, 0xb5, 0x2f, 0xfd] } else { b"" };
        let _ = read(&[magic, &bytes].concat());
    }

    #[test]
    fn no_change_of_a_recording_makes_the_reader_panic_or_goes_unnoticed(
        compressed: bool,
        from in 0.0..1.0_f64,
        n_gone in 0_usize..20,
        put_in: Vec<u8>,
    ) {
        let whole = small(if compressed { Compression::Zstd } else { Compression::None });
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a place in a small file")]
        let from = (from * whole.len() as f64) as usize;
        let to = (from + n_gone).min(whole.len());
        let changed = [&whole[..from], &put_in, &whole[to..]].concat();
        let (_, error) = read(&changed);
        prop_assert!(changed == whole || error.is_some());
    }
}

#[test]
fn nothing_is_read_after_an_error() {
    let mut damaged = small(Compression::None);
    let at = line_ends(&damaged)[1] - 30;
    damaged[at] ^= 1;
    let mut reader = RecordingReader::new(&damaged[..]).unwrap();
    assert!(reader.next_entry().is_err());
    assert!(matches!(reader.next_entry(), Ok(None)));
    assert!(records(&small(Compression::None)).iter().any(|record| matches!(record, Record::End { .. })));
}
