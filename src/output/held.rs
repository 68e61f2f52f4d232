//! The output of a command, held back until it is known whether it is shown.
//!
//! It comes through a pipe that a thread of `brk` drains while the command runs. To the command a pipe is what it would
//! also have under cron: it can be opened anew (`> /dev/stderr`), both streams keep their order in it, and a full disk is no trouble
//! of the command's. Not here: whether it is shown.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// What is kept in memory before a file takes over.
const IN_MEMORY: usize = 1 << 20;

/// What is kept of the end if the file cannot grow any more.
const LAST_PART: usize = 256 << 10;

/// What is read after the command's end at the most: more than a pipe holds, so that a background child that goes on writing
/// does not hold `brk` up.
const AFTER_THE_END: usize = 2 << 20;

/// Starts a thread that no signal reaches.
type StartThread = fn(Box<dyn FnOnce() + Send>) -> io::Result<()>;

#[derive(Debug)]
pub struct Held {
    /// What the command writes to.
    writer: OwnedFd,
    /// Closing it asks the thread to finish.
    stop: OwnedFd,
    drained: Receiver<Drained>,
    streams: Streams,
}

/// Which streams of the command are held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Standard output is the command's product, and goes where it goes.
    Stderr,
    /// Both are the same file, as under cron and on a terminal.
    Both,
}

/// What came through the pipe until the command's end.
#[derive(Debug)]
pub struct Drained {
    kept: Kept,
    /// The pipe, if another process can still write to it.
    pub still_open: Option<OwnedFd>,
}

/// All of an output, or its first and last part.
#[derive(Debug)]
struct Kept {
    dir: PathBuf,
    total: u64,
    memory: Vec<u8>,
    /// Takes over from `memory`, with the number of bytes that it holds for sure.
    file: Option<(File, u64)>,
    /// What came after the file, or the memory, could not grow any more.
    last: Option<VecDeque<u8>>,
    left_out: u64,
}

impl Streams {
    /// What may be held back of the streams that this process has.
    fn of_this_process() -> io::Result<Streams> {
        let stderr = rustix::fs::fstat(io::stderr())?;
        let Ok(stdout) = rustix::fs::fstat(io::stdout()) else {
            return Ok(Streams::Stderr);
        };
        let is_same =
            (stdout.st_dev, stdout.st_ino, stdout.st_rdev) == (stderr.st_dev, stderr.st_ino, stderr.st_rdev);
        Ok(if is_same { Streams::Both } else { Streams::Stderr })
    }
}

impl Held {
    /// Makes the pipe and starts to drain it. A file in `dir` is made only if the memory does not suffice.
    pub fn new(dir: &Path, start_thread: StartThread) -> io::Result<Held> {
        let streams = Streams::of_this_process()?;
        let (reader, writer) = io::pipe()?;
        let (stopped, stop) = io::pipe()?;
        let (sender, drained) = channel();
        let reader = OwnedFd::from(reader);
        rustix::io::ioctl_fionbio(&reader, true)?;
        let kept = Kept::new(dir);
        start_thread(Box::new(move || drain(reader, OwnedFd::from(stopped), kept, &sender)))?;
        Ok(Held { writer: writer.into(), stop: stop.into(), drained, streams })
    }

    /// What the command gets as its standard output, if that is held back.
    pub fn stdout(&self) -> Option<BorrowedFd<'_>> {
        match self.streams {
            Streams::Stderr => None,
            Streams::Both => Some(self.writer.as_fd()),
        }
    }

    /// What the command gets as its standard error.
    pub fn stderr(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }

    /// A line of `brk`'s own, in its place among what the command writes.
    pub fn say(&self, text: &str) {
        // If the thread is gone nobody could show the line.
        let _ = rustix::io::write(&self.writer, super::line(text).as_bytes());
    }

    /// Everything that the command has written. Waits for no process that it left behind.
    pub fn finish(self) -> io::Result<Drained> {
        drop(self.writer);
        drop(self.stop);
        self.drained.recv().map_err(|_| io::Error::other("the output was not read"))
    }
}

impl Drained {
    pub fn is_empty(&self) -> bool {
        self.kept.total == 0
    }

    /// Writes what was kept. If a part is missing, a line at its place says how much.
    pub fn show(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.kept.show(out)
    }
}

