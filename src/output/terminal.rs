//! Colour, and the size of the terminal.

use std::io::{self, IsTerminal};

use anstream::{AutoStream, ColorChoice};

use super::print;
use crate::error::Error;

/// A result that is coloured by escape codes, which are left out where they are not wanted.
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

/// How many columns and lines the terminal has that standard output is.
pub fn terminal() -> Option<(usize, usize)> {
    // One that does not say is taken for the smallest that is usual.
    const USUAL: (usize, usize) = (80, 24);
    if !io::stdout().is_terminal() {
        return None;
    }
    let size = terminal_size::terminal_size_of(io::stdout());
    Some(size.map_or(USUAL, |(columns, lines)| (columns.0.into(), lines.0.into())))
}
