//! Recordings that nobody has written: the reader and the scheduler behind it never panic, and need no more memory than
//! is said.

use std::io::Write as _;

use proptest::prelude::*;
use schedscope::recording::{Compression, ReadError, ReplayError};

use super::session::Session;
use super::{checked, read};

/// A recording in which a lot happens.
fn lively() -> &'static str {
    static TEXT: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    TEXT.get_or_init(|| {
        let mut session = Session::new(7, Compression::None);
        session.run(150);
        String::from_utf8(session.finish()).unwrap()
    })
}

/// The lines without their checksums.
fn bodies(text: &str) -> Vec<Vec<u8>> {
    text.lines().map(|line| line.rsplit_once(",\"crc\"").unwrap().0.as_bytes().to_vec()).collect()
}

/// The lines with checksums that are right.
fn sealed(bodies: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sum = 0;
    for body in bodies {
        let mut hasher = crc32fast::Hasher::new_with_initial(sum);
        hasher.update(body);
        sum = hasher.finalize();
        out.extend_from_slice(body);
        out.extend_from_slice(format!(",\"crc\":\"{sum:08x}\"}}\n").as_bytes());
    }
    out
}

/// What is put into lines: values of another type, at the limits, too many, or of another kind.
const PIECES: &[&str] = &[
    "null",
    "true",
    "-1",
    "0",
    "18446744073709551615",
    "1e308",
    "\"\"",
    "[]",
    "{}",
    "[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":",
    "\"in\":\"deleted\"",
    "\"in\":\"goOn\"",
    "\"in\":\"nextPhase\"",
    "\"in\":\"done\",\"id\":9999999",
    "\"kind\":\"Pod\"",
    "\"kind\":\"Node\"",
    "\"999999999999999999999\"",
    "\"1E\"",
    "\"-5Gi\"",
    "\"9223372036854775807.999999999\"",
    "\"t\":\"0.0\"",
    "\"nodeName\":\"x\"",
    "\"priority\":2147483647",
    "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"",
    "\u{0}",
    "\\u0000",
    "\u{202e}",
    "\"operator\":\"Gt\"",
    "\"matchLabelKeys\":[\"a\"]",
    "\"maxSkew\":0",
    "\"weight\":-2147483648",
    "\"rewind\":0",
];

#[derive(Clone, Debug)]
enum Harm {
    /// A piece in place of so many bytes.
    Piece { line: usize, at: usize, n_gone: usize, piece: usize },
    /// A value of the line in place of another one.
    Swap { line: usize, from: usize, to: usize },
    /// A line once more, elsewhere.
    Repeat { line: usize, at: usize },
    /// A line less.
    Drop { line: usize },
}

fn any_harm() -> impl Strategy<Value = Harm> {
    let n = any::<u16>().prop_map(usize::from);
    prop_oneof![
        4 => (n.clone(), n.clone(), 0_usize..12, 0..PIECES.len())
            .prop_map(|(line, at, n_gone, piece)| Harm::Piece { line, at, n_gone, piece }),
        4 => (n.clone(), n.clone(), n.clone()).prop_map(|(line, from, to)| Harm::Swap { line, from, to }),
        1 => (n.clone(), n.clone()).prop_map(|(line, at)| Harm::Repeat { line, at }),
        1 => n.prop_map(|line| Harm::Drop { line }),
    ]
}

/// Where values begin and end: what stands between `:` and `,` or a bracket, without looking at depth.
fn values(body: &[u8]) -> Vec<(usize, usize)> {
    let begins = (0..body.len()).filter(|at| body[*at] == b':').map(|at| at + 1);
    begins
        .map(|begin| {
            let length = body[begin..].iter().position(|byte| matches!(byte, b',' | b'}' | b']'));
            (begin, length.map_or(body.len(), |length| begin + length))
        })
        .collect()
}

