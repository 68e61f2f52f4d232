//! `brk history`: what happened, newest last.

use super::{Context, watch};
use crate::breaker::event::Event;
use crate::breaker::time::{Clock, Millis};
use crate::cli::HistoryArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::{self, print, replace, show};
use crate::render::timeline::Timeline;
use crate::render::{history, svg, timeline};
use crate::store::journal::Entry;
use crate::store::{Snapshot, Store};

/// How often to look for something new.
const LOOK_EVERY: Millis = Millis(250);

/// How much of the past stands before what follows, where nothing is said about it.
const BEFORE_FOLLOWING: u32 = 10;

/// The width of a picture that is not drawn on a terminal.
const USUAL_WIDTH: usize = 80;

pub fn run(args: &HistoryArgs, context: &Context) -> Result<Exit, Error> {
    let store = context.store()?;
    let name = &args.name;
    let unknown = || Error::no_such(name);
    let mut entries = store.history(name)?.ok_or_else(unknown)?;
    // The present is needed for "since", and for the end of a picture.
    let snapshot = store.read(name)?.ok_or_else(unknown)?;
    if args.timeline || args.svg.is_some() {
        let timeline = timeline(args, &entries, &snapshot);
        if let Some(path) = &args.svg {
            replace(path, &svg::drawn(name.as_str(), &timeline))?;
        } else {
            let width = output::terminal().map_or(USUAL_WIDTH, |(columns, _)| columns);
            let text = timeline::drawn(name.as_str(), &timeline, width, context.charset());
            show(&text, context.global.color)?;
        }
        return Ok(Exit::Code(exit::DONE));
    }
    let last_read = entries.last().cloned();
    if let Some(since) = args.since {
        let oldest = snapshot.now().saturating_sub(since);
        entries.retain(|entry| entry.clock.time() >= oldest);
    }
    let events: Vec<_> = told(&entries).collect();
    let wanted = args.lines.or(args.follow.then_some(BEFORE_FOLLOWING));
    let skipped = wanted.map_or(0, |lines| events.len().saturating_sub(lines as usize));
    tell(args, context, &events[skipped..])?;
    if args.follow { follow(args, context, &store, last_read) } else { Ok(Exit::Code(exit::DONE)) }
}

/// From the first entry, or from `--since`, to now; `-n` counts events here as well.
fn timeline(args: &HistoryArgs, entries: &[Entry], snapshot: &Snapshot) -> Timeline {
    let now = snapshot.now();
    let events = entries.iter().rev().scan(0, |count, entry| {
        *count += entry.events.len();
        Some((*count, entry))
    });
    let wanted = args.lines.map_or(usize::MAX, |lines| lines as usize);
    let first = events.take_while(|(count, _)| *count <= wanted).last().map(|(_, entry)| entry);
    let first = first.filter(|_| args.lines.is_some()).map(|entry| entry.clock.wall(entry.clock.time()));
    let since = args.since.map(|since| snapshot.clock.wall(now.saturating_sub(since)));
    Timeline::new(entries, &snapshot.breaker, since.max(first), snapshot.clock.wall(now))
}

fn told(entries: &[Entry]) -> impl Iterator<Item = (&Clock, &Event)> {
    entries.iter().flat_map(|entry| entry.events.iter().map(move |event| (&entry.clock, event)))
}

fn tell(args: &HistoryArgs, context: &Context, events: &[(&Clock, &Event)]) -> Result<(), Error> {
    let render = if args.json { history::json } else { history::line };
    let text: String = events.iter().map(|(clock, event)| render(clock, event)).collect();
    if args.json { print(&text) } else { show(&text, context.global.color) }
}

/// Tells what comes, until nobody listens or somebody ends it. Refusals that are one record are told of again with
/// their new count.
fn follow(
    args: &HistoryArgs,
    context: &Context,
    store: &impl Store,
    mut last: Option<Entry>,
) -> Result<Exit, Error> {
    loop {
        watch::pause(LOOK_EVERY)?;
        let recent = store.recent(&args.name)?;
        let new = since(&recent, last.as_ref());
        if let Some(newest) = new.last() {
            tell(args, context, &told(new).collect::<Vec<_>>())?;
            last = Some(newest.clone());
        }
    }
}

/// The entries that are newer than the last one that was read.
fn since<'a>(recent: &'a [Entry], last: Option<&Entry>) -> &'a [Entry] {
    let Some(last) = last else {
        return recent;
    };
    let known = recent.iter().rposition(|entry| entry == last);
    let newer = known.map_or_else(
        || recent.iter().position(|entry| entry.clock.time() > last.clock.time()),
        |index| Some(index + 1),
    );
    newer.map_or(&[], |index| &recent[index..])
}
