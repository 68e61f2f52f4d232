//! What is said: results on standard output, everything else on standard error. A stream that nobody can read is no
//! reason to fail.

use std::io::{self, Write};

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
