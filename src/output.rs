//! Printing: results on standard output, everything else on standard error. A stream without a reader is not a
//! reason to fail.

mod replace;
mod terminal;

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use crate::error::Error;

pub use replace::replace;
pub use terminal::{show, terminal, wants_color};

/// Prints a line on standard error, with `brk` in front. Whatever it quotes, it stays one line and moves no cursor.
pub fn say(text: &str) {
    let mut line = String::from("brk: ");
    for char in text.chars() {
        if char.is_control() { line.extend(char.escape_default()) } else { line.push(char) }
    }
    line.push('\n');
    // In one write, so that the lines of many processes do not mix. If it fails, nothing can report that.
    let _ = io::stderr().lock().write_all(line.as_bytes());
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

/// The output of a command, kept back until it is known whether anybody wants to see it. A file without a name and
/// no pipe, so that a background child that keeps it open holds nobody up; written to at its end by whoever has it,
/// so that the two streams keep their order.
#[derive(Debug)]
pub struct Capture {
    file: File,
}

impl Capture {
    pub fn new(dir: &Path) -> io::Result<Capture> {
        let file = tempfile::tempfile_in(dir)?;
        rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::APPEND)?;
        Ok(Capture { file })
    }

    /// All of it, on standard output. Gives how many bytes that were.
    pub fn show(mut self) -> Result<u64, Error> {
        let mut stdout = io::stdout().lock();
        let copied = self.file.rewind().and_then(|()| io::copy(&mut self.file, &mut stdout));
        match copied.and_then(|count| stdout.flush().map(|()| count)) {
            // Nobody reads any more; there was something to read.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(1),
            Err(source) => Err(Error::System { doing: "show the command's output".to_owned(), source }),
            Ok(count) => Ok(count),
        }
    }
}

impl AsFd for Capture {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
