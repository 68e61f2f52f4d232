//! `brk history`: what happened, newest last.

use super::World;
use crate::cli::HistoryArgs;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::print;
use crate::render::history;
use crate::store::Store;

pub fn run(args: &HistoryArgs, world: &World) -> Result<Exit, Error> {
    let store = world.store()?;
    let records = store.history(&args.name)?.ok_or_else(|| Error::no_such(&args.name))?;
    let now = (world.env.machine.clocks)();
    let oldest = args.since.map(|since| {
        let newest = records.last().map(|record| record.clock.advanced(now).time());
        newest.unwrap_or_default().before(since)
    });
    let events: Vec<_> = records
        .iter()
        .filter(|record| oldest.is_none_or(|oldest| record.clock.time() >= oldest))
        .flat_map(|record| record.events.iter().map(move |event| (record, event)))
        .collect();
    let wanted = args.lines.map_or(events.len(), |lines| lines as usize);
    let shown = &events[events.len().saturating_sub(wanted)..];
    let render = if args.json { history::json } else { history::line };
    print(&shown.iter().map(|(record, event)| render(&record.clock, event)).collect::<String>())?;
    Ok(Exit::Code(exit::DONE))
}
