//! The journal of one breaker: JSON Lines, each holding what happened and the whole state after it. The newest whole
//! record is the state; the records are the history.
//!
//! A record ends with a checksum of all that stands before it, then a newline. Durability by cases, on a file system
//! that may write a record's bytes in any order and stop anywhere, but leaves bytes alone that were not written to:
//! - a crash while a record is appended leaves a torn last line. It is not read, and cut off by the next writer:
//!   only the record being written is lost.
//! - a crash while the last refusal is rewritten in place leaves a line whose checksum is wrong. The record before
//!   it is the state: the count of those refusals is lost, and nothing else, for refusals move nothing.
//! - a crash while the journal is compacted leaves the old file or the new one, for the new one is synced before it
//!   is renamed over the old.
//!
//! Not here: locks, paths, and who may write (`file`).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde::{Deserialize, Serialize};

use crate::breaker::Breaker;
use crate::breaker::event::{Event, EventKind};
use crate::breaker::time::Clock;

/// The newest format that this program reads and writes.
///
/// - 1: version 0.1.0. Since then fields with a default were added to the state: `Opening::outage` and `runs`,
///   `Totals::reopened`, `Policy::cooldown_runs`, `Breaker::notices`, what a command said (`Told`), and to the event `closed` how long the outage was. A
///   0.1.0 `brk` drops them, and goes by the time part of a cooldown alone. `last_heard` is no longer written; 0.1.0 does
///   without it.
/// - 2: the event `inconclusive`.
///
/// A record bears the lowest version that has all it says, so that an older `brk` on the same files, or on the same shared
/// store, goes on as long as it can. Without a new version may be added: a field that has a serde default,
/// and that a `brk` without it may drop without becoming wrong. A new event, or a new variant of
/// any kind, takes a new version here and a line in `lowest_version`: an older `brk` then refuses the record and leaves it alone.
pub const VERSION: u32 = 2;

/// How every record of any format starts.
const START: &[u8] = b"{\"v\":";

/// The lowest format that has these events.
pub fn lowest_version(events: &[Event]) -> u32 {
    let needs_2 = |event: &Event| matches!(event.kind, EventKind::Inconclusive { .. });
    if events.iter().any(needs_2) { 2 } else { 1 }
}

/// A journal that would grow beyond this is compacted first, in bytes. It holds to the byte unless a single record is
/// longer than what `KEEP` leaves of it.
pub const COMPACT_AT: u64 = 1 << 20;

/// What a compaction keeps of the newest records, in bytes.
const KEEP: u64 = COMPACT_AT / 2;

/// One read of this size holds the newest record, unless its window is large.
const TAIL: u64 = 4 << 10;

const CHECKSUM: &[u8] = b",\"crc\":\"";

/// `00000000"}` after the key.
const CHECKSUM_LEN: usize = CHECKSUM.len() + 8 + 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub v: u32,
    /// The breaker's time of the record, and the clocks that it was read from.
    pub clock: Clock,
    pub events: Vec<Event>,
    pub state: Breaker,
}

/// A record without its state: what a history is made of.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Entry {
    pub clock: Clock,
    pub events: Vec<Event>,
}

/// What the end of a journal says.
#[derive(Debug)]
pub enum Tail {
    /// No record was ever completed.
    Empty,
    Found(Box<Newest>),
    /// There is something, and nothing of it can be read.
    Damaged,
    /// Written by a newer program.
    Newer(u32),
    /// The newest record is whole, and this program does not understand it.
    Unknown,
}

/// The newest whole record, and where it stands.
#[derive(Debug)]
pub struct Newest {
    pub record: Record,
    /// Where its line starts and ends, newline included.
    span: (u64, u64),
    /// Where the next line goes; what stands behind it is torn.
    end: u64,
}

enum Line {
    Whole(Box<Record>),
    Newer(u32),
    /// The checksum is right, and the content is not understood.
    Unknown,
    Broken,
}

impl From<Record> for Entry {
    fn from(record: Record) -> Entry {
        Entry { clock: record.clock, events: record.events }
    }
}

impl Record {
    /// The record as a line.
    fn encode(&self) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        line.pop();
        let sum = crc32fast::hash(&line);
        line.extend_from_slice(CHECKSUM);
        line.extend_from_slice(format!("{sum:08x}\"}}\n").as_bytes());
        Ok(line)
    }

    /// The refusals that this record counts, where that is all it tells.
    fn refusals(&self) -> Option<&Event> {
        match self.events.as_slice() {
            [event] if matches!(event.kind, EventKind::Refused { .. }) => Some(event),
            _ => None,
        }
    }
}

/// Reads the state from the end of the journal.
pub fn tail(file: &File) -> io::Result<Tail> {
    let len = file.metadata()?.len();
    let mut size = TAIL;
    loop {
        let start = len.saturating_sub(size);
        let bytes = read_at(file, start, len)?;
        match newest(&bytes, start) {
            Tail::Damaged if start > 0 => size = size.saturating_mul(8),
            tail => return Ok(tail),
        }
    }
}

/// The newest whole record in the bytes of a journal from `start` to its end.
fn newest(bytes: &[u8], start: u64) -> Tail {
    let Some(last_newline) = bytes.iter().rposition(|&byte| byte == b'\n') else {
        let torn = bytes.iter().zip(START).all(|(found, expected)| found == expected)
            && bytes.get(START.len()).is_none_or(u8::is_ascii_digit);
        return if start == 0 && torn { Tail::Empty } else { Tail::Damaged };
    };
    let end = last_newline + 1;
    let mut line_end = end;
    while line_end > 0 {
        let line_start = bytes[..line_end - 1].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        match decode(&bytes[line_start..line_end]) {
            Line::Whole(record) => {
                let at = |offset: usize| start + offset as u64;
                let span = (at(line_start), at(line_end));
                return Tail::Found(Box::new(Newest { record: *record, span, end: at(end) }));
            }
            Line::Newer(version) => return Tail::Newer(version),
            Line::Unknown => return Tail::Unknown,
            Line::Broken => line_end = line_start,
        }
    }
    Tail::Damaged
}

