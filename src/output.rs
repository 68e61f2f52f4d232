//! What is said: results on standard output, everything else on standard error. A stream that nobody can read is no
//! reason to fail.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anstream::{AutoStream, ColorChoice};

use crate::error::Error;

/// A line on standard error, as from `brk`.
pub fn say(text: &str) {
    // In one write, so that the lines of many processes do not mix. Where it fails there is nobody to tell.
    let _ = io::stderr().lock().write_all(format!("brk: {text}\n").as_bytes());
}

/// A result, as it stands, on standard output.
pub fn print(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Error::BrokenPipe),
        Err(source) => Err(Error::System { doing: "write to standard output".to_owned(), source }),
        Ok(()) => Ok(()),
    }
}

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

/// Puts a text in the place of a file: those who read it find the old one or the new one. Its mode follows the umask,
/// for it is made to be read by others. What is no regular file (a pipe, a device) is written to and stays.
pub fn replace(path: &Path, text: &str) -> Result<(), Error> {
    let special = std::fs::metadata(path).is_ok_and(|found| {
        let kind = found.file_type();
        kind.is_fifo() || kind.is_char_device() || kind.is_block_device() || kind.is_socket()
    });
    let written = if special {
        File::options().write(true).open(path).and_then(|mut file| file.write_all(text.as_bytes()))
    } else {
        rename_over(path, text)
    };
    written.map_err(|source| Error::System { doing: format!("write {}", path.display()), source })
}

fn rename_over(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Not a name that a collector of files with the suffix of `path` would take for one of them.
    let mut new = tempfile::Builder::new()
        .prefix(".brk-")
        .suffix(".tmp")
        .make_in(dir, |path| File::options().write(true).create_new(true).open(path))?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_data()?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}
