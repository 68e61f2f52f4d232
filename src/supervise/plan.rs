//! What is to be executed, worked out before the fork: the paths that a name may mean, arguments, environment and
//! descriptors, all in the form that the system call takes.
//!
//! Not here: the new process itself (`unix`).

use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

/// Where the C library looks when there is no PATH.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

/// What to start.
pub struct Task<'a> {
    /// Never empty. The first word is looked up in PATH, as a shell does.
    pub argv: &'a [OsString],
    /// Added to, or replaced in, the command's environment. None: the environment is passed on byte for byte.
    pub variables: &'a [(OsString, OsString)],
    /// None: as `brk` inherited it, even if it is closed.
    pub stdin: Option<BorrowedFd<'a>>,
    pub stdout: Option<BorrowedFd<'a>>,
    pub stderr: Option<BorrowedFd<'a>>,
    /// What the command's processes hold open, under the same numbers.
    pub inherit: &'a [BorrowedFd<'a>],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The command leads a process group.
    Own,
    /// The command stays in the group of `brk`, which is a terminal's business.
    Shared,
}

pub struct Plan<'a> {
    /// The files to try, in this order.
    pub candidates: Vec<CString>,
    /// Not empty.
    pub argv: Vec<CString>,
    /// None: as it was inherited.
    pub environment: Option<Vec<CString>>,
    pub group: Group,
    /// For descriptors 0 to 2. None: as it was inherited.
    pub redirections: [Option<Source<'a>>; 3],
    pub inherit: Vec<RawFd>,
}

/// A descriptor above 2, so that no redirection overwrites the source of the next one.
pub enum Source<'a> {
    Borrowed(BorrowedFd<'a>),
    Owned(OwnedFd),
}

impl Source<'_> {
    fn new(fd: BorrowedFd<'_>) -> io::Result<Source<'_>> {
        if fd.as_raw_fd() > 2 {
            return Ok(Source::Borrowed(fd));
        }
        Ok(Source::Owned(rustix::io::fcntl_dupfd_cloexec(fd, 3)?))
    }
}

impl AsFd for Source<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Source::Borrowed(fd) => *fd,
            Source::Owned(fd) => fd.as_fd(),
        }
    }
}

impl<'a> Plan<'a> {
    /// `inherited` is the environment of `brk`.
    pub fn new(
        task: &Task<'a>,
        group: Group,
        inherited: impl Iterator<Item = &'static CStr> + Clone,
    ) -> io::Result<Plan<'a>> {
        let argv = task.argv.iter().map(|word| text(word)).collect::<io::Result<Vec<_>>>()?;
        let path = inherited.clone().find_map(|entry| entry.to_bytes().strip_prefix(b"PATH="));
        let source = |fd: Option<BorrowedFd<'a>>| fd.map(Source::new).transpose();
        Ok(Plan {
            candidates: candidates(task.argv[0].as_bytes(), path.unwrap_or(DEFAULT_PATH))?,
            argv,
            environment: environment(task.variables, inherited)?,
            group,
            redirections: [source(task.stdin)?, source(task.stdout)?, source(task.stderr)?],
            inherit: task.inherit.iter().map(AsRawFd::as_raw_fd).collect(),
        })
    }
}

/// What a name may stand for: itself where it has a slash, else a file of this name in each directory of PATH. An
/// empty element is the current directory; no name is no file.
fn candidates(name: &[u8], path: &[u8]) -> io::Result<Vec<CString>> {
    if name.is_empty() {
        return Ok(Vec::new());
    }
    if name.contains(&b'/') {
        return Ok(vec![CString::new(name)?]);
    }
    let file = |directory: &[u8]| {
        let directory = if directory.is_empty() { b"." } else { directory };
        Ok(CString::new([directory, b"/", name].concat())?)
    };
    path.split(|byte| *byte == b':').map(file).collect()
}

/// The inherited environment with these variables at its end, and nothing else of their names.
fn environment(
    variables: &[(OsString, OsString)],
    inherited: impl Iterator<Item = &'static CStr>,
) -> io::Result<Option<Vec<CString>>> {
    if variables.is_empty() {
        return Ok(None);
    }
    let is_replaced = |entry: &[u8]| {
        let name = entry.split(|byte| *byte == b'=').next().unwrap_or_default();
        entry.len() > name.len() && variables.iter().any(|(replaced, _)| replaced.as_bytes() == name)
    };
    let mut list: Vec<CString> =
        inherited.filter(|entry| !is_replaced(entry.to_bytes())).map(Into::into).collect();
    for (name, value) in variables {
        list.push(CString::new([name.as_bytes(), b"=", value.as_bytes()].concat())?);
    }
    Ok(Some(list))
}

fn text(word: &OsStr) -> io::Result<CString> {
    Ok(CString::new(word.as_bytes())?)
}
