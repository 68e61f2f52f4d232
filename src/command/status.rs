//! `brk status`: what is open, since when, why, and when will it try again?

use super::{Context, select, watch};
use crate::cli::StatusArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::{self, print, show};
use crate::plan::policy;
use crate::render::detail::PolicyLine;
use crate::render::table::{self, Width};
use crate::render::{Shown, detail, json};
use crate::settings::table::SETTINGS;
use crate::store::AnyStore;
use crate::store::Store;

pub fn run(args: &StatusArgs, context: &Context) -> Result<Exit, Error> {
    let store = context.store()?;
    if args.only_names {
        let selection = select::or_all(&args.names, &store)?;
        print(&selection.names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
        return Ok(selection.exit);
    }
    match args.watch {
        Some(every) if args.json => watch::repeat(every, || {
            let (text, _) = text(args, &store, context, room())?;
            print(&text)
        }),
        Some(every) => {
            watch::watch(every, context.global.color, |room| Ok(text(args, &store, context, room)?.0))
        }
        None => {
            let (text, exit) = text(args, &store, context, room())?;
            show(&text, context.global.color)?;
            Ok(exit)
        }
    }
}

fn room() -> Width {
    output::terminal().map_or(Width::Usual, |(columns, _)| Width::Exactly(columns))
}

fn text(
    args: &StatusArgs,
    store: &AnyStore,
    context: &Context,
    room: Width,
) -> Result<(String, Exit), Error> {
    let selection = select::or_all(&args.names, store)?;
    // A part of the past that cannot be read is no reason not to show the present.
    let recent = |store: &AnyStore, shown: &mut Shown| {
        shown.recent = store.recent(&shown.name).unwrap_or_default();
    };
    let slots = |store: &AnyStore, shown: &mut Shown| {
        shown.slots = store.files().map(|files| files.slots(&shown.name)).unwrap_or_default();
    };
    let in_detail = args.names.len() == 1 && selection.names.len() == 1;
    let (breakers, exit) = match (args.json, in_detail) {
        (true, _) => select::read(store, selection, slots),
        (false, false) => select::read(store, selection, recent),
        (false, true) => select::read(store, selection, |store, shown| {
            recent(store, shown);
            slots(store, shown);
        }),
    };
    let place = store.place();
    let charset = context.charset();
    let text = match breakers.as_slice() {
        _ if args.json => json::status(&breakers, &place),
        [shown] if in_detail => detail::detail(shown, &settings(shown, context), &place, charset),
        [] if args.names.is_empty() && exit == Exit::Code(crate::exit::DONE) => {
            format!("no breakers in {place} yet\n")
        }
        [] => String::new(),
        all => table::table(all, room, charset),
    };
    Ok((text, exit))
}

/// The policy of the last run, and where each value would come from today. One that the configuration would not give
/// was a flag of that run, or has been changed since.
fn settings(shown: &Shown, context: &Context) -> Vec<PolicyLine> {
    let resolved = context.settings(&shown.name);
    let configured = policy(&resolved).unwrap_or_default();
    detail::policy_lines(SETTINGS, &shown.snapshot.breaker.policy, |row, value, of| {
        if value != of(&configured) {
            "as the last run had it".to_owned()
        } else if let Some(origin) = resolved.origin(row.key) {
            origin.place.to_string()
        } else {
            "default".to_owned()
        }
    })
}
