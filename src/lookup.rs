//! Names of users and hosts, looked up the way the system does it.
//!
//! The C library does that by loading modules (NSS), as /etc/nsswitch.conf says. A static binary must not: the modules
//! bring a second C library into the process, and some crash it. So the plain files are read here, and what they do
//! not have is asked of `getent`, in a process of its own and for a limited time.
//!
//! Not here: variables such as `HOME`, which come first (`env`), and connections (`store::redis`).

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How long is left. Asked again before each wait.
pub type Left<'a> = &'a dyn Fn() -> Duration;

/// Why the addresses of a host are not known.
#[derive(Debug)]
pub enum Unknown {
    TimedOut,
    Because(String),
}

#[cfg(target_os = "linux")]
pub use linux::{addresses, home};
#[cfg(not(target_os = "linux"))]
pub use other::{addresses, home};

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsStr;
    use std::io::{ErrorKind, Read};
    use std::os::unix::ffi::OsStrExt;
    use std::process::{Command, Stdio};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    use super::{Duration, IpAddr, Left, PathBuf, Unknown};

    /// Far more than an answer has.
    const LONGEST: usize = 64 * 1024;

    enum NoAnswer {
        TimedOut,
        NotStarted(std::io::Error),
    }

    /// The home of the user that this process runs as.
    pub fn home(left: Left) -> Option<PathBuf> {
        let uid = rustix::process::getuid().as_raw().to_string();
        let users = std::fs::read("/etc/passwd").unwrap_or_default();
        home_in(&users, &uid).or_else(|| home_in(&getent("passwd", &uid, left).ok()?, &uid))
    }

    /// The addresses of a host, in the order in which they are to be tried. A number needs no lookup, and what
    /// /etc/hosts has is not asked for.
    pub fn addresses(host: &str, left: Left) -> Result<Vec<IpAddr>, Unknown> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        let written = in_hosts(&std::fs::read_to_string("/etc/hosts").unwrap_or_default(), host);
        if !written.is_empty() {
            return Ok(written);
        }
        let because = |why: &str| Err(Unknown::Because(format!("{why}: {host}")));
        if host.starts_with('-') {
            return because("not a name of a host");
        }
        match getent("ahosts", host, left) {
            Ok(answer) => match in_answer(&String::from_utf8_lossy(&answer)) {
                none if none.is_empty() => because("no such host"),
                found => Ok(found),
            },
            Err(NoAnswer::TimedOut) => Err(Unknown::TimedOut),
            Err(NoAnswer::NotStarted(error)) => {
                let what = format!(
                    "/etc/hosts lacks the name, and getent cannot be asked ({error}); write an IP address"
                );
                because(&what)
            }
        }
    }

    /// What `getent` prints. The process has ended when this returns.
    fn getent(database: &str, key: &str, left: Left) -> Result<Vec<u8>, NoAnswer> {
        let mut command = Command::new("getent");
        command.args([database, key]).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(NoAnswer::NotStarted)?;
        let mut answer = Vec::new();
        let read = child.stdout.take().is_none_or(|mut pipe| {
            let mut bytes = [0; 4096];
            while answer.len() < LONGEST && is_readable(&pipe, left()) {
                match pipe.read(&mut bytes) {
                    Ok(0) => return true,
                    Ok(count) => answer.extend_from_slice(&bytes[..count]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return true,
                }
            }
            false
        });
        // Its status says no more than its answer does.
        let _ = child.kill();
        let _ = child.wait();
        if read { Ok(answer) } else { Err(NoAnswer::TimedOut) }
    }

    fn is_readable(pipe: &impl std::os::fd::AsFd, left: Duration) -> bool {
        let Ok(left) = Timespec::try_from(left) else {
            return false;
        };
        let mut fds = [PollFd::new(pipe, PollFlags::IN)];
        match poll(&mut fds, Some(&left)) {
            Ok(count) => count > 0,
            // The next look at the time that is left ends this.
            Err(error) => error == Errno::INTR,
        }
    }

    fn home_in(users: &[u8], uid: &str) -> Option<PathBuf> {
        let home = |line: &[u8]| {
            let fields: Vec<_> = line.split(|&byte| byte == b':').collect();
            let is_this = fields.get(2).is_some_and(|field| *field == uid.as_bytes());
            fields.get(5).filter(|_| is_this).map(|home| PathBuf::from(OsStr::from_bytes(home)))
        };
        users.split(|&byte| byte == b'\n').find_map(home).filter(|home| home.is_absolute())
    }

    fn in_hosts(text: &str, host: &str) -> Vec<IpAddr> {
        let host = host.trim_end_matches('.');
        let address = |line: &str| {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let address = words.next()?.parse().ok()?;
            words.any(|name| name.eq_ignore_ascii_case(host)).then_some(address)
        };
        text.lines().filter_map(address).collect()
    }

    /// Each address stands there once for each kind of socket.
    fn in_answer(text: &str) -> Vec<IpAddr> {
        let mut found = Vec::new();
        for address in text.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()) {
            if !found.contains(&address) {
                found.push(address);
            }
        }
        found
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn homes() {
            let users =
                b"root:x:0:0:root:/root:/bin/sh\n+::::::\nbroken\nann:x:1000:1000:,,,:/home/ann:/bin/sh\n\
                          bob:x:1001:1001::relative:/bin/sh\nann2:x:1000:1::/home/other:\n";
            for (uid, home) in
                [("0", Some("/root")), ("1000", Some("/home/ann")), ("1001", None), ("100", None), ("", None)]
            {
                assert_eq!(home_in(users, uid), home.map(PathBuf::from), "{uid}");
            }
        }

        #[test]
        fn hosts() {
            let text = "127.0.0.1 localhost\n::1 localhost ip6-localhost # mine\n# 9.9.9.9 db\n10.0.0.1\tdb.example.com DB\nfe80::1%lo db\n";
            for (host, addresses) in [
                ("localhost", &["127.0.0.1", "::1"][..]),
                ("db", &["10.0.0.1"]),
                ("db.example.com.", &["10.0.0.1"]),
                ("mine", &[]),
                ("10.0.0.1", &[]),
            ] {
                let found: Vec<_> = in_hosts(text, host).iter().map(ToString::to_string).collect();
                assert_eq!(found, addresses, "{host}");
            }
        }

        #[test]
        fn answers() {
            let text = "::1             STREAM localhost\n::1             DGRAM  \n127.0.0.1       STREAM \nfe80::1%lo STREAM\n";
            let found: Vec<_> = in_answer(text).iter().map(ToString::to_string).collect();
            assert_eq!(found, ["::1", "127.0.0.1"]);
        }

        #[test]
        fn a_lookup_without_time_ends() {
            assert!(matches!(addresses("host.invalid", &|| Duration::ZERO), Err(Unknown::TimedOut)));
        }
    }
}

/// Systems whose C library is not linked statically: it does this itself.
#[cfg(not(target_os = "linux"))]
mod other {
    use std::net::ToSocketAddrs;

    use directories::BaseDirs;

    use super::{IpAddr, Left, PathBuf, Unknown};

    pub fn home(_: Left) -> Option<PathBuf> {
        BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
    }

    pub fn addresses(host: &str, _: Left) -> Result<Vec<IpAddr>, Unknown> {
        let found = (host, 0).to_socket_addrs().map_err(|error| Unknown::Because(error.to_string()))?;
        Ok(found.map(|address| address.ip()).collect())
    }
}
