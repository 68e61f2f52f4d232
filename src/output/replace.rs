//! Files that other processes read while they are written.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::error::Error;

/// Replaces a file by a text: a reader finds the old content or the new one. The mode follows the umask, because other
/// users may have to read the file. Anything but a regular file (a pipe, a device) is written to, and stays.
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
