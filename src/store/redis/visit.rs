//! A change of a breaker in the server: read, step, compare and swap, until nobody else was faster.

use std::time::Duration;

use redis::Cmd;

use super::RedisStore;
use super::found::{self, Answer, Found, HistoryRecord, lease_field, reading};
use super::lease::{self, Lease};
use super::request::{evaluate, history_key, key, read};
use super::session::Session;
use crate::breaker::event::{Event, EventKind};
use crate::breaker::policy::Policy;
use crate::breaker::time::{Clock, Reading, Timestamp};
use crate::breaker::{Breaker, Probe};
use crate::name::Name;
use crate::store::file::probes;
use crate::store::journal::{self, Record};
use crate::store::place::Occupant;
use crate::store::{AdmittedBy, LiveProbe, StoreError, Updated};

/// About how many entries a history keeps.
const HISTORY: usize = 10_000;

/// The longest pause before one more attempt to change what others change too, in milliseconds.
const LONGEST_PAUSE: u64 = 250;

const SWAP: &str = include_str!("swap.lua");
const COUNT: &str = include_str!("count.lua");

/// A breaker without the probes that are gone.
struct Reaped {
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

/// A change that is tried until nobody else was faster.
pub(super) struct Visit<'a> {
    session: Session<'a>,
    /// The query that reads the breaker.
    read: Cmd,
    answer: Answer,
    attempt: u32,
}

impl Visit<'_> {
    /// Somebody else was faster; the next attempt starts from what is there now.
    fn start_over(&mut self, store: &RedisStore, conflict: Answer) -> Result<(), StoreError> {
        self.session.extend_deadline()?;
        self.answer = if self.attempt == 0 {
            conflict
        } else {
            store.pause(self.attempt);
            self.session.query(&self.read)?
        };
        self.attempt += 1;
        Ok(())
    }
}

/// A breaker as an attempt finds it, before its step.
pub(super) struct Start {
    found: Option<Found>,
    clock: Clock,
    reaped: Reaped,
    warnings: Vec<String>,
}