/// Reads until the other end is closed, or until it is told that the command has ended and nothing more is there.
fn drain(reader: OwnedFd, stopped: OwnedFd, mut kept: Kept, sender: &Sender<Drained>) {
    let mut buffer = vec![0; 64 << 10];
    let mut rest = None;
    let still_open = loop {
        match rustix::io::read(&reader, &mut buffer) {
            Ok(0) => break None,
            Ok(count) => {
                kept.push(&buffer[..count]);
                if let Some(rest) = &mut rest {
                    *rest = usize::saturating_sub(*rest, count);
                    if *rest == 0 {
                        break Some(reader);
                    }
                }
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if rest.is_some() => break Some(reader),
            Err(Errno::AGAIN) => {
                let mut fds = [PollFd::new(&reader, PollFlags::IN), PollFd::new(&stopped, PollFlags::IN)];
                let _ = poll(&mut fds, None);
                if !fds[1].revents().is_empty() {
                    rest = Some(AFTER_THE_END);
                }
            }
            Err(_) => break None,
        }
    };
    // A receiver that is gone does not want to know.
    let _ = sender.send(Drained { kept, still_open });
}

impl Kept {
    fn new(dir: &Path) -> Kept {
        Kept { dir: dir.to_owned(), total: 0, memory: Vec::new(), file: None, last: None, left_out: 0 }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let kept = match (&mut self.last, &mut self.file) {
            (Some(_), _) => 0,
            (None, Some((file, len))) => append(file, len, bytes),
            (None, None) if self.memory.len() + bytes.len() <= IN_MEMORY => {
                self.memory.extend_from_slice(bytes);
                bytes.len()
            }
            (None, None) => self.spill(bytes),
        };
        if kept < bytes.len() {
            let last = self.last.get_or_insert_default();
            last.extend(&bytes[kept..]);
            let excess = last.len().saturating_sub(LAST_PART);
            last.drain(..excess);
            self.left_out += excess as u64;
        }
    }

    /// Moves what is in memory to a file without a name, and gives how many of the further bytes went there too.
    fn spill(&mut self, bytes: &[u8]) -> usize {
        let Ok(mut file) = tempfile::tempfile_in(&self.dir) else {
            return 0;
        };
        let mut len = 0;
        if append(&mut file, &mut len, &self.memory) < self.memory.len() {
            return 0;
        }
        let kept = append(&mut file, &mut len, bytes);
        self.memory = Vec::new();
        self.file = Some((file, len));
        kept
    }

    fn show(&mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.memory)?;
        if let Some((file, len)) = &mut self.file {
            file.seek(SeekFrom::Start(0))?;
            io::copy(&mut file.take(*len), out)?;
        }
        if self.left_out > 0 {
            let text = format!(
                "{} bytes of output are left out here: there was no space to keep them",
                self.left_out
            );
            out.write_all(format!("\n{}", super::line(&text)).as_bytes())?;
        }
        if let Some(last) = &self.last {
            let (one, other) = last.as_slices();
            out.write_all(one)?;
            out.write_all(other)?;
        }
        out.flush()
    }
}

/// Appends as much as there is space for, and gives how much that was.
fn append(file: &mut File, len: &mut u64, bytes: &[u8]) -> usize {
    let mut kept = 0;
    while kept < bytes.len() {
        match file.write(&bytes[kept..]) {
            Ok(0) => break,
            Ok(count) => kept += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    *len += kept as u64;
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(body: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        std::thread::spawn(body);
        Ok(())
    }

    fn shown(mut drained: Drained) -> Vec<u8> {
        let mut out = Vec::new();
        drained.show(&mut out).expect("shown");
        out
    }

    fn kept(dir: &Path, total: usize) -> Vec<u8> {
        let mut kept = Kept::new(dir);
        let all: Vec<u8> = (0..total).map(|index| (index / 1_000 % 251) as u8).collect();
        all.chunks(60_000).for_each(|bytes| kept.push(bytes));
        let mut out = Vec::new();
        kept.show(&mut out).expect("shown");
        out
    }

    #[test]
    fn all_is_kept_in_memory_or_in_a_file() {
        let dir = tempfile::tempdir().expect("a directory");
        for total in [0, 1, IN_MEMORY, IN_MEMORY + 1, 3 * IN_MEMORY + 7] {
            let out = kept(dir.path(), total);
            assert_eq!(out.len(), total);
            assert!(out.iter().enumerate().all(|(index, byte)| *byte == (index / 1_000 % 251) as u8));
        }
        assert_eq!(std::fs::read_dir(dir.path()).expect("a list").count(), 0, "the file has no name");
    }

    #[test]
    fn without_space_the_first_and_the_last_part_are_kept() {
        let total = 5 * IN_MEMORY;
        let out = kept(Path::new("/dev/null/no-directory"), total);
        let text = String::from_utf8_lossy(&out);
        let first = out.iter().take_while(|byte| **byte != b'\n').count();
        assert!(out.len() >= 2 * LAST_PART && out.len() < 2 * IN_MEMORY, "{}", out.len());
        assert!(first > 0 && text.contains("bytes of output are left out here"), "{}", out.len());
        assert_eq!(out.last(), Some(&(((total - 1) / 1_000 % 251) as u8)));
    }

    #[test]
    fn a_process_that_keeps_the_pipe_holds_nobody_up() {
        let held = Held::new(Path::new("/tmp"), thread).expect("a pipe");
        let other = held.stderr().try_clone_to_owned().expect("a descriptor");
        held.say("one");
        rustix::io::write(&other, b"two\n").expect("written");
        let drained = held.finish().expect("drained");
        assert!(drained.still_open.is_some() && !drained.is_empty());
        assert_eq!(shown(drained), b"brk: one\ntwo\n");
        drop(other);
        let drained = Held::new(Path::new("/tmp"), thread).expect("a pipe").finish().expect("drained");
        assert!(drained.still_open.is_none() && drained.is_empty());
    }
}
