//! A journal that was cut off, flipped or made up: what is read is a record that was written, or nothing.

use std::collections::BTreeSet;
use std::io::Write as _;

use proptest::prelude::*;

use super::*;
use crate::breaker::event::RefusedBy;
use crate::breaker::outcome::{Ending, Verdict};
use crate::breaker::policy::Policy;
use crate::breaker::time::{Millis, Reading, Timestamp};
use crate::breaker::{Admission, AdmissionRequest, CooldownParts, Mode, Refusal, Report, Task};

fn record(clock: Clock, breaker: &mut Breaker) -> Record {
    let events = breaker.take_events();
    Record { v: lowest_version(&events), clock, events, state: breaker.clone() }
}

/// A few records, as a store would write them.
fn lived() -> Vec<Record> {
    let clock = Clock::new(Reading { wall: 1_700_000_000_000, boot: 1, up: 5_000 });
    let now = clock.time();
    let policy = Policy::default();
    let mut breaker = Breaker::new(7, policy.clone(), now);
    let mut records = Vec::new();
    for step in 0..8_u64 {
        let now = now.saturating_add(Millis(step));
        let request = AdmissionRequest {
            mode: Mode::Enforce,
            pid: 1,
            lifetime: None,
            task: Task::Command,
            cooldown: CooldownParts::Both,
            notify: None,
        };
        if let Admission::Granted(permit) = breaker.admit(&policy, &request, now) {
            let (ending, verdict) = if step == 1 {
                (Ending::Exited(0), Verdict::Success)
            } else {
                (Ending::Exited(7), Verdict::Failure)
            };
            let program = "prog\u{fffd}\"\\".to_owned();
            let report = Report {
                ending,
                verdict,
                duration: Millis(3),
                program,
                task: Task::Command,
                told: crate::breaker::event::Told::default(),
                least_wait: Millis::ZERO,
                notify: None,
            };
            breaker.complete(&permit, report, &policy, now, 0.5);
        }
        records.push(record(clock, &mut breaker));
    }
    records
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("written");
    file
}

/// Writes records one after the other, merging refusals as the store does.
fn written(records: &[Record]) -> Vec<u8> {
    let file = file(b"");
    for record in records {
        let tail = tail(&file).expect("read");
        let before = if let Tail::Found(newest) = &tail { Some(&**newest) } else { None };
        Placed::after(before, record).and_then(|placed| placed.write(&file)).expect("written");
    }
    read_at(&file, 0, file.metadata().expect("metadata").len()).expect("read")
}

/// What may be read: every state that a whole line of these bytes holds.
fn states(bytes: &[u8]) -> BTreeSet<String> {
    let lines = bytes.split_inclusive(|&byte| byte == b'\n');
    lines
        .filter_map(|line| match decode(line) {
            Line::Whole(record) => Some(serde_json::to_string(&record).expect("text")),
            Line::Newer(_) | Line::Unknown | Line::Broken => None,
        })
        .collect()
}

fn found(bytes: &[u8]) -> Option<String> {
    match newest(bytes, 0) {
        Tail::Found(newest) => Some(serde_json::to_string(&newest.record).expect("text")),
        Tail::Empty | Tail::Damaged => None,
        Tail::Newer(version) => panic!("taken for version {version}"),
        Tail::Unknown => panic!("taken for what a newer brk wrote"),
    }
}

#[test]
fn any_prefix_gives_the_newest_whole_record() {
    let bytes = written(&lived());
    for length in 0..=bytes.len() {
        let cut = &bytes[..length];
        let last = cut.iter().rposition(|&byte| byte == b'\n').map(|at| &cut[..=at]);
        let expected = last.and_then(found);
        assert_eq!(found(cut), expected, "cut at {length}");
        assert_eq!(last.is_some(), expected.is_some(), "cut at {length}");
    }
    assert!(matches!(newest(b"", 0), Tail::Empty));
    assert!(matches!(newest(&bytes[..20], 0), Tail::Empty), "a first record that was torn");
    assert!(matches!(newest(b"{\"v\":x", 0), Tail::Damaged));
}

/// Whether this byte is the version of the newest line, and now a later one.
fn is_later_version(bytes: &[u8], at: usize) -> bool {
    let line = bytes[..bytes.len() - 1].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    at == line + b"{\"v\":".len() && (b'2'..=b'9').contains(&bytes[at])
}

/// Flips bits of every byte; gives how many flips there were, or the first that `read` takes for what was not written.
fn flipped(bytes: &[u8], read: impl Fn(&[u8]) -> Option<String>) -> Result<usize, String> {
    let written = states(bytes);
    let mut flips = 0;
    for at in 0..bytes.len() {
        for bit in [0x01, 0x02, 0x20, 0x80] {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= bit;
            if is_later_version(&flipped, at) {
                // Left alone, as what a newer program wrote would be.
                assert!(matches!(newest(&flipped, 0), Tail::Newer(_)), "byte {at} ^ {bit}");
                continue;
            }
            if let Some(state) = read(&flipped).filter(|state| !written.contains(state)) {
                return Err(format!("byte {at} ^ {bit}: {state}"));
            }
            flips += 1;
        }
    }
    Ok(flips)
}

