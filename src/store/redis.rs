//! The store of many hosts: Redis or Valkey, with two keys for each breaker. The tag in braces keeps them on one node of a
//! cluster.
//!
//!     brk:{NAME}            a hash: `state` (the breaker, as JSON), `stamp` (another with each change of it),
//!                           `refused` (refusals that are not in the state), and a `lease:…` for each probe
//!     brk:{NAME}:history    a stream of what happened, capped
//!
//! A change is a compare-and-swap: read, decide here by the same machine as everywhere, set if the stamp is still the
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
mod line;
mod request;
mod wire;

use std::cell::RefCell;
use std::fmt;
use std::time::Duration;

use redis::Cmd;

use super::file::{FileStore, probes};
use super::journal::{Entry, Record};
use super::place::{Occupant, OwnerRecord};
use super::{LiveProbe, Machine, Origin, Part, Snapshot, Store, StoreError, Unknown, Updated, journal};
use crate::breaker::event::{Event, EventKind};
use crate::breaker::time::{Clock, Reading, Timestamp};
use crate::breaker::{Breaker, Probe};
use crate::name::Name;
use address::Address;
use found::{Answer, Found, Told, lease_field, reading};
use lease::Lease;
use line::Line;
use request::{evaluate, history_key, key};
use wire::Wire;

/// About how many entries a history keeps.
const HISTORY: usize = 10_000;

/// How many entries of a history are asked for at once.
const PART: usize = 500;

/// How many entries are recent.
const FEW: usize = 64;

/// The longest pause before one more attempt to change what others change too, in milliseconds.
const LONGEST_PAUSE: u64 = 250;

/// For how long a connection that nobody uses is trusted, in milliseconds: what stands between may forget it.
const KEPT_FOR: u64 = 5_000;

const READ: &str = include_str!("redis/read.lua");
const SWAP: &str = include_str!("redis/swap.lua");
const COUNT: &str = include_str!("redis/count.lua");

pub struct RedisStore {
    address: Address,
    machine: Machine,
    /// What the last look left open: who looks at thousands of breakers connects once.
    kept: RefCell<Option<(Wire, u64)>>,
    /// This host's own files, for the places of the probes that run here.
    host: Option<FileStore>,
}

/// Of a stream: the number of each entry, and its fields.
type Entries = Vec<(String, Vec<(String, String)>)>;

/// A breaker without the probes that are gone.
struct Settled {
    breaker: Breaker,
    left: Vec<LiveProbe>,
}

/// What a step did to a breaker, and what of it must be written.
enum Writing {
    Nothing,
    /// One more refusal, and nothing else.
    Count(Event),
    All(Vec<Event>),
}

impl RedisStore {
    pub fn new(address: Address, machine: Machine, host: Option<FileStore>) -> RedisStore {
        RedisStore { address, machine, kept: RefCell::new(None), host }
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    fn line(&self) -> Result<Line<'_>, StoreError> {
        Line::open(&self.address, self.machine)
    }

    /// Asks without changing anything, on the line that the last look has left open if it still answers.
    fn look<T>(&self, question: &dyn Fn(&mut Line) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let now = (self.machine.clocks)().up;
        let kept = self.kept.take().filter(|(_, at)| now < at + KEPT_FOR);
        let kept = kept.map(|(wire, _)| Line::again(&self.address, self.machine, wire));
        let is_kept = kept.is_some();
        let mut line = kept.map_or_else(|| self.line(), Ok)?;
        let mut answer = question(&mut line);
        if is_kept && line.has_time() && matches!(answer, Err(StoreError::Away { part: Part::Server, .. })) {
            // The server may have been started anew since.
            line = self.line()?;
            answer = question(&mut line);
        }
        if !matches!(answer, Err(StoreError::Away { part: Part::Server, .. })) {
            self.kept.replace(Some((line.into_wire(), (self.machine.clocks)().up)));
        }
        answer
    }

    fn found(&self, line: &Line, answer: &Answer) -> Result<Option<Found>, StoreError> {
        Found::read(answer).map_err(|why| line.unusable(&why))
    }

    /// Who is in the place of a probe, if it was admitted on this host.
    fn occupant(&self, name: &Name, found: &Found, probe: &Probe) -> Option<Occupant> {
        self.host.as_ref()?.occupant_beside_lease(name, &found.breaker, probe)
    }