fn harm(bodies: &mut Vec<Vec<u8>>, harm: &Harm) {
    // The header is left alone: what is wrong with it is found before anything else.
    let line_of = |line: usize, n: usize| 1 + line % (n - 1);
    let n = bodies.len();
    match harm {
        Harm::Piece { line, at, n_gone, piece } => {
            let body = &mut bodies[line_of(*line, n)];
            let at = at % (body.len() + 1);
            let end = (at + n_gone).min(body.len());
            body.splice(at..end, PIECES[*piece].bytes());
        }
        Harm::Swap { line, from, to } => {
            let body = &mut bodies[line_of(*line, n)];
            let values = values(body);
            if values.is_empty() {
                return;
            }
            let (begin, end) = values[from % values.len()];
            let value = body[begin..end].to_vec();
            let (begin, end) = values[to % values.len()];
            body.splice(begin..end, value);
        }
        Harm::Repeat { line, at } => {
            let body = bodies[line_of(*line, n)].clone();
            bodies.insert(line_of(*at, n), body);
        }
        Harm::Drop { line } => {
            if n > 2 {
                bodies.remove(line_of(*line, n));
            }
        }
    }
    for body in bodies {
        body.retain(|byte| *byte != b'\n');
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn a_recording_with_right_checksums_and_wrong_contents_is_refused_or_replayed(
        harms in proptest::collection::vec(any_harm(), 1..4)
    ) {
        let mut bodies = bodies(lively());
        for one in &harms {
            harm(&mut bodies, one);
        }
        // Whatever comes of it is told; nothing panics.
        let (report, outcome) = checked(&sealed(&bodies));
        prop_assert!(outcome.is_err() || report.end.is_some());
    }
}

#[test]
fn a_check_of_a_recording_that_is_cut_anywhere_goes_to_the_cut_and_says_so() {
    let whole = lively().as_bytes();
    let ends: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    let is_input = |line: &&str| line.contains("\"in\":\"");
    // Around every end of a line, and here and there between.
    let places =
        ends.iter().flat_map(|end| [end - 1, *end, end + 1]).chain((ends[0]..whole.len()).step_by(397));
    for cut in places.filter(|cut| *cut < whole.len() && *cut > ends[0]).step_by(7) {
        let (report, outcome) = checked(&whole[..cut]);
        match outcome {
            Err(ReplayError::Read(ReadError::Cut { at, lines })) => {
                assert_eq!(at, cut as u64);
                assert_eq!(report.lines, lines);
            }
            other => panic!("cut at {cut}: {other:?}"),
        }
        // A line that lacks nothing but its line feed is whole.
        let n_lines = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(
            report.inputs,
            lively().lines().take(n_lines).filter(is_input).count() as u64,
            "cut at {cut}"
        );
    }
}

#[test]
fn a_flipped_bit_in_any_byte_of_the_header_is_found_where_it_is() {
    let whole = lively().as_bytes();
    let end = whole.iter().position(|byte| *byte == b'\n').unwrap();
    let head = &whole[..end + 1];
    for at in 0..end {
        let mut damaged = head.to_vec();
        damaged[at] ^= 1 << (at % 8);
        let (_, error) = read(&damaged);
        let Some(ReadError::Damaged { line: 1, place, .. }) = error else { panic!("byte {at}: {error:?}") };
        assert_eq!(place, schedscope::recording::Place::Byte(at as u64), "byte {at}");
    }
}

/// The program under a limit for its memory, in KiB. A program that wants more is killed.
#[cfg(target_os = "linux")]
fn check_within(kib: u64, name: &str, bytes: &[u8]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::File::create(&file).unwrap().write_all(bytes).unwrap();
    let output = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!("ulimit -v {kib} && exec \"$0\" replay --check \"$1\""))
        .arg(env!("CARGO_BIN_EXE_schedscope"))
        .arg(&file)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What the program needs for itself, in KiB of address space: its file, and stacks and heaps of its threads.
#[cfg(target_os = "linux")]
fn own_kib() -> u64 {
    std::fs::metadata(env!("CARGO_BIN_EXE_schedscope")).unwrap().len() / 1024 + (256 << 10)
}

#[cfg(target_os = "linux")]
#[test]
fn a_few_bytes_that_become_gigabytes_are_refused_within_the_memory_that_is_said() {
    let header = lively().lines().next().unwrap();
    // A line without an end, and lines without number; each of them is some hundred KiB of file.
    let endless = vec![b'a'; 64 << 20];
    let many = b"\n".repeat(64 << 20);
    for (block, name) in [(&endless, "endless.rec.zst"), (&many, "many.rec.zst")] {
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.write_all(header.as_bytes()).unwrap();
        encoder.write_all(b"\n").unwrap();
        for _ in 0..24 {
            encoder.write_all(block).unwrap();
        }
        let bomb = encoder.finish().unwrap();
        assert!(bomb.len() < 1 << 20, "{} bytes", bomb.len());
        // Three times the longest line that is read.
        let (code, said) = check_within(own_kib() + 3 * (64 << 10), name, &bomb);
        assert_eq!(code, Some(4), "{name}: {said}");
        assert!(said.contains("line 2 is damaged"), "{said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_line_of_a_thousand_things_needs_no_more_than_a_multiple_of_its_length() {
    let mut bodies = bodies(lively());
    let labels: Vec<String> = (0..200_000).map(|n| format!("\"{n:x}\":\"\"")).collect();
    let object = format!(
        "{{\"t\":\"1767225600.000000001\",\"in\":\"added\",\"object\":{{\"apiVersion\":\"v1\",\"kind\":\"Node\",\
         \"metadata\":{{\"name\":\"n\",\"uid\":\"u\",\"labels\":{{{}}}}}}}",
        labels.join(",")
    );
    let kib = object.len() as u64 / 1024;
    bodies.truncate(1);
    bodies.push(object.into_bytes());
    let (code, said) = check_within(own_kib() + 64 * kib, "wide.rec", &sealed(&bodies));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("it was cut off"), "{said}");
    // Depth costs no stack.
    let deep =
        format!("{{\"t\":\"1767225600.000000001\",\"in\":\"added\",\"object\":{}", "[".repeat(1_000_000));
    bodies.truncate(1);
    bodies.push(deep.into_bytes());
    let (code, said) = check_within(own_kib() + (64 << 10), "deep.rec", &sealed(&bodies));
    assert_eq!(code, Some(4), "{said}");
}
