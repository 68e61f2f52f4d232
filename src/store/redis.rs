//! The store of many hosts: Redis or Valkey, with two keys for each breaker. The tag in braces keeps them on one node of a
//! cluster.
//!
//!     brk:{NAME}            a hash: `state` (the breaker, as JSON), `stamp` (its revision: another with each change),
//!                           `refused` (refusals that are not in the state), and a `lease:…` for each probe
//!     brk:{NAME}:history    a stream of what happened, capped
//!
//! A change is a compare-and-swap: read, decide here by the same rules as everywhere, set if the revision is still the
//! one that was read. A refusal moves nothing, so it is counted without comparing: a crowd that is refused does not get
//! in its own way. All time is the server's. The scripts compare, set, append and tell the time; no rule of the breaker
//! is in them.
//!
//! Where an answer is lost, nobody knows whether the change was made. At worst a run is counted here and in the host's
//! own files as well, or a probe that nobody makes keeps its place for the length of a lease.
//!
//! Not here: what to do when the server is away (`shared`).

pub mod address;
mod found;
pub mod lease;
mod request;
mod session;
mod visit;
mod wire;

use std::cell::RefCell;
use std::fmt;

use super::file::FileStore;
use super::journal::Entry;
use super::place::{Occupant, OwnerRecord};
use super::{LiveProbe, Part, Platform, Snapshot, Store, StoreError, Updated};
use crate::breaker::policy::Policy;
use crate::breaker::time::Timestamp;
use crate::breaker::{Breaker, Probe};
use crate::name::Name;
use address::Address;
use found::{Answer, Found, HistoryRecord, reading};
use request::{history_key, key, read};
use session::Session;
use wire::Wire;

/// How many entries of a history are asked for at once.
const PART: usize = 500;

/// How many entries are recent.
const FEW: usize = 64;

/// For how long a connection that nobody uses is trusted, in milliseconds: what stands between may forget it.
const IDLE_TIMEOUT: u64 = 5_000;

pub struct RedisStore {
    address: Address,
    platform: Platform,
    /// What the last look left open: who looks at thousands of breakers connects once.
    idle: RefCell<Option<(Wire, u64)>>,
    /// This host's own files, for the places of the probes that run here.
    host: Option<FileStore>,
}

/// Of a stream: the number of each entry, and its fields.
type Entries = Vec<(String, Vec<(String, String)>)>;

impl RedisStore {
    pub fn new(address: Address, platform: Platform, host: Option<FileStore>) -> RedisStore {
        RedisStore { address, platform, idle: RefCell::new(None), host }
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    fn session(&self) -> Result<Session<'_>, StoreError> {
        Session::open(&self.address, self.platform)
    }

    /// Asks without changing anything, on the connection that the last look has left open if it still answers.
    fn look<T>(&self, question: &dyn Fn(&mut Session) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let now = (self.platform.clocks)().up;
        let idle = self.idle.take().filter(|(_, at)| now < at + IDLE_TIMEOUT);
        let idle = idle.map(|(wire, _)| Session::reuse(&self.address, self.platform, wire));
        let is_idle = idle.is_some();
        let mut session = idle.map_or_else(|| self.session(), Ok)?;
        let mut answer = question(&mut session);
        if is_idle
            && session.has_budget()
            && matches!(answer, Err(StoreError::Unavailable { part: Part::Server, .. }))
        {
            // The server may have been started anew since.
            session = self.session()?;
            answer = question(&mut session);
        }
        if !matches!(answer, Err(StoreError::Unavailable { part: Part::Server, .. })) {
            self.idle.replace(Some((session.into_wire(), (self.platform.clocks)().up)));
        }
        answer
    }

    fn found(&self, session: &Session, answer: &Answer) -> Result<Option<Found>, StoreError> {
        Found::read(answer).map_err(|why| session.unusable(&why))
    }