    /// Loses the probes whose leases have ended, unless something of them is alive on this host; past its deadline
    /// that is ended. Gives what is left of killed ones.
    fn settle(&self, name: &Name, found: &Found, now: Reading, warnings: &mut Vec<String>) -> Settled {
        let time = found.clock.advanced(now).time();
        let mut settled = Settled { breaker: found.breaker.clone(), left: Vec::new() };
        for probe in &found.breaker.probes {
            let is_leased = found.is_leased(probe, now);
            match (self.occupant(name, found, probe), &self.host) {
                (Some(Occupant::Survivors(holder, survivors)), Some(host))
                    if !is_leased && probe.is_overdue(time) =>
                {
                    warnings.extend(host.evict_beside_lease(name, probe, &holder, &survivors));
                    probes::lose(&mut settled.breaker, probe, &holder);
                }
                (Some(occupant @ Occupant::Survivors(..)), _) => {
                    settled.left.extend(LiveProbe::new(probe, occupant));
                }
                // A brk of this host that is alive keeps its place here as it would in files.
                (Some(Occupant::Holder(_)), _) => {}
                _ if is_leased => {}
                (Some(Occupant::Nobody(holder)), _) => probes::lose(&mut settled.breaker, probe, &holder),
                // Nobody here knows whether its host got as far as to start the command, and hardly any does not.
                _ => settled.breaker.mark_launched_probe_lost(probe.place, probe.generation),
            }
        }
        settled
    }

    /// A pause that grows with each attempt and is another for everybody.
    fn pause(&self, attempt: u32) {
        let longest = LONGEST_PAUSE.min(1 << attempt.min(16));
        std::thread::sleep(Duration::from_millis((self.machine.random)() % (longest + 1)));
    }

