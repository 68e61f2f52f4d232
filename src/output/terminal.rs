//! Colour, and the size of the terminal.

use std::io::{self, IsTerminal};

use anstream::{AutoStream, ColorChoice};

use super::print;
use crate::error::Error;

/// Prints a result that is coloured with escape codes. The codes are left out if they are not wanted.
pub fn show(text: &str, color: clap::ColorChoice) -> Result<(), Error> {
    if wants_color(color) { print(text) } else { print(&anstream::adapter::strip_str(text).to_string()) }
}

pub fn wants_color(color: clap::ColorChoice) -> bool {
    match color {
        clap::ColorChoice::Always => true,
        clap::ColorChoice::Never => false,
        clap::ColorChoice::Auto => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
    }
}

/// The columns and lines of the terminal that standard output is connected to.
pub fn terminal() -> Option<(usize, usize)> {
    // A terminal that does not say is taken for the smallest usual one.
    const USUAL: (usize, usize) = (80, 24);
    if !io::stdout().is_terminal() {
        return None;
    }
    let size = terminal_size::terminal_size_of(io::stdout());
    Some(size.map_or(USUAL, |(columns, lines)| (columns.0.into(), lines.0.into())))
}
