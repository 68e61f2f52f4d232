//! Showing something again and again: on a terminal in one place, elsewhere one after the other.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::ColorChoice;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::breaker::time::Millis;
use crate::error::Error;
use crate::exit::{self, Exit};
use crate::output::{self, print};
use crate::render::table::Width;

const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Terminals that know it show all between these two at once.
const BEGIN: &str = "\x1b[?2026h\x1b[H";
const END: &str = "\x1b[J\x1b[?2026l";

const CTRL_C: u8 = 3;
const CTRL_Z: u8 = 26;
const SIGWINCH: i32 = 28;
/// Signals that end it: the terminal is put back first. HUP, INT, QUIT, TERM.
const ENDING: [i32; 4] = [1, 2, 3, 15];

/// Shows what `draw` gives for the room that there is, every so often, until `q`, Ctrl-C or a signal.
pub fn watch(
    every: Millis,
    color: ColorChoice,
    mut draw: impl FnMut(Width) -> Result<String, Error>,
) -> Result<Exit, Error> {
    let Some(_) = output::terminal() else {
        return repeat(every, || output::show(&draw(Width::Usual)?, color));
    };
    let failed = |source| Error::System { doing: "use the terminal".to_owned(), source };
    let signals = Signals::catch().map_err(failed)?;
    let mut screen = Screen::enter().map_err(failed)?;
    loop {
        let (columns, lines) = output::terminal().unwrap_or((80, 24));
        let text = draw(Width::Exactly(columns))?;
        let text =
            if output::wants_color(color) { text } else { anstream::adapter::strip_str(&text).to_string() };
        print(&frame(&text, lines, every))?;
        match screen.wait(every, &signals).map_err(failed)? {
            Next::Redraw => {}
            Next::End => return Ok(Exit::Code(exit::DONE)),
            Next::Die(signal) => return Ok(Exit::Signal(signal)),
            Next::Stop => {
                drop(screen);
                // Returns when the shell has continued us.
                kill_process(getpid(), Signal::TSTP).map_err(|error| failed(error.into()))?;
                screen = Screen::enter().map_err(failed)?;
            }
        }
    }
}

/// Does `show` every so often, until nobody reads standard output any more.
pub fn repeat(every: Millis, mut show: impl FnMut() -> Result<(), Error>) -> Result<Exit, Error> {
    loop {
        show()?;
        pause(every)?;
    }
}

/// Waits, but no longer than somebody reads standard output.
pub fn pause(length: Millis) -> Result<(), Error> {
    let stdout = io::stdout();
    // Nothing is asked for: what is told unasked is that the reader has gone.
    match poll(&mut [PollFd::new(&stdout, PollFlags::empty())], Some(&timespec(length))) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(()),
        Ok(_) => Err(Error::BrokenPipe),
        Err(error) => Err(Error::System { doing: "wait".to_owned(), source: error.into() }),
    }
}

fn timespec(length: Millis) -> Timespec {
    let length = Duration::from(length);
    // A wait of more than a day is as good as one of a day.
    Timespec {
        tv_sec: length.as_secs().min(86_400).try_into().unwrap_or(86_400),
        tv_nsec: length.subsec_nanos().into(),
    }
}

/// A text as it replaces the one before: each line up to the edge, and nothing left below.
fn frame(text: &str, lines: usize, every: Millis) -> String {
    let total = text.lines().count();
    let room = lines.saturating_sub(2).max(1);
    let mut frame = String::from(BEGIN);
    for line in text.lines().take(room) {
        frame.push_str(&format!("{line}\x1b[K\n"));
    }
    let more = if total > room { format!("{} more lines; ", total - room) } else { String::new() };
    frame.push_str(&format!("{more}refreshing every {every}; q to quit\x1b[K"));
    frame.push_str(END);
    frame
}

/// What to do next.
enum Next {
    Redraw,
    End,
    Stop,
    Die(i32),
}

/// The terminal, taken over until this is dropped.
struct Screen {
    /// Where keys come from, which need not be standard input, and how it was set.
    keys: Option<(File, Termios)>,
}

impl Screen {
    fn enter() -> io::Result<Screen> {
        let keys = File::open("/dev/tty").ok().and_then(|tty| {
            let before = tcgetattr(&tty).ok()?;
            let mut raw = before.clone();
            // Keys come one by one and unseen; those that would make signals are read here as well.
            raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
            tcsetattr(&tty, OptionalActions::Now, &raw).ok()?;
            Some((tty, before))
        });
        print(ENTER).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(Screen { keys })
    }

    fn wait(&mut self, every: Millis, signals: &Signals) -> io::Result<Next> {
        let stdout = io::stdout();
        let mut fds = vec![
            PollFd::new(&signals.ended, PollFlags::IN),
            PollFd::new(&signals.resized, PollFlags::IN),
            PollFd::new(&stdout, PollFlags::empty()),
        ];
        if let Some((tty, _)) = &self.keys {
            fds.push(PollFd::from_borrowed_fd(tty.as_fd(), PollFlags::IN));
        }
        match poll(&mut fds, Some(&timespec(every))) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(Next::Redraw),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let [ended, resized, stdout] = [0, 1, 2].map(|index: usize| !fds[index].revents().is_empty());
        let keyed = fds.get(3).is_some_and(|fd| !fd.revents().is_empty());
        drop(fds);
        if ended {
            return Ok(signals.which().map_or(Next::End, Next::Die));
        }
        if stdout {
            return Ok(Next::End);
        }
        if resized {
            let _ = (&signals.resized).read(&mut [0; 64])?;
        }
        if keyed && let Some((tty, _)) = &self.keys {
            let mut byte = [0];
            return Ok(match (&*tty).read(&mut byte) {
                Ok(0) | Err(_) => Next::End,
                Ok(_) if [b'q', b'Q', CTRL_C].contains(&byte[0]) => Next::End,
                Ok(_) if byte[0] == CTRL_Z => Next::Stop,
                Ok(_) => Next::Redraw,
            });
        }
        Ok(Next::Redraw)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Where it fails there is no terminal left to be put back.
        let _ = print(LEAVE);
        if let Some((tty, before)) = &self.keys {
            let _ = tcsetattr(tty, OptionalActions::Now, before);
        }
    }
}

/// Signals, as streams that can be waited for together with keys.
struct Signals {
    ended: UnixStream,
    resized: UnixStream,
    /// The signal that ends it, or 0.
    which: Arc<AtomicUsize>,
}

impl Signals {
    fn catch() -> io::Result<Signals> {
        use signal_hook::{flag, low_level::pipe};
        let which = Arc::new(AtomicUsize::new(0));
        let (resized, sender) = UnixStream::pair()?;
        pipe::register(SIGWINCH, sender)?;
        let (ended, sender) = UnixStream::pair()?;
        for signal in ENDING {
            // In this order: who is woken by the stream finds the number.
            flag::register_usize(signal, Arc::clone(&which), signal.unsigned_abs() as usize)?;
            pipe::register(signal, sender.try_clone()?)?;
        }
        Ok(Signals { ended, resized, which })
    }

    fn which(&self) -> Option<i32> {
        let signal = self.which.load(Ordering::SeqCst);
        i32::try_from(signal).ok().filter(|&signal| signal != 0)
    }
}