    fn swap(
        &self,
        name: &Name,
        found: Option<&Found>,
        breaker: &Breaker,
        clock: Clock,
        events: Vec<Event>,
    ) -> Cmd {
        let stamp = format!("{:016x}", (self.machine.random)());
        let mut state = breaker.clone();
        state.totals.refused = state.totals.refused.saturating_sub(found.map_or(0, |found| found.refused));
        let entry = if events.is_empty() { String::new() } else { Told::new(clock, events).encode() };
        let state =
            found::encode(&Record { v: journal::lowest_version(&[]), clock, events: Vec::new(), state });
        let begun = begun(found, breaker).map(|probe| lease_field(breaker.id, probe)).unwrap_or_default();
        let mut command = evaluate(SWAP, &[&key(name), &history_key(name)]);
        command
            .arg(found.map_or("", |found| &found.stamp))
            .arg(stamp)
            .arg(state)
            .arg(entry)
            .arg(HISTORY)
            .arg(lease::LENGTH.as_millis() as u64)
            .arg(begun);
        if let Some(found) = found {
            let ended = found.leases.keys().filter(|field| {
                !breaker.probes.iter().any(|probe| lease_field(breaker.id, probe) == **field)
            });
            for field in ended {
                command.arg(field);
            }
        }
        command
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Store for RedisStore {
    fn update(
        &self,
        name: &Name,
        unknown: Unknown,
        step: &mut dyn FnMut(&mut Breaker, Timestamp),
    ) -> Result<Option<Updated>, StoreError> {
        let mut line = self.line()?;
        let read = read(&key(name));
        let mut answer: Answer = line.ask(&read)?;
        let mut warnings = Vec::new();
        for attempt in 0.. {
            warnings.clear();
            let found = self.found(&line, &answer)?;
            let now = reading(answer.0);
            let (clock, Settled { mut breaker, left }) = match (&found, unknown) {
                (Some(found), _) => (found.clock.advanced(now), self.settle(name, found, now, &mut warnings)),
                (None, Unknown::Create(policy)) => {
                    let clock = Clock::new(now);
                    let breaker = Breaker::new((self.machine.random)(), policy.clone(), clock.time());
                    (clock, Settled { breaker, left: Vec::new() })
                }
                (None, Unknown::Leave) => return Ok(None),
            };
            if !warnings.is_empty() {
                // To end what was left has taken its time, which is not the server's fault.
                line.starts_anew();
            }
            step(&mut breaker, clock.time());
            super::record_released_probes(&mut breaker, &left);
            let events = breaker.take_events();
            let written: Option<Answer> = match writing(found.as_ref(), &breaker, events.clone()) {
                Writing::Nothing => None,
                Writing::Count(event) => {
                    line.ask::<u64>(&count(name, clock, event))?;
                    None
                }
                Writing::All(events) => {
                    let (time, conflict): (u64, Option<Vec<(String, String)>>) =
                        line.ask(&self.swap(name, found.as_ref(), &breaker, clock, events))?;
                    conflict.map(|fields| (time, fields))
                }
            };
            let Some(conflict) = written else {
                let begun = begun(found.as_ref(), &breaker);
                // Best effort: the lease is what counts, and without files there is nobody here to look at a place.
                let place = begun
                    .zip(self.host.as_ref())
                    .and_then(|(probe, host)| host.claim_beside_lease(name, &breaker, probe).ok());
                let lease = begun.map(|probe| {
                    let field = lease_field(breaker.id, probe);
                    Lease::keep(self.address.clone(), line.peer(), self.machine, name, field)
                });
                let lease = lease.transpose()?;
                return Ok(Some(Updated {
                    breaker,
                    clock,
                    events,
                    place,
                    lease,
                    left,
                    warnings,
                    origin: Origin::Configured,
                }));
            };
            line.goes_on()?;
            answer = if attempt == 0 {
                conflict
            } else {
                self.pause(attempt);
                line.ask(&read)?
            };
        }
        unreachable!("the loop ends by returning")
    }

    fn read(&self, name: &Name) -> Result<Option<Snapshot>, StoreError> {
        let (now, found) = self.look(&|line| {
            let answer: Answer = line.ask(&read(&key(name)))?;
            Ok((reading(answer.0), self.found(line, &answer)?))
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
        self.look(&|line| {
            let answer: Answer = line.ask(&read(&key(name)))?;
            if self.found(line, &answer)?.is_none() {
                return Ok(None);
            }
            let mut history = Vec::new();
            let mut start = "-".to_owned();
            loop {
                // In parts, each in a time of its own: all of it may be megabytes, from far away.
                line.starts_anew();
                let mut command = redis::cmd("XRANGE");
                command.arg(history_key(name)).arg(&start).arg("+").arg("COUNT").arg(PART);
                let entries: Entries = line.ask(&command)?;
                let Some((last, _)) = entries.last() else {
                    return Ok(Some(history));
                };
                // Servers before 6.2 know no range that leaves its start out.
                start = after(last).ok_or_else(|| line.unusable(&format!("an entry has the id {last:?}")))?;
                history.extend(told(line, entries)?);
            }
        })
    }

    fn recent(&self, name: &Name) -> Result<Vec<Entry>, StoreError> {
        let newest =
            redis::cmd("XREVRANGE").arg(history_key(name)).arg("+").arg("-").arg("COUNT").arg(FEW).clone();
        let mut entries = self.look(&|line| {
            let entries = line.ask(&newest)?;
            told(line, entries)
        })?;
        entries.reverse();
        Ok(entries)
    }

    fn names(&self) -> Result<Vec<Name>, StoreError> {
        let mut names = self.look(&|line| {
            // The key of no breaker, for a name is never empty: only whether the store can be used.
            line.ask::<Answer>(&read("brk:{}"))?;
            let mut names = Vec::new();
            let mut cursor = 0u64;
            loop {
                let mut scan = redis::cmd("SCAN");
                let scan = scan.arg(cursor).arg("MATCH").arg("brk:{*}").arg("COUNT").arg(1_000);
                let (next, keys): (u64, Vec<String>) = line.ask(scan)?;
                names.extend(
                    keys.iter()
                        .filter_map(|key| Name::decoded(key.strip_prefix("brk:{")?.strip_suffix('}')?)),
                );
                if next == 0 {
                    return Ok(names);
                }
                cursor = next;
                line.goes_on()?;
            }
        })?;
        // A scan may give a key twice.
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn forget(&self, name: &Name) -> Result<bool, StoreError> {
        let mut line = self.line()?;
        let answer: Answer = line.ask(&read(&key(name)))?;
        // What is no breaker of ours is not ours to remove.
        if self.found(&line, &answer)?.is_none() {
            return Ok(false);
        }
        let removed: u64 = line.ask(redis::cmd("DEL").arg(key(name)).arg(history_key(name)))?;
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

fn told(line: &Line, entries: Entries) -> Result<Vec<Entry>, StoreError> {
    let entries = entries.iter().map(|(_, fields)| Told::decode(fields));
    entries.collect::<Result<_, _>>().map_err(|why| line.unusable(&why))
}

fn read(key: &str) -> Cmd {
    evaluate(READ, &[key])
}

fn count(name: &Name, clock: Clock, event: Event) -> Cmd {
    let mark = match &event.kind {
        EventKind::Refused { why, .. } => format!("{}/{}", event.generation, why.as_str()),
        _ => String::new(),
    };
    let mut command = evaluate(COUNT, &[&key(name), &history_key(name)]);
    command.arg(Told::new(clock, vec![event]).encode()).arg(mark).arg(HISTORY);
    command
}

fn writing(found: Option<&Found>, breaker: &Breaker, events: Vec<Event>) -> Writing {
    let Some(found) = found else {
        return Writing::All(events);
    };
    if let [Event { kind: EventKind::Refused { .. }, .. }] = events.as_slice() {
        let mut before = found.breaker.clone();
        before.totals.refused = breaker.totals.refused;
        if before == *breaker {
            return events.into_iter().next().map_or(Writing::Nothing, Writing::Count);
        }
    }
    if events.is_empty() && found.breaker == *breaker { Writing::Nothing } else { Writing::All(events) }
}

/// The probe that a step began.
fn begun<'a>(found: Option<&Found>, breaker: &'a Breaker) -> Option<&'a Probe> {
    let before = found.map_or(&[][..], |found| &found.breaker.probes);
    breaker.probes.iter().find(|probe| !before.contains(probe))
}