    /// Who is in the place of a probe, if it was admitted on this host.
    fn occupant(&self, name: &Name, found: &Found, probe: &Probe) -> Option<Occupant> {
        self.host.as_ref()?.occupant_beside_lease(name, &found.breaker, probe)
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Store for RedisStore {
    fn update<T>(
        &self,
        name: &Name,
        policy: &Policy,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<(T, Updated), StoreError> {
        let mut visit = self.visit(name)?;
        loop {
            let start = self.start(&mut visit, name)?;
            let start = start.unwrap_or_else(|| self.start_new(&visit, policy));
            if let Some(done) = self.attempt(&mut visit, name, start, step)? {
                return Ok(done);
            }
        }
    }

    fn update_existing<T>(
        &self,
        name: &Name,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<Option<(T, Updated)>, StoreError> {
        let mut visit = self.visit(name)?;
        while let Some(start) = self.start(&mut visit, name)? {
            if let Some(done) = self.attempt(&mut visit, name, start, step)? {
                return Ok(Some(done));
            }
        }
        Ok(None)
    }

    fn read(&self, name: &Name) -> Result<Option<Snapshot>, StoreError> {
        let (now, found) = self.look(&|session| {
            let answer: Answer = session.query(&read(&key(name)))?;
            Ok((reading(answer.0), self.found(session, &answer)?))
        })?;
        Ok(found.map(|found| {
            let clock = found.clock.advanced(now);
            let live = |probe: &Probe| {
                let here = self.occupant(name, &found, probe).and_then(|here| LiveProbe::new(probe, here));
                match here {
                    Some(live) => Some(live),
                    None if !found.is_leased(probe, now) => None,
                    None => LiveProbe::new(probe, Occupant::Holder(OwnerRecord::default())),
                }
            };
            let alive = found.breaker.probes.iter().filter_map(live).collect();
            Snapshot { breaker: found.breaker, clock, alive }
        }))
    }

    fn history(&self, name: &Name) -> Result<Option<Vec<Entry>>, StoreError> {
        self.look(&|session| {
            let answer: Answer = session.query(&read(&key(name)))?;
            if self.found(session, &answer)?.is_none() {
                return Ok(None);
            }
            let mut history = Vec::new();
            let mut start = "-".to_owned();
            loop {
                // In parts, each in a time of its own: all of it may be megabytes, from far away.
                session.reset_deadline();
                let mut command = redis::cmd("XRANGE");
                command.arg(history_key(name)).arg(&start).arg("+").arg("COUNT").arg(PART);
                let entries: Entries = session.query(&command)?;
                let Some((last, _)) = entries.last() else {
                    return Ok(Some(history));
                };
                // Servers before 6.2 know no range that leaves its start out.
                start =
                    after(last).ok_or_else(|| session.unusable(&format!("an entry has the id {last:?}")))?;
                history.extend(decode_entries(session, entries)?);
            }
        })
    }

    fn recent(&self, name: &Name) -> Result<Vec<Entry>, StoreError> {
        let newest =
            redis::cmd("XREVRANGE").arg(history_key(name)).arg("+").arg("-").arg("COUNT").arg(FEW).clone();
        let mut entries = self.look(&|session| {
            let entries = session.query(&newest)?;
            decode_entries(session, entries)
        })?;
        entries.reverse();
        Ok(entries)
    }

    fn names(&self) -> Result<Vec<Name>, StoreError> {
        let mut names = self.look(&|session| {
            // The key of no breaker, for a name is never empty: only whether the store can be used.
            session.query::<Answer>(&read("brk:{}"))?;
            let mut names = Vec::new();
            let mut cursor = 0u64;
            loop {
                let mut scan = redis::cmd("SCAN");
                let scan = scan.arg(cursor).arg("MATCH").arg("brk:{*}").arg("COUNT").arg(1_000);
                let (next, keys): (u64, Vec<String>) = session.query(scan)?;
                names.extend(
                    keys.iter()
                        .filter_map(|key| Name::decoded(key.strip_prefix("brk:{")?.strip_suffix('}')?)),
                );
                if next == 0 {
                    return Ok(names);
                }
                cursor = next;
                session.extend_deadline()?;
            }
        })?;
        // A scan may give a key twice.
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn forget(&self, name: &Name) -> Result<bool, StoreError> {
        let mut session = self.session()?;
        let answer: Answer = session.query(&read(&key(name)))?;
        // What is no breaker of ours is not ours to remove.
        if self.found(&session, &answer)?.is_none() {
            return Ok(false);
        }
        let removed: u64 = session.query(redis::cmd("DEL").arg(key(name)).arg(history_key(name)))?;
        if let Some(host) = &self.host {
            host.forget_beside_leases(name);
        }
        Ok(removed > 0)
    }
}

/// The lowest id above that of an entry.
fn after(id: &str) -> Option<String> {
    let (time, number) = id.split_once('-')?;
    Some(format!("{time}-{}", number.parse::<u64>().ok()?.checked_add(1)?))
}

fn decode_entries(session: &Session, entries: Entries) -> Result<Vec<Entry>, StoreError> {
    let entries = entries.iter().map(|(_, fields)| HistoryRecord::decode(fields));
    entries.collect::<Result<_, _>>().map_err(|why| session.unusable(&why))
}
