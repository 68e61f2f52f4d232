//! The only reader of clocks, environment variables and directories, and the only source of random numbers.

use std::ffi::OsString;
#[cfg(target_os = "linux")]
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use directories::BaseDirs;

use crate::breaker::time::Reading;
use crate::lookup;
use crate::store::Platform;
use crate::supervise::spawn_with_signals_blocked;

/// How long the lookup of a home may take, in milliseconds.
const LOOKUP: u64 = 1_000;

/// What a command needs of the world around it.
#[derive(Debug)]
pub struct Env {
    pub platform: Platform,
    state_dir: Option<PathBuf>,
    config: Option<PathBuf>,
    store: Option<OsString>,
}

/// The value of a variable is not UTF-8.
#[derive(Debug)]
pub struct NotText;

impl Env {
    pub fn read() -> Env {
        Env {
            platform: Platform { clocks: read_clocks, random, thread: spawn_with_signals_blocked },
            state_dir: variable("BRK_STATE_DIR").map(PathBuf::from),
            config: variable("BRK_CONFIG").map(PathBuf::from),
            store: variable("BRK_STORE"),
        }
    }

    /// The state directory, or `None` if nothing names one and there is no home directory for it.
    pub fn state_dir(&self, flag: Option<&Path>) -> Option<PathBuf> {
        flag.map(Path::to_owned)
            .or_else(|| self.state_dir.clone())
            .or_else(|| first_of_list("STATE_DIRECTORY"))
            .or_else(|| Some(base("XDG_STATE_HOME", BaseDirs::state_dir, ".local/state")?.join("brk")))
    }

    /// The URL of a shared store. A wrong one is not repeated in a message, because it may hold a password.
    pub fn store(&self) -> Result<Option<String>, NotText> {
        self.store.clone().map(OsString::into_string).transpose().map_err(|_| NotText)
    }

    /// The directory for files without a name.
    pub fn temporary_dir(&self) -> PathBuf {
        variable("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
    }

    /// The name of this host.
    pub fn host(&self) -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    /// A random number from 0 to 1.
    pub fn random(&self) -> f64 {
        (self.platform.random)() as f64 / u64::MAX as f64
    }

    /// Whether the locale uses UTF-8.
    pub fn has_unicode(&self) -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
        let locale = locale.to_string_lossy().to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    }

    /// The configuration file that the user named.
    pub fn config(&self, flag: Option<&Path>) -> Option<PathBuf> {
        flag.map(Path::to_owned).or_else(|| self.config.clone())
    }

    /// The configuration files to look for if none was named. Later ones take precedence.
    pub fn config_files(&self) -> Vec<PathBuf> {
        let user = base("XDG_CONFIG_HOME", config_dir, ".config");
        let user = user.map(|dir| dir.join("brk/config.toml"));
        std::iter::once(PathBuf::from("/etc/brk/config.toml")).chain(user).collect()
    }
}

/// An environment variable; empty counts as unset.
fn variable(name: &str) -> Option<OsString> {
    #[expect(clippy::disallowed_methods, reason = "this is the module that reads the environment")]
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The place that the manual names, also on systems that have a place of their own for it.
fn config_dir(dirs: &BaseDirs) -> Option<&Path> {
    cfg!(target_os = "linux").then(|| dirs.config_dir())
}

fn absolute(name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// systemd separates several state directories by colons.
fn first_of_list(name: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let value = variable(name)?;
    let first = value.as_bytes().split(|&byte| byte == b':').next()?;
    (!first.is_empty()).then(|| PathBuf::from(OsString::from_vec(first.to_vec())))
}

/// The user's directory for a kind of file: what the variable says, or a place in the home directory.
fn base(variable_name: &str, chosen: fn(&BaseDirs) -> Option<&Path>, in_home: &str) -> Option<PathBuf> {
    if variable("HOME").is_none() {
        // The crate would ask the C library for the home directory, even if it is not needed.
        return absolute(variable_name).or_else(|| home().map(|home| home.join(in_home)));
    }
    let dirs = BaseDirs::new()?;
    chosen(&dirs).map(Path::to_owned).or_else(|| Some(dirs.home_dir().join(in_home)))
}

/// The home directory in the password database, for the case that `HOME` is unset.
fn home() -> Option<PathBuf> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let until = up() + LOOKUP;
        lookup::home(&|| Duration::from_millis(until.saturating_sub(up())))
    };
    HOME.get_or_init(find).clone()
}

fn random() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        // A kernel without the call: the time and the process number also differ from those of other processes.
        let reading = read_clocks();
        reading.wall.rotate_left(32) ^ reading.up ^ (u64::from(std::process::id()) << 48)
    })
}

fn read_clocks() -> Reading {
    #[expect(clippy::disallowed_methods, reason = "this is the module that reads clocks")]
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Reading { wall: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX), boot: boot(), up: up() }
}

/// Milliseconds since boot, including suspend.
fn up() -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    // macOS has no boot clock by that name; its monotonic clock continues in suspend.
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let now = clock_gettime(clock);
    (now.tv_sec as u64).saturating_mul(1_000).saturating_add(now.tv_nsec as u64 / 1_000_000)
}

/// A number that differs after each boot. It is read once, because a process does not outlive its boot.
#[cfg(target_os = "linux")]
fn boot() -> u64 {
    static BOOT: OnceLock<u64> = OnceLock::new();
    *BOOT.get_or_init(|| {
        // A number of 16 bytes in hexadecimal, with hyphens.
        let mut id = [0; 36];
        let mut file = std::fs::File::open("/proc/sys/kernel/random/boot_id");
        // Without it, only the wall clock tells boots apart.
        let _ = file.as_mut().map(|file| file.read_exact(&mut id));
        let digits = id.iter().filter_map(|&byte| char::from(byte).to_digit(16));
        digits.take(15).fold(0, |number, digit| number << 4 | u64::from(digit))
    })
}

/// The minute of the boot by the wall clock. Setting the clock looks like another boot, and then the wall clock counts.
#[cfg(not(target_os = "linux"))]
fn boot() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "this is the module that reads clocks")]
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (wall.as_secs().saturating_sub(up() / 1_000)) / 60
}