impl RedisStore {
    /// Reads a breaker that is to be changed.
    pub(super) fn visit(&self, name: &Name) -> Result<Visit<'_>, StoreError> {
        let mut session = self.session()?;
        let read = read(&key(name));
        let answer = session.query(&read)?;
        Ok(Visit { session, read, answer, attempt: 0 })
    }

    /// Loses the probes whose leases have ended, unless something of them is alive on this host; past its deadline
    /// that is ended. Gives what is left of killed ones.
    fn reap_probes(&self, name: &Name, found: &Found, now: Reading, warnings: &mut Vec<String>) -> Reaped {
        let time = found.clock.advanced(now).time();
        let mut reaped = Reaped { breaker: found.breaker.clone(), left: Vec::new() };
        for probe in &found.breaker.probes {
            let is_leased = found.is_leased(probe, now);
            match (self.occupant(name, found, probe), &self.host) {
                (Some(Occupant::Survivors(holder, survivors)), Some(host))
                    if !is_leased && probe.is_overdue(time) =>
                {
                    warnings.extend(host.evict_beside_lease(name, probe, &holder, &survivors));
                    probes::lose(&mut reaped.breaker, probe, &holder);
                }
                (Some(occupant @ Occupant::Survivors(..)), _) => {
                    reaped.left.extend(LiveProbe::new(probe, occupant));
                }
                // A brk of this host that is alive keeps its place here as it would in files.
                (Some(Occupant::Holder(_)), _) => {}
                _ if is_leased => {}
                (Some(Occupant::Nobody(holder)), _) => probes::lose(&mut reaped.breaker, probe, &holder),
                // Nobody here knows whether its host got as far as to start the command, and hardly any does not.
                _ => reaped.breaker.mark_launched_probe_lost(probe.place, probe.generation),
            }
        }
        reaped
    }

    /// A pause that grows with each attempt and is another for everybody.
    fn pause(&self, attempt: u32) {
        let longest = LONGEST_PAUSE.min(1 << attempt.min(16));
        std::thread::sleep(Duration::from_millis((self.platform.random)() % (longest + 1)));
    }

    fn swap(
        &self,
        name: &Name,
        found: Option<&Found>,
        breaker: &Breaker,
        clock: Clock,
        events: Vec<Event>,
    ) -> Cmd {
        let revision = format!("{:016x}", (self.platform.random)());
        let mut state = breaker.clone();
        state.totals.refused = state.totals.refused.saturating_sub(found.map_or(0, |found| found.refused));
        let entry =
            if events.is_empty() { String::new() } else { HistoryRecord::new(clock, events).encode() };
        let state =
            found::encode(&Record { v: journal::lowest_version(&[]), clock, events: Vec::new(), state });
        let begun = begun(found, breaker).map(|probe| lease_field(breaker.id, probe)).unwrap_or_default();
        let mut command = evaluate(SWAP, &[&key(name), &history_key(name)]);
        command
            .arg(found.map_or("", |found| &found.revision))
            .arg(revision)
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

    /// What an attempt starts from, if the breaker is known.
    pub(super) fn start(&self, visit: &mut Visit, name: &Name) -> Result<Option<Start>, StoreError> {
        let Some(found) = self.found(&visit.session, &visit.answer)? else {
            return Ok(None);
        };
        let now = reading(visit.answer.0);
        let mut warnings = Vec::new();
        let reaped = self.reap_probes(name, &found, now, &mut warnings);
        if !warnings.is_empty() {
            // To end what was left has taken its time, which is not the server's fault.
            visit.session.reset_deadline();
        }
        Ok(Some(Start { clock: found.clock.advanced(now), found: Some(found), reaped, warnings }))
    }

    /// What an attempt starts from if the breaker is not known.
    pub(super) fn start_new(&self, visit: &Visit, policy: &Policy) -> Start {
        let clock = Clock::new(reading(visit.answer.0));
        let breaker = Breaker::new((self.platform.random)(), policy.clone(), clock.time());
        let reaped = Reaped { breaker, left: Vec::new() };
        Start { found: None, clock, reaped, warnings: Vec::new() }
    }

    /// One attempt: takes the step and writes what it did; `None`: somebody else was faster.
    pub(super) fn attempt<T>(
        &self,
        visit: &mut Visit,
        name: &Name,
        start: Start,
        step: &mut dyn FnMut(&mut Breaker, Timestamp) -> T,
    ) -> Result<Option<(T, Updated)>, StoreError> {
        let Start { found, clock, reaped: Reaped { breaker: before, left }, warnings } = start;
        let mut breaker = before.clone();
        let answer = step(&mut breaker, clock.time());
        crate::store::record_released_probes(&mut breaker, &left);
        let events = breaker.take_events();
        match writing(found.as_ref(), &breaker, events.clone()) {
            Writing::Nothing => {}
            Writing::Count(event) => {
                visit.session.query::<u64>(&count(name, clock, event))?;
            }
            Writing::All(events) => {
                let swap = self.swap(name, found.as_ref(), &breaker, clock, events);
                let (time, conflict): (u64, Option<Vec<(String, String)>>) = visit.session.query(&swap)?;
                if let Some(fields) = conflict {
                    visit.start_over(self, (time, fields))?;
                    return Ok(None);
                }
            }
        }
        let begun = begun(found.as_ref(), &breaker);
        // Best effort: the lease is what counts, and without files there is nobody here to look at a place.
        let place = begun
            .zip(self.host.as_ref())
            .and_then(|(probe, host)| host.claim_beside_lease(name, &breaker, probe).ok());
        let lease = begun.map(|probe| {
            let field = lease_field(breaker.id, probe);
            Lease::keep(self.address.clone(), visit.session.peer(), self.platform, name, field)
        });
        let lease = lease.transpose()?;
        let admitted_by = AdmittedBy::Primary;
        let updated = Updated { before, breaker, clock, events, place, lease, left, warnings, admitted_by };
        Ok(Some((answer, updated)))
    }
}

fn count(name: &Name, clock: Clock, event: Event) -> Cmd {
    let mark = match &event.kind {
        EventKind::Refused { why, .. } => format!("{}/{}", event.generation, why.as_str()),
        _ => String::new(),
    };
    let mut command = evaluate(COUNT, &[&key(name), &history_key(name)]);
    command.arg(HistoryRecord::new(clock, vec![event]).encode()).arg(mark).arg(HISTORY);
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
