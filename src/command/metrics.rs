//! `brk metrics`: what a monitoring system collects.

use super::{Context, select};
use crate::cli::MetricsArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::output::{print, replace};
use crate::render::metrics;

pub fn run(args: &MetricsArgs, context: &Context) -> Result<Exit, Error> {
    let store = context.store()?;
    let selection = select::or_all(&args.names, &store)?;
    let (breakers, exit) = select::read(&store, selection, |_, _| {});
    let text = metrics::open_metrics(&breakers);
    match &args.output {
        Some(path) => replace(path, &text)?,
        None => print(&text)?,
    }
    Ok(exit)
}