/// Fills stretches with zeros, as a disk may that wrote blocks in its own order; as above.
fn holed(bytes: &[u8], read: impl Fn(&[u8]) -> Option<String>) -> Result<usize, String> {
    let written = states(bytes);
    let mut holes = 0;
    for at in (0..bytes.len()).step_by(7) {
        for size in [1, 64, 512, 4096] {
            let mut holed = bytes.to_vec();
            let end = (at + size).min(holed.len());
            holed[at..end].fill(0);
            if let Some(state) = read(&holed).filter(|state| !written.contains(state)) {
                return Err(format!("{size} zeros at {at}: {state}"));
            }
            holes += 1;
        }
    }
    Ok(holes)
}

#[test]
fn what_was_damaged_gives_a_record_that_was_written_or_none() {
    let bytes = written(&lived());
    let flips = flipped(&bytes, found).unwrap_or_else(|error| panic!("{error}"));
    let holes = holed(&bytes, found).unwrap_or_else(|error| panic!("{error}"));
    println!("proof: journal: {} prefixes, {flips} flipped bytes, {holes} holes", bytes.len() + 1);
}

#[test]
fn the_harness_notices_a_reader_that_trusts() {
    // One that does not look at the checksum.
    let trusting = |bytes: &[u8]| {
        let line = bytes.trim_ascii_end().rsplit(|&byte| byte == b'\n').next()?;
        let record: Record = serde_json::from_slice(line).ok()?;
        serde_json::to_string(&record).ok()
    };
    // And one that, beside this, takes zeros for nothing.
    let skipping = |bytes: &[u8]| {
        let kept: Vec<u8> = bytes.iter().copied().filter(|&byte| byte != 0).collect();
        trusting(&kept)
    };
    let bytes = written(&lived());
    assert!(flipped(&bytes, trusting).is_err() && holed(&bytes, skipping).is_err());
    println!("proof: breaks: journal: 2 of 2 noticed");
}

#[test]
fn refusals_of_one_kind_are_one_line() {
    let mut records = lived();
    let clock = records[0].clock;
    let mut breaker = records.pop().expect("a record").state;
    let mut refuse = |why, retry_at| {
        breaker.refuse(Refusal::new(why, retry_at), Mode::Enforce, None, clock.time());
        record(clock, &mut breaker)
    };
    let first: Vec<_> = (0..30).map(|_| refuse(RefusedBy::Open, Some(Timestamp(9)))).collect();
    let other = refuse(RefusedBy::Busy, None);
    let lines = |records: &[Record]| written(records).iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(lines(&first), 1);
    assert_eq!(lines(&[&first[..], &[other]].concat()), 2);
    let newest = found(&written(&first)).expect("a record");
    assert!(newest.contains("\"count\":30"), "{newest}");
}

#[test]
fn a_later_version_is_known_whatever_its_seal() {
    let bytes = written(&lived());
    let text = String::from_utf8(bytes.clone()).expect("text");
    let last = text.trim_end().lines().last().expect("a line");
    let body = last.trim_end()[..last.trim_end().len() - CHECKSUM_LEN].replacen("{\"v\":1", "{\"v\":9", 1);
    let resealed = format!("{body},\"crc\":\"{:08x}\"}}\n", crc32fast::hash(body.as_bytes()));
    for line in [resealed.as_str(), "{\"v\":3}\n", "{\"v\":4000000000,\"seal\":[1]}\n"] {
        let all = [&bytes[..], line.as_bytes()].concat();
        assert!(matches!(newest(&all, 0), Tail::Newer(_)), "{line}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = newest(&bytes, 0);
        let _ = newest(&bytes, 1);
        let _ = (records(&file(&bytes)), recent(&file(&bytes), 100));
    }

    #[test]
    fn no_lines_make_it_panic(lines in "(\\{\"v\":[0-9]{1,12}[^\n]{0,40}\n|[^\n]{0,40}\n){0,6}") {
        let _ = newest(lines.as_bytes(), 0);
    }
}

#[test]
fn a_record_fits_up_to_the_last_byte_of_the_bound() {
    let records = lived();
    let (before, after) = (records[0].clone(), &records[1]);
    let len = after.encode().expect("a line").len() as u64;
    let fits = |end: u64| {
        let newest = Newest { record: before.clone(), span: (end - 10, end), end };
        Placed::after(Some(&newest), after).expect("a place").fits()
    };
    assert!(fits(COMPACT_AT - len));
    assert!(!fits(COMPACT_AT - len + 1));
    assert!(!fits(COMPACT_AT));
}

#[test]
fn a_whole_record_that_is_not_understood_is_no_torn_line() {
    let records = lived();
    let start = written(&records[..1]);
    for (old, new) in [("\"events\":", "\"acts\":"), ("\"is\":\"closed\"", "\"is\":\"ajar\"")] {
        let text = String::from_utf8(records[1].encode().expect("a line")).expect("text");
        let body = text.split(",\"crc\":").next().expect("a body").replace(old, new);
        assert!(body.contains(new), "{body}");
        let line = format!("{body},\"crc\":\"{:08x}\"}}\n", crc32fast::hash(body.as_bytes()));
        let bytes = [&start[..], line.as_bytes()].concat();
        assert!(matches!(tail(&file(&bytes)).expect("an end"), Tail::Unknown), "{line}");
    }
}
