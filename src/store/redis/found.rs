//! What stands in the server for a breaker, read and written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::breaker::event::{Event, EventKind};
use crate::breaker::time::{Clock, Reading};
use crate::breaker::{Breaker, Probe};
use crate::store::journal::{Entry, Record, VERSION, lowest_version};

/// The server's time in milliseconds, and the fields of the breaker's hash.
pub type Answer = (u64, Vec<(String, String)>);

/// A breaker that was found.
#[derive(Debug)]
pub struct Found {
    pub revision: String,
    pub breaker: Breaker,
    pub clock: Clock,
    /// How many of the breaker's refusals are counted beside the state.
    pub refused: u64,
    /// When each lease ends, by its field.
    pub leases: BTreeMap<String, u64>,
}

/// An entry of the history.
#[derive(Debug, Serialize, Deserialize)]
pub struct HistoryRecord {
    v: u32,
    clock: Clock,
    events: Vec<Event>,
}

/// All that a record of a later format is trusted to have.
#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

/// The server's clock as a reading. It never boots: only its time counts.
pub fn reading(millis: u64) -> Reading {
    Reading { wall: millis, boot: 0, up: millis }
}

/// The field of a probe's lease. The breaker's own number is in it, for a name can be forgotten and used again.
pub fn lease_field(id: u64, probe: &Probe) -> String {
    format!("lease:{id:016x}:{}", probe.serial)
}

pub fn encode(record: &Record) -> String {
    serde_json::to_string(record).expect("plain data becomes JSON")
}

impl Found {
    /// `None`: nothing is there. An error says why what is there cannot be used.
    pub fn read((_, fields): &Answer) -> Result<Option<Found>, String> {
        if fields.is_empty() {
            return Ok(None);
        }
        let field =
            |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
        let (Some(revision), Some(state)) = (field("stamp"), field("state")) else {
            return Err(FOREIGN.to_owned());
        };
        let Record { clock, state: mut breaker, .. } = decode(state)?;
        let refused = field("refused").and_then(|count| count.parse().ok()).unwrap_or(0);
        breaker.totals.refused = breaker.totals.refused.saturating_add(refused);
        let leases = fields.iter().filter(|(field, _)| field.starts_with("lease:"));
        let leases = leases.filter_map(|(field, ends)| Some((field.clone(), ends.parse().ok()?))).collect();
        Ok(Some(Found { revision: revision.to_owned(), breaker, clock, refused, leases }))
    }

    /// Whether the lease of a probe has not ended.
    pub fn is_leased(&self, probe: &Probe, now: Reading) -> bool {
        self.leases.get(&lease_field(self.breaker.id, probe)).is_some_and(|ends| *ends > now.wall)
    }
}

impl HistoryRecord {
    pub fn new(clock: Clock, events: Vec<Event>) -> HistoryRecord {
        HistoryRecord { v: lowest_version(&events), clock, events }
    }

    pub fn encode(&self) -> String {
        serde_json::to_string(self).expect("plain data becomes JSON")
    }

    /// The entry that these fields of a stream hold.
    pub fn decode(fields: &[(String, String)]) -> Result<Entry, String> {
        let field =
            |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
        let HistoryRecord { clock, mut events, .. } = decode(field("entry").unwrap_or_default())?;
        if let Some(total) = field("count").and_then(|count| count.parse().ok()) {
            for event in &mut events {
                if let EventKind::Refused { count, .. } = &mut event.kind {
                    *count = total;
                }
            }
        }
        Ok(Entry { clock, events })
    }
}

pub const FOREIGN: &str = "the key does not hold a breaker; delete it, or use another database";

fn decode<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
    // The version first: a newer format may still look like this one.
    match serde_json::from_str::<Versioned>(text) {
        Ok(Versioned { v }) if v > VERSION => Err(format!(
            "its breaker has format version {v}, and this brk reads version {VERSION}; install a newer brk"
        )),
        Ok(_) => serde_json::from_str(text).map_err(|_| {
            "its breaker was written by a newer brk, and this one does not understand it; install a newer brk".to_owned()
        }),
        Err(_) => Err(FOREIGN.to_owned()),
    }
}
