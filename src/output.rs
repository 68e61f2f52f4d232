//! Printing: results on standard output, everything else on standard error. A stream without a reader is not a
//! reason to fail.

mod held;
mod replace;
mod terminal;

use std::io::{self, Write};

use crate::error::Error;

pub use held::{Drained, Held};
pub use replace::replace;
pub use terminal::{show, terminal, wants_color};

/// Prints a line on standard error, with `brk` in front. Whatever it quotes, it stays one line and moves no cursor.
pub fn say(text: &str) {
    // In one write, so that the lines of many processes do not mix. If it fails, nothing can report that.
    let _ = io::stderr().lock().write_all(line(text).as_bytes());
}

fn line(text: &str) -> String {
    let mut line = String::from("brk: ");
    for char in text.chars() {
        if char.is_control() { line.extend(char.escape_default()) } else { line.push(char) }
    }
    line.push('\n');
    line
}

/// Prints a result, unchanged, on standard output.
pub fn print(text: &str) -> Result<(), Error> {
    printed(io::stdout().lock().write_all(text.as_bytes()))
}

/// Prints a result of something that is already done, or that the exit code also says. If it cannot be written, that
/// is only a message.
pub fn print_or_say(text: &str) {
    match print(text) {
        // The reader has gone and needs nothing more.
        Ok(()) | Err(Error::BrokenPipe) => {}
        Err(error) => say(&error.to_string()),
    }
}

/// Turns the result of writing to standard output into ours.
pub fn printed(written: io::Result<()>) -> Result<(), Error> {
    match written.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Error::BrokenPipe),
        Err(source) => Err(Error::System { doing: "write to standard output".to_owned(), source }),
        Ok(()) => Ok(()),
    }
}