/// All whole records, oldest first.
pub fn records(file: &File) -> io::Result<Vec<Record>> {
    let bytes = read_at(file, 0, file.metadata()?.len())?;
    let lines = bytes.split_inclusive(|&byte| byte == b'\n').map(decode);
    Ok(lines.filter_map(|line| if let Line::Whole(record) = line { Some(*record) } else { None }).collect())
}

/// The entries in the last `size` bytes, oldest first.
pub fn recent(file: &File, size: u64) -> io::Result<Vec<Entry>> {
    let len = file.metadata()?.len();
    // The line that the first byte belongs to is cut, and its checksum says so.
    let bytes = read_at(file, len.saturating_sub(size), len)?;
    Ok(bytes.split_inclusive(|&byte| byte == b'\n').filter_map(entry).collect())
}

/// A record as bytes, and where they go in the journal.
pub struct Placed {
    line: Vec<u8>,
    start: u64,
    /// What stands behind this is torn. It is cut off before a line is appended.
    end: Option<u64>,
}

impl Placed {
    /// The place of a record after the newest one, or in its place where it only counts one more of the same refusals.
    pub fn after(newest: Option<&Newest>, record: &Record) -> io::Result<Placed> {
        if let Some(newest) = newest
            && newest.span.1 == newest.end
            && let Some(line) = merged(newest, record)?
        {
            return Ok(Placed { line, start: newest.span.0, end: None });
        }
        let end = newest.map_or(0, |newest| newest.end);
        Ok(Placed { line: record.encode()?, start: end, end: Some(end) })
    }

    /// Whether the journal is no longer than it may be once this is written.
    pub fn fits(&self) -> bool {
        self.start + self.line.len() as u64 <= COMPACT_AT
    }

    pub fn write(&self, file: &File) -> io::Result<()> {
        if let Some(end) = self.end
            && file.metadata()?.len() != end
        {
            file.set_len(end)?;
        }
        file.write_all_at(&self.line, self.start)
    }
}

/// The newest lines of a journal, as many as a compaction keeps; at least the newest whole record.
pub fn newest_lines(file: &File, newest: &Newest) -> io::Result<Vec<u8>> {
    let start = newest.end.saturating_sub(KEEP).min(newest.span.0);
    let bytes = read_at(file, start, newest.end)?;
    let cut = if start == 0 || start == newest.span.0 {
        0
    } else {
        bytes.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1)
    };
    Ok(bytes[cut..].to_vec())
}

/// The line that counts one more of the refusals that the newest record tells of, if `record` is just that. It is no
/// shorter than the line that it replaces.
fn merged(newest: &Newest, record: &Record) -> io::Result<Option<Vec<u8>>> {
    let (Some(before), Some(after)) = (newest.record.refusals(), record.refusals()) else {
        return Ok(None);
    };
    let (EventKind::Refused { why, count, .. }, EventKind::Refused { why: same, .. }) =
        (&before.kind, &after.kind)
    else {
        return Ok(None);
    };
    if why != same || before.generation != after.generation {
        return Ok(None);
    }
    let total = count.saturating_add(1);
    let mut record = record.clone();
    for event in &mut record.events {
        if let EventKind::Refused { count, .. } = &mut event.kind {
            *count = total;
        }
    }
    let mut line = record.encode()?;
    let old = (newest.span.1 - newest.span.0) as usize;
    if line.len() < old {
        line.pop();
        line.resize(old - 1, b' ');
        line.push(b'\n');
    }
    Ok(Some(line))
}

fn decode(line: &[u8]) -> Line {
    let Some(text) = line.strip_suffix(b"\n").map(<[u8]>::trim_ascii_end) else {
        return Line::Broken;
    };
    if is_whole(text)
        && let Ok(record) = serde_json::from_slice::<Record>(text)
        && record.v <= VERSION
    {
        return Line::Whole(Box::new(record));
    }
    // Whatever its checksum: a later format may seal its lines in another way, and what only might be one is left alone.
    match serde_json::from_slice::<Versioned>(text) {
        Ok(Versioned { v }) if v > VERSION => Line::Newer(v),
        // Nothing is torn: a `brk` that knows more has written it, and an older record is not the state.
        _ if is_whole(text) => Line::Unknown,
        _ => Line::Broken,
    }
}

/// Whether the checksum at the end of a line is that of what stands before it.
fn is_whole(text: &[u8]) -> bool {
    seal(text).is_some_and(|(body, sum)| sum == format!("{:08x}\"}}", crc32fast::hash(body)).as_bytes())
}

/// A line in two: what the checksum is over, and the checksum.
fn seal(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (body, seal) = text.split_at(text.len().checked_sub(CHECKSUM_LEN)?);
    Some((body, seal.strip_prefix(CHECKSUM)?))
}

/// The entry of a whole line of this program's format.
fn entry(line: &[u8]) -> Option<Entry> {
    let text = line.strip_suffix(b"\n")?.trim_ascii_end();
    let is_ours =
        is_whole(text) && matches!(serde_json::from_slice(text), Ok(Versioned { v }) if v <= VERSION);
    is_ours.then(|| serde_json::from_slice(text).ok()).flatten()
}

/// All that a record of a later format is trusted to have.
#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

fn read_at(file: &File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], start + filled as u64) {
            // Compacted by another while we read without the lock: what is there is all there is.
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests;
