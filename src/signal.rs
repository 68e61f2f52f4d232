//! Names of signals, as people write them and as machines read them: `TERM`, `SIGTERM`, `15`, `RTMIN+1`.
//!
//! Not here: what a signal does to a run (`supervise`), and what dying of one means (`breaker::outcome`).

use std::borrow::Cow;

/// The signal that asks a program to end.
pub const TERM: i32 = libc::SIGTERM;

/// Names without `SIG`. If two names have one number, the first is printed.
const NAMES: &[(&str, i32)] = &[
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("ILL", libc::SIGILL),
    ("TRAP", libc::SIGTRAP),
    ("ABRT", libc::SIGABRT),
    ("IOT", libc::SIGABRT),
    ("BUS", libc::SIGBUS),
    ("FPE", libc::SIGFPE),
    ("KILL", libc::SIGKILL),
    ("USR1", libc::SIGUSR1),
    ("SEGV", libc::SIGSEGV),
    ("USR2", libc::SIGUSR2),
    ("PIPE", libc::SIGPIPE),
    ("ALRM", libc::SIGALRM),
    ("TERM", libc::SIGTERM),
    ("CHLD", libc::SIGCHLD),
    ("CLD", libc::SIGCHLD),
    ("CONT", libc::SIGCONT),
    ("STOP", libc::SIGSTOP),
    ("TSTP", libc::SIGTSTP),
    ("TTIN", libc::SIGTTIN),
    ("TTOU", libc::SIGTTOU),
    ("URG", libc::SIGURG),
    ("XCPU", libc::SIGXCPU),
    ("XFSZ", libc::SIGXFSZ),
    ("VTALRM", libc::SIGVTALRM),
    ("PROF", libc::SIGPROF),
    ("WINCH", libc::SIGWINCH),
    ("IO", libc::SIGIO),
    ("POLL", libc::SIGIO),
    ("SYS", libc::SIGSYS),
    #[cfg(any(target_os = "linux", target_os = "android"))]
    ("PWR", libc::SIGPWR),
    #[cfg(all(
        target_os = "linux",
        not(any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64"))
    ))]
    ("STKFLT", libc::SIGSTKFLT),
    #[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "netbsd", target_os = "openbsd"))]
    ("INFO", libc::SIGINFO),
];

/// The first and the last real-time signal.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn real_time() -> Option<(i32, i32)> {
    Some((libc::SIGRTMIN(), libc::SIGRTMAX()))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn real_time() -> Option<(i32, i32)> {
    None
}

/// The highest number of a signal that is not a real-time signal.
const LAST_PLAIN: i32 = 31;

/// The highest number of a signal.
fn last() -> i32 {
    real_time().map_or(LAST_PLAIN, |(_, last)| last)
}

/// All signals except those that the C library reserves.
pub fn all() -> impl Iterator<Item = i32> {
    let (first, last) = real_time().unwrap_or((1, 0));
    (1..=LAST_PLAIN).chain(first..=last)
}

/// The number of a signal given by name, with or without `SIG` and in upper or lower case, or by number.
pub fn parse(text: &str) -> Option<i32> {
    if let Some(number) = number(text) {
        return (1..=last()).contains(&number).then_some(number);
    }
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    if let Some((_, number)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Some(*number);
    }
    let (first, last) = real_time()?;
    let number = match (name.strip_prefix("RTMIN"), name.strip_prefix("RTMAX")) {
        (Some(""), _) => first,
        (_, Some("")) => last,
        (Some(rest), _) => first.checked_add(number(rest.strip_prefix('+')?)?)?,
        (_, Some(rest)) => last.checked_sub(number(rest.strip_prefix('-')?)?)?,
        (None, None) => return None,
    };
    (first..=last).contains(&number).then_some(number)
}

/// A number that has only digits.
fn number(digits: &str) -> Option<i32> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// The name of a signal: `SIGTERM`, `SIGRTMIN+1`; `SIG99` for a number that has none.
pub fn name(signal: i32) -> Cow<'static, str> {
    if let Some((name, _)) = NAMES.iter().find(|(_, number)| *number == signal) {
        return Cow::Owned(format!("SIG{name}"));
    }
    match real_time() {
        Some((first, _)) if signal == first => Cow::Borrowed("SIGRTMIN"),
        Some((_, last)) if signal == last => Cow::Borrowed("SIGRTMAX"),
        Some((first, last)) if (first..last).contains(&signal) => {
            Cow::Owned(format!("SIGRTMIN+{}", signal - first))
        }
        _ => Cow::Owned(format!("SIG{signal}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_name_a_signal() {
        for text in ["TERM", "SIGTERM", "term", "sigterm", "SigTerm", "15"] {
            assert_eq!(parse(text), Some(15), "{text}");
        }
        assert_eq!(parse("IOT"), Some(libc::SIGABRT));
        assert_eq!(parse("CLD"), Some(libc::SIGCHLD));
        assert_eq!(parse("POLL"), Some(libc::SIGIO));
        assert_eq!(parse("KILL"), Some(9));
        assert_eq!(parse("1"), Some(1));
    }

    #[test]
    fn texts_that_name_none() {
        for text in [
            "",
            "0",
            "-1",
            "+15",
            "65",
            "99999999999",
            "SIG",
            "SIGSIGTERM",
            "TERMINATE",
            "EXIT",
            " 15",
            "T ERM",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn real_time_signals() {
        let (first, last) = (libc::SIGRTMIN(), libc::SIGRTMAX());
        for (text, number) in [
            ("RTMIN", first),
            ("SIGRTMIN", first),
            ("RTMIN+1", first + 1),
            ("sigrtmin+2", first + 2),
            ("RTMAX", last),
            ("RTMAX-1", last - 1),
        ] {
            assert_eq!(parse(text), Some(number), "{text}");
        }
        for text in [
            "RTMIN-1",
            "RTMAX+1",
            "RTMIN+",
            "RTMIN+-1",
            "RTMIN++1",
            "RTMIN+31",
            "RTMAX-31",
            "RTMIN+9999999999",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(name(first + 1), "SIGRTMIN+1");
    }

    #[test]
    fn names_lead_back_to_their_numbers() {
        for number in 1..=last() {
            let name = name(number);
            let has_none = number == 32 || number == 33;
            assert_eq!(parse(&name), (!has_none).then_some(number), "{name}");
        }
        assert_eq!(name(15), "SIGTERM");
        assert_eq!(name(6), "SIGABRT");
        assert_eq!(name(99), "SIG99");
    }
}
